"""The arena itself: where nothing breaks, everything holds, and a wrong board or row is found."""

from typing import Any

import pytest

from server.board.connection import connect
from server.board.keys import BoardKeys
from tests.faults.arena import SUM, Arena

pytestmark = pytest.mark.timeout(600)


async def test_where_nothing_breaks_everything_holds(arena: Arena) -> None:
    await arena.feeder.more(4000)
    await arena.holds()
    assert arena.watching.connections == 1
    assert arena.reader.failures == []
    assert [change.status for change in arena.ready("web").changes] == [200]


async def test_one_player_with_another_score_does_not_hold(arena: Arena) -> None:
    await arena.holds()
    async with connect(arena.redis_url) as redis:
        found: list[Any] = await redis.zrange(BoardKeys(SUM).zset, 0, 0)
        await redis.zincrby(BoardKeys(SUM).zset, 1, found[0])
    with pytest.raises(AssertionError, match=r"1 of .* players differ from SQL"):
        await arena.holds()
