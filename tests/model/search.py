"""Many schedules: `python -m tests.model.search --n 100000 --seed 1 --workers 2`, or `make model`.

Owns: services for each worker process, progress, and what is printed of a schedule that goes wrong: its seed,
its steps after shrinking, and what happened in them.
Neighbours: `schedule.py` makes and plays, the Makefile calls this.
"""

import argparse
import asyncio
import contextlib
import multiprocessing
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable
from multiprocessing.queues import Queue
from pathlib import Path

import uvloop

from server.embedded.postgres import Postgres
from server.embedded.valkey import Valkey
from tests import guardian
from tests.model.schedule import Schedule, play, prepare, shrink
from tests.model.services import Mutate, Services, open_services
from tests.services import new_database

Found = tuple[int, str | None]
"""A seed, and what went wrong with its schedule, told in full; None: all was right."""


def _folder() -> Path:
    """A folder that PostgreSQL reaches, too, which may run as another account."""
    folder = Path(tempfile.mkdtemp(prefix="rankcast-model-"))
    folder.chmod(0o755)
    return folder


@contextlib.asynccontextmanager
async def own_services(mutate: Mutate = lambda _, text: text) -> AsyncIterator[Services]:
    """A Valkey and a PostgreSQL of this process's own, ready to play."""
    folder = _folder()
    watch = guardian.start(folder)  # ends them with this process, however it ends
    valkey, postgres = (
        Valkey(folder / "valkey", "model", durable=False),
        Postgres(folder / "postgres", durable=False),
    )
    try:
        await asyncio.gather(valkey.start(), postgres.start())
        async with open_services(valkey.address, await new_database(postgres.address), mutate) as services:
            await prepare(services)
            yield services
    finally:
        await asyncio.gather(valkey.stop(), postgres.stop())
        assert watch.stdin is not None
        watch.stdin.close()


async def explained(services: Services, seed: int, schedule: Schedule, wrong: str) -> str:
    """What to print of a schedule that goes wrong: shrunk, and step by step."""
    small = await shrink(services, schedule)
    lines: list[str] = []
    again = await play(services, small, lines.append)
    head = f"seed {seed}: {len(schedule.steps)} steps, shrunk to {len(small.steps)}, settled={small.settled}"
    return "\n".join([head, f"  at first: {wrong}", *[f"  {line}" for line in lines], f"  WRONG: {again}"])


async def first_wrong(services: Services, seeds: Iterable[int]) -> int | None:
    """The first of the seeds whose schedule goes wrong."""
    for seed in seeds:
        if await play(services, Schedule.make(seed)) is not None:
            return seed
    return None


async def _work(first: int, beyond: int, step: int, told: "Queue[Found]") -> None:
    async with own_services() as services:
        for seed in range(first, beyond, step):
            schedule = Schedule.make(seed)
            wrong = await play(services, schedule)
            told.put((seed, None if wrong is None else await explained(services, seed, schedule, wrong)))


def _worker(first: int, beyond: int, step: int, told: "Queue[Found]") -> None:
    uvloop.run(_work(first, beyond, step, told))


def search(first: int, count: int, workers: int, most_wrong: int) -> int:
    """Play schedules of `count` seeds; return how many went wrong, at most so many."""
    told: Queue[Found] = multiprocessing.get_context("spawn").Queue()
    processes = [
        multiprocessing.get_context("spawn").Process(
            target=_worker, args=(first + each, first + count, workers, told), daemon=True
        )
        for each in range(min(workers, count))
    ]
    for process in processes:
        process.start()
    began = said = time.monotonic()
    wrong = done = 0
    try:
        while done < count and wrong < most_wrong:
            _, story = told.get(timeout=600)
            done += 1
            if story is not None:
                wrong += 1
                sys.stdout.write(story + "\n")
                sys.stdout.flush()
            now = time.monotonic()
            if now - said >= (1 if sys.stderr.isatty() else 30) or done == count:
                rate, said = done / (now - began), now
                sys.stderr.write(
                    f"{done:,} of {count:,} schedules, {wrong} wrong, {rate:.1f}/s, "
                    f"{(count - done) / rate / 60:.0f} min left\n"
                )
    finally:
        for process in processes:
            process.join(20 if done == count else 0.1)
            process.terminate()
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description="Random fault schedules against the real roles.")
    parser.add_argument("--n", type=int, default=2000, help="how many schedules (2000)")
    parser.add_argument("--seed", type=int, default=1, help="the first one's seed (1)")
    parser.add_argument("--workers", type=int, default=2, help="processes, each with services of its own (2)")
    parser.add_argument("--most-wrong", type=int, default=1, help="stop after so many that go wrong (1)")
    asked = parser.parse_args()
    sys.exit(1 if search(asked.seed, asked.n, asked.workers, asked.most_wrong) else 0)


if __name__ == "__main__":
    main()
