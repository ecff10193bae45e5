"""A key's partition is the one that Kafka's own clients choose."""

import pytest

from server.feed.partitioner import key_hash, partition_of


@pytest.mark.parametrize(
    ("key", "murmur2"),
    [  # from the tests of Kafka's Java client
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_that_of_the_java_client(key: bytes, murmur2: int) -> None:
    assert key_hash(key) == murmur2 & 0x7FFFFFFF


def test_a_partition_is_the_hash_modulo_their_number() -> None:
    assert partition_of(b"21", 8) == (-973932308 & 0x7FFFFFFF) % 8
