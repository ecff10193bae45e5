"""Schedules: made from a seed, played, shrunk, printed.

Owns: which steps there are and how often each is taken. A schedule is a list of steps and one switch; the
same seed makes the same schedule. Neighbours: `world.py` plays it, `search.py` makes many.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tests.model.services import Services
from tests.model.truth import Wrong
from tests.model.world import Step, World

WEIGHTS = {
    "append": 10,
    "retry": 5,
    "run": 14,
    "step": 8,
    "lose": 1,
    "kill": 1,
    "zombie": 1,
    "rise": 2,
    "rebuild": 1,
    "reset": 0.3,
    "copy": 1.2,
    "failover": 1.5,
    "empty": 0.5,
    "lose_key": 0.5,
    "flush_scripts": 0.3,
    "time": 1.5,
    "hours": 0.5,
    "new_log": 0.4,
    "trim": 0.6,
}
SHORTEST, LONGEST = 6, 36
SHRINK_ROUNDS = 1000


@dataclass(frozen=True)
class Schedule:
    """What is played."""

    settled: bool
    steps: list[Step] = field(default_factory=list)

    @classmethod
    def make(cls, seed: int) -> "Schedule":
        """The schedule of this seed."""
        chance = random.Random(seed)
        names = chance.choices(list(WEIGHTS), list(WEIGHTS.values()), k=chance.randrange(SHORTEST, LONGEST))
        numbers = [[chance.randrange(8) for _ in range(4)] for _ in names]
        settled = chance.random() < 0.5
        return cls(settled, [(name, *four) for name, four in zip(names, numbers, strict=True)])  # type: ignore[misc]  # four they are

    def smaller(self) -> "list[Schedule]":
        """Schedules that are a bit less than this one, the least first."""
        steps, found = self.steps, []
        length = len(steps) // 2
        while length:
            found += [
                replace(self, steps=steps[:at] + steps[at + length :]) for at in range(0, len(steps), length)
            ]
            length //= 2
        for at, step in enumerate(steps):
            for place in range(1, 5):
                if step[place]:
                    changed = (*step[:place], 0, *step[place + 1 :])
                    found.append(replace(self, steps=[*steps[:at], changed, *steps[at + 1 :]]))  # type: ignore[list-item]  # five they are
        return found


async def prepare(services: Services) -> None:
    """Keep a copy of Redis in which both boards stand, as every schedule begins."""
    await services.begin(settled=False)
    world = World(services)
    await world.make_boards()
    await services.copy(3)


async def play(
    services: Services, schedule: Schedule, say: Callable[[str], None] = lambda _: None
) -> str | None:
    """Play it; what went wrong, or None."""
    world = World(services, say)
    random.seed(0)  # the server's jitter
    try:
        await services.begin(schedule.settled)
        await world.play(schedule.steps)
    except Wrong as wrong:
        return str(wrong)
    except Exception as error:  # whatever a role dies of is a finding
        return f"{type(error).__name__}: {error}"
    return None


async def shrink(services: Services, schedule: Schedule) -> Schedule:
    """A schedule that goes wrong, too, and of which nothing can be left out."""
    for _ in range(SHRINK_ROUNDS):
        for smaller in schedule.smaller():
            if await play(services, smaller) is not None:
                schedule = smaller
                break
        else:
            return schedule
    return schedule
