"""Random schedules of faults against the real roles: the board equals SQL at the end of each."""

import pytest
import uvloop

from server.board.scripts import Script
from tests.model.mutations import MUTATIONS
from tests.model.schedule import Schedule, play, prepare
from tests.model.search import explained
from tests.model.services import Services, open_services

SCHEDULES, PARTS = 2000, 4


@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(PARTS))
def test_after_any_schedule_of_faults_the_board_equals_sql(
    part: int, redis_url: str, database_url: str
) -> None:
    """`make model N=… SEED=…` tries others."""

    async def search() -> str | None:
        async with open_services(redis_url, database_url) as services:
            await prepare(services)
            for seed in range(1 + part, 1 + SCHEDULES, PARTS):
                if (wrong := await play(services, Schedule.make(seed))) is not None:
                    return await explained(services, seed, Schedule.make(seed), wrong)
        return None

    story = uvloop.run(search())
    assert story is None, story


def test_the_same_seed_makes_the_same_schedule_with_the_same_course(
    redis_url: str, database_url: str
) -> None:
    async def course(services: Services, seed: int) -> list[str]:
        lines: list[str] = []
        assert await play(services, Schedule.make(seed), lines.append) is None
        return [line for line in lines if not line.lstrip().startswith("board")]  # epochs are random

    async def twice() -> None:
        async with open_services(redis_url, database_url) as services:
            await prepare(services)
            for seed in range(1, 6):
                assert await course(services, seed) == await course(services, seed)

    uvloop.run(twice())


def test_a_schedule_shrinks_to_steps_of_which_none_can_be_left_out() -> None:
    smaller = Schedule.make(1).smaller()
    assert len(smaller[0].steps) < len(Schedule.make(1).steps)
    assert all(each != Schedule.make(1) for each in smaller)


@pytest.mark.parametrize("name", MUTATIONS)
def test_each_rule_that_is_broken_on_purpose_stands_in_the_server(name: str) -> None:
    """`make test-faults` shows that the machine finds each of them broken."""
    with MUTATIONS[name].applied():
        for file in MUTATIONS[name].lua:
            text = Script.load(file).text
            assert MUTATIONS[name].script(file, text) != text
