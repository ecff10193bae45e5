"""The clock of one process is an hour off: no result counts more, less or otherwise for it.

What counts is decided by Kafka's timestamps and the clocks of Redis and PostgreSQL. The wrong clock is the
process's own, by `wrong_clock/sitecustomize.py`: no library of the system has to be there for it.
"""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from server.board.connection import connect
from server.board.keys import BoardKeys
from server.embedded.postgres import Postgres
from server.embedded.tansu import Tansu
from tests.faults.arena import APART, BEST, SUM, Arena
from tests.faults.ground import assert_viewers_stayed, fed, sharing
from tests.waiting import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

HOUR_S = 3600
WRONG_CLOCK = Path(__file__).parent / "wrong_clock"
AT_WORK = 500  # results while the clock is wrong

RATE = 500.0  # results a second


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(services_folder: Path, postgres: Postgres, kafka: Tansu) -> AsyncIterator[Arena]:
    """Each role a process of its own."""
    async with sharing(
        services_folder,
        postgres,
        kafka.address,
        processes=APART,
        rate=RATE,
    ) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def arena(shared: Arena) -> Arena:
    """The same for each test, under load again."""
    return await fed(shared)


async def restart(arena: Arena, name: str, ahead_s: int) -> None:
    """Start the role's process anew with a clock that is so far ahead."""
    role = arena.role(name)
    await role.kill()
    await role.start(PYTHONPATH=str(WRONG_CLOCK), WRONG_CLOCK_S=str(ahead_s))
    await arena.ready(name).ready()


def has_told(arena: Arena, name: str, before: int) -> bool:
    """Whether the process has said, since then, that its clock differs."""
    return arena.told(name, "clock_differs") > before


async def lose_boards(arena: Arena) -> None:
    """Remove both boards: they have to be rebuilt, and a rebuild asks about time more than anything else."""
    epochs = arena.watching.seats["s1"].epochs[:]
    async with connect(arena.redis_url) as redis:
        for season in (SUM, BEST):
            await redis.unlink(*BoardKeys(season).board)
    await until(lambda: arena.watching.seats["s1"].epochs != epochs, within=30)


@pytest.mark.parametrize("name", ["ingest", "persist", "keeper"])
async def test_a_process_whose_clock_is_an_hour_off_counts_as_all_others_do(arena: Arena, name: str) -> None:
    for ahead_s in (HOUR_S, -HOUR_S):
        told = arena.told(name, "clock_differs")
        await restart(arena, name, ahead_s)
        await until(partial(has_told, arena, name, told))
        assert await arena.role(name).metric("clock_ahead_seconds") == pytest.approx(ahead_s, abs=60)
        await lose_boards(arena)
        await arena.feeder.more(AT_WORK, within=60)
        await arena.holds(within=120)
        arena.feeder.start()
    await restart(arena, name, 0)
    assert_viewers_stayed(arena)
    assert arena.ready("web").stayed_ready(0)
