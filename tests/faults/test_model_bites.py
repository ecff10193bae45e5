"""The machine that tries schedules finds each rule of the server that is broken on purpose."""

from unittest import mock

import pytest
import uvloop

from tests.model.mutations import MUTATIONS, SHOWN, Mutation
from tests.model.schedule import Schedule, play, prepare
from tests.model.search import first_wrong
from tests.model.services import open_services

SCHEDULES = 400


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [name for name in MUTATIONS if name not in SHOWN])
def test_a_broken_rule_is_found_by_random_schedules(name: str, redis_url: str, database_url: str) -> None:
    mutation = MUTATIONS[name]

    async def search() -> int | None:
        with mutation.applied():
            async with open_services(redis_url, database_url, mutation.script) as services:
                await prepare(services)
                return await first_wrong(services, range(1, 1 + SCHEDULES))

    assert uvloop.run(search()) is not None, f"{name}: {SCHEDULES} schedules noticed nothing"


@pytest.mark.parametrize("broken", [True, False])
@pytest.mark.parametrize("name", SHOWN)
def test_the_schedule_that_is_made_for_a_rule_goes_wrong_only_where_it_is_broken(
    name: str, broken: bool, redis_url: str, database_url: str
) -> None:
    mutation = MUTATIONS[name] if broken else Mutation()

    async def course() -> str | None:
        with mutation.applied():
            async with open_services(redis_url, database_url, mutation.script) as services:
                await prepare(services)
                return await play(services, Schedule(True, SHOWN[name]))

    # ingest asks about old results unasked, to spare a round trip, and would hide that the script does not
    with mock.patch("server.feed.apply.Applier._will_be_asked", return_value=False):
        assert (uvloop.run(course()) is not None) is broken
