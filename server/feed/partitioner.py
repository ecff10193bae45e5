"""Which partition a key belongs to: Kafka's default (murmur2), so that a player's results meet in one place.

Pure. Neighbours: `producer.py` sends by it, `reader.py` counts records that lie elsewhere.
"""

from functools import lru_cache

from aiokafka.partitioner import murmur2


@lru_cache(maxsize=262_144)
def key_hash(key: bytes) -> int:
    """The hash of a key, 0 to 2**31 - 1, as the Java client and librdkafka's murmur2_random have it."""
    positive: int = murmur2(key) & 0x7FFFFFFF
    return positive


def partition_of(key: bytes, partitions: int) -> int:
    """The partition that the key belongs to where the topic has so many."""
    return key_hash(key) % partitions
