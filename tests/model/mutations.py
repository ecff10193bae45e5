"""Rules of the server, each broken on purpose: what proves that the machine bites.

Owns: the list. A mutation replaces text of a Lua file, or of a query; the test that uses it looks for a
schedule that goes wrong. Random ones seldom come upon some of them, for which `SHOWN` has one made by hand.
Neighbours: `search.py` looks, `tests/faults/test_model_bites.py` goes through the list.
"""

import contextlib
import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from unittest import mock

from tests.model.world import Step


@dataclass(frozen=True)
class Mutation:
    """`lua`: file → (text, what takes its place); `constants`: the same in a module's constant."""

    lua: dict[str, tuple[str, str]] = field(default_factory=dict)
    constants: dict[str, tuple[str, str]] = field(default_factory=dict)

    def script(self, name: str, text: str) -> str:
        """The text of a Lua file under this mutation."""
        if name not in self.lua:
            return text
        return _replaced(text, *self.lua[name])

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """The constants under this mutation."""
        with contextlib.ExitStack() as stack:
            for name, (old, new) in self.constants.items():
                module, constant = name.rsplit(".", 1)
                text = getattr(importlib.import_module(module), constant)
                stack.enter_context(mock.patch(name, _replaced(text, old, new)))
            yield


def _replaced(text: str, old: str, new: str) -> str:
    """A mutation whose text is gone from the server proves nothing any more."""
    if text.count(old) != 1:
        raise ValueError(f"{old!r} stands there {text.count(old)} times")
    return text.replace(old, new)


def _submit(old: str, new: str = "") -> Mutation:
    return Mutation(lua={"submit": (old, new)})


MUTATIONS = {
    "a range need not follow what the board has": _submit(
        "if first < from then return unwritten('seek') end"
    ),
    "results below applied count again": _submit("if offsets[i] < first then", "if false then"),
    "applied stays where it was": _submit("  call('HSET', applied_key, partition, position)\n"),
    "a marker names no position": _submit("elseif marker and marker ~= here or", "elseif marker or"),
    "a marker of another log counts": _submit(
        "if markers[i] and string.sub(markers[i], 1, #mine) ~= mine then markers[i] = false end"
    ),
    "no markers are set": _submit(
        "    call('SET', key, here, 'EX', life + math.max(0, times[i] - now))", "   "
    ),
    "two of one match in a batch both count": _submit("marked[key] or markers[i]", "markers[i]"),
    "postgresql is never asked": _submit(
        "if not asked then return unwritten('ask') end", "if true then break end"
    ),
    "a rebuilt board asks nobody": Mutation(
        lua={"finish_load": ("'asking', math.max(now, ARGV[4])", "'asking', 0")}
    ),
    "a rebuilt board forgets results dated ahead": Mutation(
        lua={"finish_load": ("'asking', math.max(now, ARGV[4])", "'asking', now")}
    ),
    "an old result needs no word": _submit("(asking or times[i] <= now - life)", "asking"),
    "postgresql's word is taken though it is behind": _submit("if ARGV[13] == '1' or", "if"),
    "a row elsewhere is no retry": _submit("not marker and string.byte(answers, i) == 49", "false"),
    "a board of another log takes results": _submit("if applied[1] ~= log then", "if not applied[1] then"),
    "a lost zset goes unseen": _submit("meta[10] and call('EXISTS', zset) == 0", "false"),
    "another server goes on with the epoch": _submit("epoch == '' or meta[3] ~= run_id", "epoch == ''"),
    "a sum runs over the maximum": _submit("if points > floor(largest / span) then", "if false then"),
    "a sum of no points has a time": _submit("if points == 0 then low = span - 1 end"),
    "a swap keeps the epoch of the board before": Mutation(
        lua={
            "swap": (
                "redis.call('HSET', KEYS[2], 'epoch', ARGV[2], 'version', '1',",
                "redis.call('HSET', KEYS[2], 'epoch', 'e', 'version', '1',",
            )
        }
    ),
    "a board is opened though chunks got lost": Mutation(
        lua={
            "finish_load": (
                "loaded[1] ~= ARGV[1] or redis.call('ZCARD', KEYS[3]) ~= tonumber(loaded[2] or '0')",
                "false",
            )
        }
    ),
    "persist moves its offset from anywhere": Mutation(
        constants={"server.archive.logs._MOVE": (" AND next_offset = $3", " AND $3 >= 0")}
    ),
    "a total keeps the earlier time of a sum": Mutation(
        constants={
            "server.archive.results._SUM": (
                "greatest(t.achieved_at, excluded",
                "least(t.achieved_at, excluded",
            )
        }
    ),
    "postgresql finds no row elsewhere": Mutation(
        constants={"server.archive.results._ASK": ("<> ($1, $2, b.log_offset)", "<> ($1, $2, r.log_offset)")}
    ),
}


def _rounds(name: int, count: int) -> list[Step]:
    """A process goes on so many times (`World.NAMES`: 0 an ingest, 2 a persist, 3 a keeper)."""
    return [("run", name, 0, 7, 0)] * count


SHOWN: dict[str, list[Step]] = {
    "a marker of another log counts": [  # applied, never stored; comes again in another log
        ("append", 1, 0, 1, 0),
        *_rounds(0, 3),
        ("new_log", 0, 0, 0, 0),
        *_rounds(2, 3),
        *_rounds(3, 3),
        ("retry", 0, 0, 0, 0),
        *_rounds(0, 4),
    ],
    "a rebuilt board forgets results dated ahead": [  # again more than a marker's life later
        ("append", 1, 0, 1, 7),
        *_rounds(2, 3),
        ("empty", 0, 0, 0, 0),
        *_rounds(3, 3),
        ("hours", 1, 1, 0, 0),
    ],
    "an old result needs no word": [("append", 1, 0, 1, 0), ("hours", 3, 1, 0, 0)],
    "postgresql's word is taken though it is behind": [  # persist reads nothing for a marker's life
        ("append", 1, 0, 1, 0),
        *_rounds(0, 1),
        *[("time", 0, 0, 0, 0), *_rounds(0, 1)] * 6,
        ("retry", 0, 0, 0, 0),
        *_rounds(0, 1),
    ],
    "a board is opened though chunks got lost": [  # the ZSET goes while the second player is loaded
        ("append", 1, 0, 0, 0),
        ("append", 3, 0, 0, 0),
        *_rounds(2, 2),
        ("rebuild", 1, 0, 0, 0),
        *[("step", 7, 0, 0, 0)] * 11,
        ("lose_key", 1, 0, 0, 1),
    ],
}
