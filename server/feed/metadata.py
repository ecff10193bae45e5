"""The bytes of two Kafka requests that aiokafka does not make: ApiVersions and Metadata with topic ids.

Owns: how the two are written and read, Metadata of version 10 to 12 (topic ids) and 5 (brokers without them).
Never does: any I/O. Neighbour: `identity.py` sends them.
"""

import struct
from dataclasses import dataclass, field

API_VERSIONS = 18
METADATA = 3
NEWEST = 12
OLDEST_WITH_IDS = 10
WITHOUT_IDS = 5
UNKNOWN_TOPIC = 3

_CLIENT = b"rankcast"
_NO_ID = "0" * 32


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """One topic as a broker knows it: `error` is Kafka's code (0: none), `topic_id` 32 hex digits or ""."""

    cluster_id: str
    topic_id: str
    error: int
    partitions: int
    brokers: list[tuple[str, int]] = field(compare=False)


class MalformedResponse(ValueError):  # noqa: N818  what it is, not a fault of ours
    """A broker's answer that ends too early or holds another topic than was asked for."""


def api_versions_request(correlation: int) -> bytes:
    """Return ApiVersions version 0 with its length in front."""
    return _framed(struct.pack(">hhih", API_VERSIONS, 0, correlation, len(_CLIENT)) + _CLIENT)


def metadata_request(correlation: int, version: int, topic: str) -> bytes:
    """Return Metadata of `version` for one topic, which asking never creates, with its length in front."""
    name = topic.encode()
    head = struct.pack(">hhih", METADATA, version, correlation, len(_CLIENT)) + _CLIENT
    if version < OLDEST_WITH_IDS:
        return _framed(head + struct.pack(">ih", 1, len(name)) + name + b"\0")
    flags = b"\0\0" if version >= 11 else b"\0\0\0"
    tags = b"\0"
    wanted = bytes(16) + _unsigned(len(name) + 1) + name + tags
    return _framed(head + tags + _unsigned(2) + wanted + flags + tags)


def metadata_version(response: bytes) -> int:
    """Return the version of Metadata to speak with the broker of this ApiVersions response."""
    answer = _Answer(response)
    answer.skip(4 + 2)
    newest = 0
    for _ in range(answer.int32()):
        key, _, most = answer.int16(), answer.int16(), answer.int16()
        if key == METADATA:
            newest = most
    return min(newest, NEWEST) if newest >= OLDEST_WITH_IDS else WITHOUT_IDS


def parse_metadata(response: bytes, version: int, topic: str) -> TopicMetadata:
    """Return what the broker says of `topic`. Raises MalformedResponse."""
    answer = _Answer(response, flexible=version >= OLDEST_WITH_IDS)
    answer.skip(4)
    answer.tags()
    answer.skip(4)  # throttle time
    brokers = []
    for _ in range(answer.length()):
        answer.skip(4)  # node id
        brokers.append((answer.text(), answer.int32()))
        answer.text()  # rack
        answer.tags()
    cluster_id = answer.text()
    answer.skip(4)  # controller
    for _ in range(answer.length()):
        error, name = answer.int16(), answer.text()
        topic_id = answer.take(16).hex() if answer.flexible else _NO_ID
        answer.skip(1)  # internal
        partitions = answer.length()
        if name == topic:
            return TopicMetadata(
                cluster_id, "" if topic_id == _NO_ID else topic_id, error, partitions, brokers
            )
    raise MalformedResponse(f"the broker's answer does not speak of {topic}")


class _Answer:
    """A response's bytes and how far they are read."""

    __slots__ = ("_at", "_bytes", "flexible")

    def __init__(self, response: bytes, *, flexible: bool = False) -> None:
        self._bytes = response
        self._at = 0
        self.flexible = flexible

    def take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._bytes):
            raise MalformedResponse(f"the broker's answer of {len(self._bytes)} bytes ends too early")
        taken = self._bytes[self._at : end]
        self._at = end
        return taken

    def skip(self, size: int) -> None:
        self.take(size)

    def int16(self) -> int:
        return int.from_bytes(self.take(2), signed=True)

    def int32(self) -> int:
        return int.from_bytes(self.take(4), signed=True)

    def unsigned(self) -> int:
        """A varint, seven bits a byte, the low ones first."""
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def length(self) -> int:
        """Entries of an array; a null one has none."""
        return max(0, self.unsigned() - 1 if self.flexible else self.int32())

    def text(self) -> str:
        size = self.unsigned() - 1 if self.flexible else self.int16()
        return self.take(max(0, size)).decode()

    def tags(self) -> None:
        if not self.flexible:
            return
        for _ in range(self.unsigned()):
            self.unsigned()
            self.skip(self.unsigned())


def _unsigned(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def _framed(message: bytes) -> bytes:
    return struct.pack(">i", len(message)) + message
