"""What counts depends on the record, its timestamp and its season, and one answer covers a whole fetch."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from server.core.results import Result, result_value
from server.core.season import Season
from server.feed.decode import Decoded, decode
from server.feed.partitioner import partition_of
from server.feed.reader import Fetch
from tests.flow.boards import make_season, now_us

MATCH = "5f0c7a52-3c0e-4a83-9a3b-0d1f6b8e0{:03x}"


@dataclass
class Record:
    """The fields of aiokafka's record that are read."""

    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int


def record(offset: int, season: Season, player: int = 7, **changes: object) -> Record:
    value = result_value(Result(MATCH.format(offset), player, season.season_id, 100, now_us() - 1_000_000))
    fields = {"key": b"%d" % player, "value": value, "timestamp": now_us() // 1000} | changes
    return Record(offset, **fields)  # type: ignore[arg-type]  # whatever a test wants to be wrong


async def unknown(season_ids: Collection[int]) -> Mapping[int, Season]:
    return {}


async def decoded(records: list[Record], *seasons: Season) -> Decoded:
    known = {season.season_id: season for season in seasons}
    return await decode(Fetch(0, 0, len(records), records), known.get, unknown, check_key=True, partitions=8)


async def test_results_come_by_season_with_their_offsets() -> None:
    one, two = make_season(season_id=1), make_season(season_id=2)
    of = await decoded([record(0, one), record(1, two), record(2, one)], one, two)
    assert {season: share.offsets for season, share in of.shares.items()} == {1: [0, 2], 2: [1]}
    assert of.taken == 3
    assert of.refused == []


async def test_bad_records_stand_aside_with_their_reasons_and_the_others_count_b3_b4() -> None:
    season = make_season()
    bad = [
        record(1, season, value=None),
        record(2, season, value=b""),
        record(3, season, value=b'{"bad'),
        record(4, season, value=b"\xff\xfe"),
        record(5, season, key=None),
        record(6, season, key=b"8"),
        record(7, season, timestamp=-1),
        record(8, season, value=b"x" * 2_000_000),
    ]
    of = await decoded([record(0, season), *bad, record(9, season)], season)
    assert of.shares[season.season_id].offsets == [0, 9]
    assert [(each.offset, refusal.code) for each, refusal in of.refused] == [
        (1, "no_value"),
        (2, "empty_value"),
        (3, "not_json"),
        (4, "not_utf8"),
        (5, "wrong_key"),
        (6, "wrong_key"),
        (7, "no_timestamp"),
        (8, "value_too_long"),
    ]


async def test_a_season_that_becomes_known_on_the_way_counts_for_the_whole_fetch() -> None:
    known, late = make_season(season_id=1), make_season(season_id=2)
    asked: list[set[int]] = []
    looks = iter(range(10))

    def peek(season_id: int) -> Season | None:
        if season_id == 1:
            return known
        return late if next(looks) == 1 else None  # known for the second of its three records alone

    async def resolve(season_ids: Collection[int]) -> Mapping[int, Season]:
        asked.append(set(season_ids))
        return {2: late}

    records = [record(0, late), record(1, known), record(2, late), record(3, late)]
    of = await decode(Fetch(0, 0, 4, records), peek, resolve, check_key=True)
    assert asked == [{2}]
    assert of.shares[2].offsets == [0, 2, 3]
    assert [result.match_id for result in of.shares[2].results] == [MATCH.format(at) for at in (0, 2, 3)]
    assert of.shares[1].offsets == [1]


async def test_a_season_that_there_is_not_is_asked_for_once_and_its_records_are_refused() -> None:
    season = make_season()
    of = await decoded([record(0, season), record(1, season)])
    assert of.reasons() == {"unknown_season": 2}


async def test_a_fetch_without_records_is_a_range_all_the_same() -> None:
    of = await decode(Fetch(3, 10, 12), dict[int, Season]().get, unknown, check_key=True)
    assert (of.partition, of.start, of.end, of.taken, of.last_ms) == (3, 10, 12, 0, None)


async def test_records_in_a_partition_that_is_not_their_keys_are_noticed() -> None:
    season = make_season()
    players = [player for player in range(100) if partition_of(b"%d" % player, 8) != 0][:3]
    at_home = next(player for player in range(100) if partition_of(b"%d" % player, 8) == 0)
    of = await decoded([record(at, season, player) for at, player in enumerate([*players, at_home])], season)
    assert of.misplaced == 3
