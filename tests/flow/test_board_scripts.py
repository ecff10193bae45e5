"""Scripts are known by hash: the server may forget them, callers may be cancelled, nothing is lost."""

import asyncio
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import ConnectionError as RedisConnectionError

from server.board.batch import SubmitBatch
from server.board.connection import connect
from server.board.keys import BoardKeys
from server.board.position import Applied, new_epoch
from server.board.scripts import Script
from server.board.store import BoardStore
from server.embedded.valkey import Valkey
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.boards import Maker, codes, make_season, open_board, order, settle
from tests.flow.proxy import late_wire

SEASON = make_season("sum")
FORGOTTEN = {"part": "scripts", "reason": "NoScriptError"}


class Interrupted(Pipeline):
    """A pipeline between whose calls another client forgets, or brings back, the server's scripts."""

    forget_before: int
    bring_back_after: int | None = None

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        calls = list(self.command_stack)
        script = Script.load("submit")
        if calls[0][0][0] != "EVALSHA":
            return await super().execute(raise_on_error)
        before, after = self.forget_before, self.bring_back_after
        self.command_stack = calls[:before]
        self.script_flush()
        self.command_stack += calls[before : None if after is None else after + 1]
        extra = [before]
        if after is not None:
            extra.append(len(self.command_stack))
            self.script_load(script.text)
            self.command_stack += calls[after + 1 :]
        replies = await super().execute(raise_on_error)
        return [reply for index, reply in enumerate(replies) if index not in extra]


class InterruptedRedis(Redis):
    """Hands out such pipelines."""

    pipeline_class: type[Interrupted] = Interrupted

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipeline:
        if transaction:
            return super().pipeline(transaction, shard_hint)
        return self.pipeline_class(self.connection_pool, self.response_callbacks, transaction, shard_hint)


async def maker_of(boards: BoardStore, redis: Redis) -> Maker:
    await open_board(boards, SEASON)
    await settle(redis, SEASON)
    return Maker(SEASON)


async def test_a_script_that_was_forgotten_between_two_calls_is_brought_back_and_counted_a6(
    boards: BoardStore, redis: Redis, metrics: Metrics
) -> None:
    maker = await maker_of(boards, redis)
    await boards.submit(maker.batch(maker.result(1, 5)))
    before = metrics.registry.get_sample_value("rankcast_retries_total", FORGOTTEN) or 0
    await redis.script_flush()
    reply = await boards.submit(maker.batch(maker.result(1, 5), maker.result(2, 5)))
    assert codes(reply) == [1, 1]
    assert await redis.script_exists(Script.load("submit").sha) == [True]
    assert metrics.registry.get_sample_value("rankcast_retries_total", FORGOTTEN) == before + 1


async def test_a_script_that_the_server_never_had_was_not_forgotten(redis: Redis) -> None:
    metrics = Metrics()
    await redis.script_flush()
    boards = BoardStore(redis, Settings(), metrics)
    await boards.submit((await maker_of(boards, redis)).batch())
    assert await redis.script_exists(Script.load("submit").sha) == [True]
    assert metrics.registry.get_sample_value("rankcast_retries_total", FORGOTTEN) is None


@pytest.mark.parametrize("brought_back", [False, True])
@pytest.mark.parametrize("forgotten", range(5))
async def test_a_script_that_is_forgotten_in_the_middle_of_a_pipeline_costs_no_result_and_no_order_a6(
    boards: BoardStore, redis: Redis, redis_url: str, forgotten: int, brought_back: bool
) -> None:
    maker = await maker_of(boards, redis)
    await boards.submit(maker.batch(maker.result(1, 5)))

    class Cut(Interrupted):
        forget_before = forgotten
        bring_back_after = forgotten if brought_back else None

    class CutRedis(InterruptedRedis):
        pipeline_class = Cut

    async with CutRedis.from_url(redis_url) as cut:
        cut_boards = BoardStore(cut, Settings(), Metrics())
        batches = [maker.batch(*[maker.result(player, 5) for player in range(20)]) for _ in range(5)]
        replies = await cut_boards.submit_many(batches)
    assert [reply.kind for reply in replies] == ["done"] * 5
    assert [codes(reply) for reply in replies] == [[1] * 20] * 5
    assert [reply.version for reply in replies] == sorted(reply.version for reply in replies)
    totals = {player: score >> SEASON.time_bits for player, score in await order(redis, SEASON)}
    assert totals == {player: 30 if player == 1 else 25 for player in range(20)}


async def test_every_script_is_brought_back_where_it_was_forgotten_a6(
    boards: BoardStore, redis: Redis
) -> None:
    keys = BoardKeys(SEASON.season_id, new_epoch())
    await boards.rebuilds.begin(keys, SEASON)
    for step in (
        lambda: boards.rebuilds.load(keys, 0, [(5 << SEASON.time_bits, 1)]),
        lambda: boards.rebuilds.finish(keys, 1, Applied(1)),
        lambda: boards.submit(SubmitBatch(SEASON, 1, 0, 0, 3, keys=keys)),
        lambda: boards.rebuilds.swap(keys),
    ):
        await redis.script_flush()
        await step()
    assert await order(redis, SEASON) == [(1, 5 << SEASON.time_bits)]
    await redis.script_flush()
    await boards.rebuilds.remove_board(SEASON.season_id)
    assert await order(redis, SEASON) == []


async def test_a_restarted_server_goes_on_in_a_new_epoch_a6(
    own_valkey: Valkey,
) -> None:
    async with connect(own_valkey.address) as redis:
        boards = BoardStore(redis, Settings(), Metrics())
        await redis.config_set("appendfsync", "always")
        maker = await maker_of(boards, redis)
        first, second = maker.batch(maker.result(1, 5)), maker.batch(maker.result(1, 5))
        before = await boards.submit(first)
        own_valkey.kill()
        await own_valkey.start()
        after = (await boards.submit_many([first, second]))[1]
        assert codes(after) == [1]
        assert (after.epoch != before.epoch, after.version) == (True, 1)
        assert [score >> SEASON.time_bits for _, score in await order(redis, SEASON)] == [10]
        assert (await boards.submit(maker.batch(maker.result(1, 5)))).epoch == after.epoch


async def test_a_cancelled_call_hands_its_answer_to_nobody_a9(boards: BoardStore, redis: Redis) -> None:
    for season_id in range(1, 101):
        await redis.hset(BoardKeys(season_id).meta, mapping={"epoch": f"{season_id:016x}", "version": 1})
    server = redis.connection_pool.connection_kwargs
    async with (
        late_wire(server["port"], 0.3) as port,
        connect(f"redis://:{server['password']}@127.0.0.1:{port}") as late,
    ):
        late_boards = BoardStore(late, Settings(), Metrics())
        right = {season_id: (f"{season_id:016x}", 1) for season_id in range(1, 101)}
        tries = [asyncio.wait_for(late_boards.position(season_id), 0.01) for season_id in right]
        for answer, position in zip(
            await asyncio.gather(*tries, return_exceptions=True), right.values(), strict=True
        ):
            assert isinstance(answer, TimeoutError) or answer == position
        after = await asyncio.gather(*[late_boards.position(season_id) for season_id in right])
        assert after == list(right.values())
        assert not late.connection_pool._in_use_connections


async def test_a_cancelled_batch_is_applied_whole_or_not_at_all_and_may_be_sent_again_a9(
    boards: BoardStore, redis: Redis
) -> None:
    maker = await maker_of(boards, redis)
    server = redis.connection_pool.connection_kwargs
    async with (
        late_wire(server["port"], 0.05) as port,
        connect(f"redis://:{server['password']}@127.0.0.1:{port}") as late,
    ):
        late_boards = BoardStore(late, Settings(), Metrics())
        for _ in range(5):
            batch = maker.batch(maker.result(1, 1), maker.result(2, 1))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(late_boards.submit(batch), 0.01)
            assert (await late_boards.submit(batch)).applied == batch.end
    assert [score >> SEASON.time_bits for _, score in await order(redis, SEASON)] == [5, 5]


async def test_a_cancelled_task_ends_whatever_its_command_was_doing_a9(boards: BoardStore) -> None:
    over = False

    async def look() -> None:
        while not over:
            await boards.position(12)

    for steps in range(200):
        looking = asyncio.create_task(look())
        for _ in range(steps % 40):
            await asyncio.sleep(0)
        looking.cancel()
        await asyncio.wait({looking}, timeout=5)
        over = not looking.done()  # it goes on: let it end, so that the test can
        assert looking.cancelled()


async def test_a_server_that_is_away_is_said_so_at_once(own_valkey: Valkey) -> None:
    async with connect(own_valkey.address) as redis:
        own_valkey.kill()
        maker = Maker(SEASON)
        with pytest.raises(RedisConnectionError):
            await BoardStore(redis, Settings(), Metrics()).submit(maker.batch(maker.result(1, 5)))
