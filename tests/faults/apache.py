"""What operators, retention and mishaps do to a topic and its groups on Apache Kafka."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.records_to_delete import RecordsToDelete
from aiokafka.protocol.admin import DeleteGroupsRequest


@asynccontextmanager
async def administering(bootstrap: str) -> AsyncIterator[AIOKafkaAdminClient]:
    """An operator's connection."""
    client = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await client.start()
    try:
        yield client
    finally:
        await client.close()


async def trim(admin: AIOKafkaAdminClient, topic: str, starts: Mapping[int, int]) -> None:
    """Let the partitions begin at these offsets, as retention would; -1: at their end."""
    await admin.delete_records(
        {TopicPartition(topic, number): RecordsToDelete(at) for number, at in starts.items()}
    )


async def delete_group(admin: AIOKafkaAdminClient, group: str) -> None:
    """Remove a group that has no members, and all that it has committed."""
    coordinator = await admin.find_coordinator(group)
    answer = await admin._send_request(DeleteGroupsRequest([group]), coordinator)
    assert [code for _, code in answer.results] == [0], answer


async def committed(admin: AIOKafkaAdminClient, group: str) -> int:
    """What the group has committed, over all partitions."""
    offsets = await admin.list_consumer_group_offsets(group)
    return sum(max(0, found.offset) for found in offsets.values())


async def members(admin: AIOKafkaAdminClient, group: str) -> int:
    """How many consumers the group has."""
    (answer,) = await admin.describe_consumer_groups([group])
    return len(answer.groups[0][5])


@asynccontextmanager
async def passer_by(bootstrap: str, topic: str, group: str) -> AsyncIterator[None]:
    """A member that takes a share and reads nothing: a rebalance as it comes, another one as it goes."""
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False, session_timeout_ms=6000
    )
    await consumer.start()
    try:
        yield
    finally:
        await consumer.stop()
