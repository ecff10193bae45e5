"""The machine that tries schedules finds each rule of the server that is broken on purpose."""

import pytest
import uvloop

from tests.model.mutations import MUTATIONS
from tests.model.schedule import prepare
from tests.model.search import first_wrong
from tests.model.services import open_services

SCHEDULES = 400


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_broken_rule_is_found(name: str, redis_url: str, database_url: str) -> None:
    mutation = MUTATIONS[name]

    async def search() -> int | None:
        with mutation.applied():
            async with open_services(redis_url, database_url, mutation.script) as services:
                await prepare(services)
                return await first_wrong(services, range(1, 1 + SCHEDULES))

    assert uvloop.run(search()) is not None, f"{name}: {SCHEDULES} schedules noticed nothing"
