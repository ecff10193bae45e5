"""What a person or a script may type after `rankcast`, right, nearly right and wrong, with files to match."""

import json
from dataclasses import dataclass
from pathlib import Path
from random import Random

from hypothesis import strategies as st

from tests.wild.drawn import VALUES, WILD_NUMBERS, WILD_TEXTS, drawn, mostly, nested, varied

COMMANDS = (
    ("serve",),
    ("season", "create"),
    ("season", "list"),
    ("season", "show"),
    ("season", "reset"),
    ("replay",),
    ("names",),
    ("rebuild",),
    ("reconcile",),
    ("audit",),
    ("doctor",),
    ("settings",),
    ("season",),
    (),
)
_OPTIONS = (
    "--help",
    "-h",
    "--version",
    "--yes",
    "--roles",
    "--host",
    "--port",
    "--speed",
    "--repair",
    "--",
    "-",
    "-x",
)
_DEFINITION = {
    "season_id": 12,
    "name": "Autumn",
    "starts_at": "2026-01-01T00:00:00Z",
    "ends_at": "2027-01-01T00:00:00Z",
    "operator": "best",
    "points_bits": 21,
    "time_bits": 32,
    "tick": "1 second",
    "time_zone": "UTC",
    "grace": "1 hour",
}


@dataclass(frozen=True)
class WildCall:
    """Arguments; `content` stands in the file that FILE among them names."""

    arguments: tuple[str, ...]
    content: bytes

    def placed(self, file: Path) -> list[str]:
        """The arguments with the file's path in them, and the file written."""
        if any("FILE" in word for word in self.arguments):
            file.write_bytes(self.content)
        return [word.replace("FILE", str(file)) for word in self.arguments]


@st.composite
def _definitions(draw: st.DrawFn) -> bytes:
    fields = dict(_DEFINITION)
    if draw(st.booleans()):
        fields[draw(mostly(st.sampled_from(sorted(fields)), WILD_TEXTS))] = draw(VALUES)
    return json.dumps(fields).encode()


_contents = st.one_of(
    _definitions(),
    st.dictionaries(WILD_NUMBERS.map(str), WILD_TEXTS, max_size=3).map(
        lambda names: json.dumps(names).encode()
    ),
    st.binary(max_size=60),
    st.sampled_from((b"", nested(5000).encode(), b"\x1f\x8b\x08garbage", b"[1e999]")),
)
_words = mostly(
    st.one_of(
        st.integers(0, 40).map(str),
        st.just("FILE"),
        st.sampled_from(("FILE.gz", "/nowhere", "/", "web,ingest", "0.5")),
    ),
    st.one_of(
        WILD_NUMBERS.map(str), WILD_TEXTS, st.sampled_from(("nan", "inf", "\udcff", "[bold]", "x" * 5000))
    ),
    3,
)


@st.composite
def _calls(draw: st.DrawFn) -> WildCall:
    words = list(draw(mostly(st.sampled_from(COMMANDS), st.tuples(WILD_TEXTS), 10)))
    words += draw(st.lists(mostly(_words, st.sampled_from(_OPTIONS), 3), max_size=3))
    if words and draw(st.integers(0, 9)) == 0:
        words.insert(0, draw(st.sampled_from(_OPTIONS)))
    return WildCall(tuple(word.replace("\x00", "0") for word in words), draw(_contents))


def wild_calls(count: int) -> list[WildCall]:
    """So many of them."""
    return drawn(_calls(), count, _varied)


def _varied(chance: Random, call: WildCall) -> WildCall:
    """A word left out, doubled, put elsewhere or varied; the content varied."""
    words = list(call.arguments)
    at = chance.randrange(len(words)) if words else 0
    match chance.randrange(4):
        case 0 if len(words) > 1:
            words.insert(chance.randrange(len(words)), words.pop(at))
        case 1 if len(words) > 1:
            words.insert(at, chance.choice((chance.choice(words), chance.choice(_OPTIONS))))
        case 2 if len(words) > 1:
            at = max(at, 1)  # another command would mostly be no command
            changed = varied(chance, words[at].encode("utf-8", "surrogateescape"))
            words[at] = changed.replace(b"\x00", b"").decode("utf-8", "surrogateescape")
    return WildCall(tuple(words), varied(chance, call.content))
