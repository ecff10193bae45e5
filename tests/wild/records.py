"""Records as game servers send them, and as they do not."""

import json
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.wild.drawn import VALUES, WILD_TEXTS, drawn, mostly, nested, varied

BEST, SUM, NOT_THERE = 31, 32, 33
SEASONS = (BEST, SUM, NOT_THERE)
STARTS = 1_704_067_200  # 2024-01-01


@dataclass(frozen=True)
class WildRecord:
    """Key and value of a record."""

    key: bytes | None
    value: bytes | None


_players = mostly(st.integers(1, 60), st.sampled_from((0, -1, 2**63 - 1, -(2**63), 2**53 + 1)))
_matches = st.integers(0, 400).map(lambda at: f"00000000-0000-4000-8000-{at:012d}")


@st.composite
def _usual(draw: st.DrawFn) -> dict[str, Any]:
    """A result that counts, as long as its season is there."""
    names = ("match_id", "player_id", "season_id", "points")
    season = draw(mostly(st.sampled_from(SEASONS[:2]), st.just(NOT_THERE)))
    points = draw(mostly(st.integers(0, 3000), st.sampled_from((0, 2_097_151, 2_097_152))))
    fields: dict[str, Any] = dict(zip(names, (draw(_matches), draw(_players), season, points), strict=True))
    second = draw(mostly(st.integers(0, 20_000_000), st.sampled_from((-1, 10**12))))
    if draw(st.integers(0, 3)):
        day, rest = divmod(max(0, second) % 2_400_000, 86_400)
        clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
        fields["achieved_at"] = f"2024-01-{day + 1:02d}T{clock}Z"
        return fields
    java = dict(zip(("matchId", "playerId", "seasonId", "points"), fields.values(), strict=True))
    return {**java, "secondsSinceSeasonStart": second}


@st.composite
def _nearly(draw: st.DrawFn) -> bytes:
    """One field of another kind, missing, twice or too many."""
    fields = draw(_usual())
    name = draw(st.sampled_from(sorted(fields)))
    match draw(st.integers(0, 4)):
        case 0:
            fields[name] = draw(VALUES)
        case 1:
            del fields[name]
        case 2:
            return json.dumps(fields).encode()[:-1] + b',"%s":1}' % name.encode()
        case 3:
            fields[draw(WILD_TEXTS)] = draw(VALUES)
        case _:
            fields |= {"match_id": draw(_matches), "playerId": 7}
    return _json(fields)


def _json(value: object) -> bytes:
    """JSON with all that Python writes and JSON does not know: NaN, lone surrogates."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def bodies(season: int) -> st.SearchStrategy[bytes]:
    """What may be posted as one result of this season."""
    return st.one_of(_usual().map(lambda fields: _json({**fields, _season_of(fields): season})), _nearly())


def _season_of(fields: dict[str, Any]) -> str:
    return "seasonId" if "seasonId" in fields else "season_id"


_ODD = (
    b"",
    b"null",
    b"{}",
    b"[]",
    b'"',
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b'{"points":1e400}',
    b"-",
    b'{"a":"\\ud800"}',
)
_wild = st.one_of(
    st.binary(max_size=60),
    VALUES.map(_json),
    st.sampled_from(_ODD),
    st.integers(1, 3000).map(lambda depth: nested(depth).encode()),
    st.integers(16_000, 40_000).map(lambda size: b'{"match_id":"' + b"x" * size + b'"}'),
)


@st.composite
def _wild_records(draw: st.DrawFn) -> WildRecord:
    """Half of them count, the others are wrong in every way that comes to mind."""
    kind = draw(st.integers(0, 6))
    if kind < 4:
        fields = draw(_usual())
        player: int = fields["player_id"] if "player_id" in fields else fields["playerId"]
        key = draw(
            mostly(st.just(b"%d" % player), st.sampled_from((None, b"", b"7", b"\xff", b"x" * 300)), 12)
        )
        return WildRecord(key, _json(fields))
    key = draw(st.sampled_from((None, b"1", b"7", b"not a player")))
    if kind == 4:
        return WildRecord(key, draw(st.none() | _wild))
    return WildRecord(key, draw(_nearly()))


def wild_records(count: int) -> list[WildRecord]:
    """So many of them."""
    return drawn(_wild_records(), count, _varied)


def _varied(chance: Random, record: WildRecord) -> WildRecord:
    if chance.randrange(8) == 0:
        return replace(record, key=varied(chance, record.key or b""))
    return replace(record, value=varied(chance, record.value or b""))
