"""Numbers survive to the last digit, under every protocol, and keys live in one slot."""

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis
from redis.crc import key_slot

from server.board.batch import Asked
from server.board.keys import BoardKeys
from server.board.position import Applied
from server.board.self_check import SelfCheckFailed, self_check
from server.board.store import BoardStore
from server.core.codec import score_from_wire
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.boards import Maker, make_season, open_board, order, settle

PROTOCOLS = ["RESP2", "RESP3", "default", "RESP2 decoded", "RESP3 decoded"]


@pytest.fixture(params=PROTOCOLS)
async def any_redis(redis_url: str, request: pytest.FixtureRequest) -> AsyncIterator[Redis]:
    """Clients of every protocol, with and without decoding."""
    protocol = {"RESP2": 2, "RESP3": 3}.get(request.param.split()[0])
    decode = "decoded" in request.param
    async with Redis.from_url(redis_url, protocol=protocol, decode_responses=decode) as redis:
        yield redis


@pytest.fixture
def any_boards(any_redis: Redis, settings: Settings, metrics: Metrics) -> BoardStore:
    return BoardStore(any_redis, settings, metrics)


async def test_the_greatest_scores_stay_apart_under_every_protocol_a1_a2_a3(
    any_boards: BoardStore, any_redis: Redis, redis: Redis
) -> None:
    season = make_season("best", points_bits=31, time_bits=22, tick="1 minute")
    await open_board(any_boards, season)
    await settle(redis, season)
    maker, top = Maker(season), season.codec.max_points
    maker.began_us = season.starts_us + 1440 * 60_000_000
    reply = await any_boards.submit(
        maker.batch(
            maker.result(1, top, at=0), maker.result(2, top, at=-60), maker.result(3, top - 1, at=-60)
        )
    )
    assert reply.outcomes == [(1, None, 1), (1, None, 1), (1, None, 3)]
    most = 2**53 - 1
    assert await order(redis, season) == [(2, most - 1439), (1, most - 1440), (3, most - 1439 - 2**22)]
    pairs = await any_redis.zrange(BoardKeys(12).zset, 0, -1, desc=True, withscores=True)
    scores = [score_from_wire(pair[1]) for pair in pairs if not isinstance(pair, bytes | str)]
    assert scores == [most - 1439, most - 1440, most - 1439 - 2**22]


@pytest.mark.parametrize("points", [2**53 - 1, 2**53 - 2, 2**52 + 1, 0])
async def test_every_integer_up_to_2_to_the_53_is_kept_a2(
    any_boards: BoardStore, any_redis: Redis, redis: Redis, points: int
) -> None:
    season = make_season("sum", points_bits=31, time_bits=22, tick="1 hour")
    await open_board(any_boards, season)
    await settle(redis, season)
    await redis.zadd(BoardKeys(12).zset, {"1": points})
    maker = Maker(season)
    maker.began_us = season.starts_us
    one = season.codec.encode(1, maker.began_us)
    results = [maker.result(2, 0), maker.result(1, 1)]
    await any_boards.submit(maker.batch(*results, asked=Asked(0, False, [False, False])))
    ticks = season.codec.max_ticks
    expected = min((points >> 22) + 1, season.codec.max_points) << 22 | min(points & ticks, one & ticks)
    assert dict(await order(redis, season))[1] == expected


async def test_a_version_just_below_2_to_the_53_goes_up_by_one_a2(
    any_boards: BoardStore, redis: Redis
) -> None:
    season = make_season()
    await open_board(any_boards, season)
    await settle(redis, season)
    await redis.hset(BoardKeys(12).meta, "version", str(2**53 - 2))
    maker = Maker(season)
    reply = await any_boards.submit(maker.batch(maker.result(1, 5)))
    assert reply.version == 2**53 - 1
    assert await any_boards.position(12) == (reply.epoch, 2**53 - 1)


async def test_offsets_and_positions_are_exact_above_10_to_the_14(
    any_boards: BoardStore, redis: Redis
) -> None:
    season, offset = make_season(), 2**53 - 10
    await open_board(any_boards, season, log=7, offsets={3: offset})
    await settle(redis, season)
    maker = Maker(season, log=7, partition=3, next_offset=offset)
    result = maker.result(1, 5)
    reply = await any_boards.submit(maker.batch(result))
    assert reply.applied == offset + 1
    assert await any_boards.applied(12) == Applied(7, {3: offset + 1})
    assert await redis.get(BoardKeys(12).dedup(result.match_id, 1)) == f"7:3:{offset}".encode()


async def test_a_real_server_passes_its_self_check_and_keeps_nothing_of_it_a5(
    any_boards: BoardStore, any_redis: Redis
) -> None:
    await self_check(any_redis)
    assert await any_redis.keys("*") == []


async def test_a_server_that_denies_what_boards_need_is_refused_with_the_reason(redis: Redis) -> None:
    await redis.acl_setuser(
        "limited",
        enabled=True,
        passwords=["+secret"],
        categories=["+@all"],
        commands=["-info"],
        keys=["*"],
        channels=["*"],
    )
    server = redis.connection_pool.connection_kwargs
    try:
        async with Redis(
            host=server["host"], port=server["port"], username="limited", password="secret"
        ) as limited:
            with pytest.raises(SelfCheckFailed, match="INFO and PUBLISH"):
                await self_check(limited)
    finally:
        await redis.acl_deluser("limited")


@pytest.mark.parametrize("season_id", [0, 1, 12, 2**31 - 1])
def test_all_keys_of_a_season_are_in_one_slot_a10(season_id: int) -> None:
    live, making = BoardKeys(season_id), BoardKeys(season_id, "0123456789abcdef")
    names = [
        *live.board,
        *making.board,
        live.rebuilds,
        live.lock,
        live.lost,
        live.dedup("5f0c0000-0000-4000-8000-000000000000", -1),
        making.dedup("5f0c0000-0000-4000-8000-000000000000", 2**63 - 1),
    ]
    assert {key_slot(name.encode()) for name in names} == {key_slot(f"s{season_id}".encode())}
    assert len(set(names)) == len(names)
