"""SIGTERM under load: what was accepted is safe, viewers are told, and the process ends by itself with 0."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import orjson
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from server.core.results import Result, result_value
from server.core.season import Season
from server.embedded.valkey import Valkey
from server.errors import Close
from tests.faults.arena import Arena, standing
from tests.faults.feeder import Key, key_of
from tests.faults.truth import read_truth
from tests.services import PARTITIONS
from tests.waiting import until

GRACE_S = 30  # of a stop: on a machine at work with other things draining takes its time
CLOSING_S = 10  # what comes after the grace: sockets that close, roles that end
POSTERS, AT_ONCE = 6, 20


class Posters:
    """Game servers that post lists of results over HTTP, one list after the other each."""

    def __init__(self, arena: Arena) -> None:
        self.accepted: dict[Key, Result] = {}
        self.answers: Counter[int | str] = Counter()
        self._arena = arena
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin; each posts until it is told that the server stops, or the server is gone."""
        seasons = self._arena.seasons
        self._tasks = [
            asyncio.create_task(self._post_on(seasons[number % len(seasons)])) for number in range(POSTERS)
        ]

    async def ended(self) -> None:
        """Wait until all have been turned away."""
        await asyncio.gather(*self._tasks)

    async def close(self) -> None:
        """End, whatever they are at."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _post_on(self, season: Season) -> None:
        url = f"{self._arena.web.url}/seasons/{season.season_id}/results"
        headers = {"Authorization": "Bearer a key of the tests"}
        async with httpx.AsyncClient(headers=headers, timeout=60) as client:
            status: int | str = 202
            while status == 202:
                results = self._arena.feeder.make(season, AT_ONCE)
                body = [orjson.loads(result_value(result)) for result in results]
                try:
                    status = (await client.post(url, json=body)).status_code
                except httpx.TransportError as error:
                    status = type(error).__name__
                self.answers[status] += 1
                if status == 202:
                    self._arena.feeder.acknowledge(results)
                    self.accepted |= {key_of(result): result for result in results}


@pytest.fixture
async def arena(
    place: Path, own_valkey: Valkey, database_url: str, kafka_bootstrap: str, topic: str
) -> AsyncIterator[Arena]:
    """All roles in one process, which may take its time to stop."""
    async with standing(
        place,
        redis_url=own_valkey.address,
        database_url=database_url,
        kafka_bootstrap=kafka_bootstrap,
        topic=topic,
        RANKCAST_SHUTDOWN_GRACE_S=str(GRACE_S),
    ) as found:
        yield found


@contextlib.asynccontextmanager
async def posting(arena: Arena) -> AsyncIterator[Posters]:
    """Posters at work."""
    posters = Posters(arena)
    posters.start()
    try:
        await until(lambda: posters.answers[202] >= 5 * POSTERS, within=30)
        yield posters
    finally:
        await posters.close()


async def in_kafka(bootstrap: str, topic: str) -> set[Key]:
    """The results of all records that the topic holds."""
    partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    found: set[Key] = set()
    try:
        consumer.assign(partitions)
        ends = await consumer.end_offsets(partitions)
        while any([await consumer.position(tp) < ends[tp] for tp in partitions]):
            for records in (await consumer.getmany(timeout_ms=200)).values():
                for record in records:
                    value = orjson.loads(record.value)
                    found.add((value["match_id"], value["player_id"], value["season_id"]))
    finally:
        await consumer.stop()
    return found


async def test_sigterm_under_load_leaves_every_accepted_post_in_kafka_and_postgresql(
    arena: Arena, kafka_bootstrap: str, topic: str
) -> None:
    """D3 for a whole process."""
    role = arena.web
    async with posting(arena) as posters:
        asked = time.monotonic()
        code = await role.stop(within=GRACE_S + CLOSING_S)
        await posters.ended()
    assert code == 0
    assert posters.accepted
    assert posters.answers.keys() <= {202, 503, "ConnectError", "ReadError", "RemoteProtocolError"}
    truth = await read_truth(arena.database_url, arena.seasons)
    assert posters.accepted.keys() <= truth.results.keys()
    assert posters.accepted.keys() <= await in_kafka(kafka_bootstrap, topic)
    await until(lambda: arena.watching.closes)
    assert arena.watching.byes == [Close.SHUTDOWN]
    assert arena.watching.closes == [Close.SHUTDOWN]
    later = [change.status for change in arena.ready("web").changes if change.at > asked]
    assert 200 not in later
    assert role.told("viewers_told_bye", viewers=1)
    for fault in ("records_left", "role_did_not_stop", "role_died"):
        assert not role.told(fault), fault
    assert not [line for line in role.lines() if "Traceback" in line.get("text", "")]
    await role.start()
    await role.ready()
    await arena.holds()
    assert await role.metric("produced_total", outcome="failed") == 0
