"""Schedules that went wrong once, each by the name of what was the matter."""

import pytest
import uvloop

from tests.model.schedule import Schedule, play, prepare
from tests.model.services import open_services
from tests.model.world import Step


def run(process: int) -> Step:
    """0 is an ingest, 2 a persist, 3 a keeper."""
    return ("run", process, 0, 7, 0)


BOTH_ROLES_STAND = [run(2), run(2), run(2), run(0), run(0)]
A_QUARTER_OF_A_LIFE = ("time", 0, 0, 0, 0)

FOUND = {
    "a zset alone was lost": Schedule(
        True, [run(1), run(1), ("append", 0, 0, 0, 0), ("step", 1, 0, 0, 4), ("lose_key", 0, 0, 0, 0)]
    ),
    "a commit came through unheard while the next range was in hand": Schedule(
        True,
        [
            ("append", 0, 0, 0, 0),
            ("append", 7, 0, 0, 0),
            ("run", 2, 0, 0, 0),
            ("step", 2, 0, 0, 0),
            ("append", 3, 0, 0, 0),
            ("step", 2, 0, 0, 2),
            ("lose", 2, 0, 0, 0),
            ("append", 3, 0, 0, 0),
        ],
    ),
    "a result dated ahead was retried long after its board was rebuilt": Schedule(
        True,
        [
            ("append", 1, 0, 1, 7),
            *[run(2), run(2), run(0), ("empty", 1, 0, 0, 0), run(2), run(3), run(0), run(0)],
            *[A_QUARTER_OF_A_LIFE, run(0), run(2)] * 5,
            *[("retry", 0, 0, 0, 0), run(2), run(0), run(0)],
        ],
    ),
    "a rebuild outlived its lock and brought back what a reset had removed": Schedule(
        True,
        [
            *[*BOTH_ROLES_STAND, ("append", 0, 0, 1, 0), run(2), run(2), run(0), run(0)],
            *[("rebuild", 0, 0, 0, 0), *[("step", 7, 0, 7, 0)] * 8, ("zombie", 7, 0, 0, 0)],
            *[A_QUARTER_OF_A_LIFE, ("reset", 0, 0, 0, 0), run(7), run(7), run(7)],
            *[("rise", 0, 0, 0, 1), ("rise", 0, 0, 0, 1)],
        ],
    ),
    "a copy from before a reset came back": Schedule(
        True,
        [
            *[*BOTH_ROLES_STAND, ("append", 0, 0, 1, 0), run(2), run(2), run(0), run(0)],
            *[("copy", 0, 0, 0, 0), ("reset", 0, 0, 0, 0), run(7), run(7), run(7), ("failover", 0, 0, 0, 0)],
        ],
    ),
    "persist held a log that had come and gone while it stood still": Schedule(
        True,
        [
            ("run", 2, 0, 0, 0),
            ("new_log", 0, 0, 0, 0),
            ("step", 2, 0, 0, 7),
            ("new_log", 0, 0, 0, 0),
            ("run", 5, 0, 0, 0),
        ],
    ),
    "persist stood still for hours before it told how far it was": Schedule(
        True,
        [
            *BOTH_ROLES_STAND,
            *[("copy", 0, 0, 0, 0), ("failover", 0, 0, 0, 0)] * 3,
            *[("step", 2, 0, 7, 0), ("append", 1, 0, 1, 0), run(0), run(0)],
            *[A_QUARTER_OF_A_LIFE, run(0)] * 5,
            *[("retry", 0, 0, 0, 0), run(0), ("step", 2, 0, 7, 2), run(0), run(0)],
        ],
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_went_wrong_once_goes_right(name: str, redis_url: str, database_url: str) -> None:
    story: list[str] = []

    async def once_more() -> str | None:
        async with open_services(redis_url, database_url) as services:
            await prepare(services)
            return await play(services, FOUND[name], story.append)

    assert uvloop.run(once_more()) is None, "\n".join(story)
