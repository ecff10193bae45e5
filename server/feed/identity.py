"""Which log is behind a topic's name right now: cluster id, topic and topic id, asked of a broker.

Owns: one connection for these questions, and the rule that a log is known by its id alone. Readers ask after
each fetch, before they use it: the records were of the log that was there before and is there still.
Never does: fetch records, or conclude anything from where a log starts or ends.
Neighbours: `metadata.py` is the bytes, `reader.py` asks, `archive` gives each identity a number.
"""

import asyncio
import contextlib
from dataclasses import dataclass

from server.core.log_identity import LogIdentity
from server.feed import metadata
from server.feed.metadata import TopicMetadata

__all__ = ["BrokerAway", "LogIdentity", "LogState", "TopicMissing", "TopicWatch", "read_identity"]

REQUEST_SECONDS = 5.0
_MAX_ANSWER = 64 * 1024 * 1024


class BrokerAway(Exception):  # noqa: N818  a state of the world, not a fault
    """No broker answered in time; the reason names those that were tried."""


class TopicMissing(Exception):  # noqa: N818  a state of the world, not a fault
    """The brokers know no such topic (yet, or no more)."""


@dataclass(frozen=True, slots=True)
class LogState:
    """The log behind a topic's name, and how many partitions it has."""

    identity: LogIdentity
    partitions: int


async def read_identity(bootstrap: str, topic: str) -> LogIdentity:
    """Ask once which log the topic is. Raises BrokerAway and TopicMissing."""
    watch = TopicWatch(bootstrap, topic)
    try:
        return (await watch.look()).identity
    finally:
        await watch.close()


class TopicWatch:
    """A connection that is kept to ask the same question often; one caller at a time gets its answer."""

    def __init__(self, bootstrap: str, topic: str, within: float = REQUEST_SECONDS) -> None:
        self._bootstrap = parse_bootstrap(bootstrap)
        self._brokers = self._bootstrap
        self._topic = topic
        self._within = within
        self._lock = asyncio.Lock()
        self._link: _Link | None = None

    async def look(self) -> LogState:
        """Return the log that the topic's name stands for now. Raises BrokerAway and TopicMissing."""
        async with self._lock:
            found = await self._ask()
        if found.error == metadata.UNKNOWN_TOPIC:
            raise TopicMissing(f"there is no topic {self._topic}")
        if found.error:
            raise BrokerAway(f"the broker answers with error {found.error} for topic {self._topic}")
        identity = LogIdentity(found.cluster_id, self._topic, found.topic_id)
        return LogState(identity, found.partitions)

    async def close(self) -> None:
        """Close the connection; a later question opens another one."""
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    async def _ask(self) -> TopicMetadata:
        failures: list[str] = []
        if self._link is not None:
            with contextlib.suppress(_Broken):
                return await self._through(self._link)
        for host, port in self._brokers:
            try:
                self._link = await _Link.open(host, port, self._within)
                return await self._through(self._link)
            except _Broken as error:
                failures.append(f"{host}:{port}: {error}")
        self._brokers = self._bootstrap
        raise BrokerAway(f"no broker answers: {'; '.join(failures)}")

    async def _through(self, link: "_Link") -> TopicMetadata:
        try:
            found = await link.metadata(self._topic)
        except BaseException:  # cancelled, too: the answer that is still to come belongs to nobody
            await self.close()
            raise
        self._brokers = list(dict.fromkeys([*self._bootstrap, *found.brokers]))
        return found


class _Broken(Exception):  # noqa: N818  stays inside
    """A connection that cannot be opened or used any more."""


class _Link:
    """One connection to one broker, with the version of Metadata that they speak."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, within: float) -> None:
        self._reader = reader
        self._writer = writer
        self._within = within
        self._correlation = 0
        self._version = metadata.WITHOUT_IDS

    @classmethod
    async def open(cls, host: str, port: int, within: float) -> "_Link":
        try:
            async with asyncio.timeout(within):
                link = cls(*await asyncio.open_connection(host, port), within)
        except (OSError, TimeoutError) as error:
            raise _Broken(_words(error)) from error
        try:
            answer = await link._exchange(metadata.api_versions_request(link._next()))
            link._version = metadata.metadata_version(answer)
        except BaseException:
            await link.close()
            raise
        return link

    async def metadata(self, topic: str) -> TopicMetadata:
        answer = await self._exchange(metadata.metadata_request(self._next(), self._version, topic))
        try:
            return metadata.parse_metadata(answer, self._version, topic)
        except ValueError as error:
            raise _Broken(str(error)) from error

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    def _next(self) -> int:
        self._correlation = (self._correlation + 1) % 2**31
        return self._correlation

    async def _exchange(self, request: bytes) -> bytes:
        try:
            async with asyncio.timeout(self._within):
                self._writer.write(request)
                size = int.from_bytes(await self._reader.readexactly(4))
                if size > _MAX_ANSWER:
                    raise _Broken(f"an answer of {size} bytes is none of Kafka's")
                answer = await self._reader.readexactly(size)
        except (OSError, EOFError, TimeoutError) as error:
            raise _Broken(_words(error)) from error
        if int.from_bytes(answer[:4]) != self._correlation:
            raise _Broken("an answer to another question")
        return answer


def parse_bootstrap(bootstrap: str) -> list[tuple[str, int]]:
    """Return host and port of each broker in `host:port,host:port`; the port is 9092 where none is named."""
    brokers = []
    for entry in bootstrap.split(","):
        host, colon, port = entry.strip().rpartition(":")
        if not colon or port.endswith("]"):
            host, port = entry.strip(), "9092"
        brokers.append((host.strip("[]"), int(port)))
    return brokers


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__
