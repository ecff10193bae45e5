"""What `doctor` looks at in Kafka: the topics, copies, retention and timestamps, the last records' keys."""

from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.partitioner import murmur2

from server.commands.doctor import Finding, advice, good, wrong
from server.core.refusals import Refusal
from server.core.results import parse_value
from server.feed.topics import rejected_topic
from server.settings import Settings, variable

SAMPLE = 200  # records of each partition, the newest
SAMPLE_MS = 2_000
LOG_APPEND_TIME = 1
ENOUGH_MS = 7 * 86_400_000
FEW_HOURS = 24


async def examine_kafka(settings: Settings) -> list[Finding]:
    """The findings about `settings.kafka_bootstrap` and its topics."""
    bootstrap = (settings.kafka_bootstrap or "").split(",")
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=5_000)
    await admin.start()
    try:
        names = set(await admin.list_topics())
        described = await admin.describe_topics([settings.topic]) if settings.topic in names else []
        configs = await _configs(admin, settings.topic) if described else {}
    finally:
        await admin.close()
    if not described:
        return [_no_topic(settings)]
    partitions = len(described[0]["partitions"])
    records = await _newest(bootstrap, settings.topic, partitions)
    return [
        good("Kafka", f"topic {settings.topic} has {partitions} partition{'s' if partitions != 1 else ''}"),
        _rejected(settings, names),
        _timestamps(settings, configs, records),
        _replicas(described[0]["partitions"]),
        _retention(settings, configs),
        _partitioning(settings, partitions, records),
        _keys(settings, records),
    ]


def _no_topic(settings: Settings) -> Finding:
    if settings.create_topics:
        return advice(
            "Kafka", f"there is no topic {settings.topic} yet", "start the roles: ingest and persist make it"
        )
    return wrong(
        "Kafka",
        f"there is no topic {settings.topic} and {variable('create_topics')} is false",
        f"create it with {settings.topic_partitions} partitions and message.timestamp.type=LogAppendTime",
    )


def _rejected(settings: Settings, names: set[str]) -> Finding:
    topic = rejected_topic(settings)
    if topic in names:
        return good("Kafka", f"topic {topic} is there for refused records")
    if settings.create_topics:
        return advice("Kafka", f"there is no topic {topic} yet", "start the role persist: it makes it")
    return wrong("Kafka", f"there is no topic {topic}, so persist stops at the first bad record", "create it")


async def _configs(admin: Any, topic: str) -> dict[str, str]:
    """The topic's configuration; empty where the broker does not tell."""
    try:
        [answer] = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    except Exception:  # brokers that only look like Kafka answer this in their own ways
        return {}
    return {entry[0]: entry[1] for resource in answer.resources for entry in resource[4]}


async def _newest(bootstrap: list[str], topic: str, partitions: int) -> list[Any]:
    """The newest records of every partition, at most SAMPLE of each, as they come within SAMPLE_MS."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)
    await consumer.start()
    try:
        places = [TopicPartition(topic, number) for number in range(partitions)]
        consumer.assign(places)
        ends, begins = await consumer.end_offsets(places), await consumer.beginning_offsets(places)
        for place in places:
            consumer.seek(place, max(begins[place], ends[place] - SAMPLE))
        if all(ends[place] == begins[place] for place in places):
            return []
        batches = await consumer.getmany(*places, timeout_ms=SAMPLE_MS)
        return [record for batch in batches.values() for record in batch]
    finally:
        await consumer.stop()


def _timestamps(settings: Settings, configs: dict[str, str], records: list[Any]) -> Finding:
    kind = configs.get("message.timestamp.type")
    if kind is None and records:
        kind = "LogAppendTime" if records[-1].timestamp_type == LOG_APPEND_TIME else "CreateTime"
    remedy = (
        f"kafka-configs --alter --topic {settings.topic} --add-config message.timestamp.type=LogAppendTime"
    )
    if kind == "LogAppendTime":
        return good("Kafka", "message.timestamp.type LogAppendTime")
    if kind is None:
        return advice("Kafka", "the broker does not tell message.timestamp.type", remedy)
    return advice(
        "Kafka", f"message.timestamp.type {kind}: game servers' clocks decide which results count", remedy
    )


def _replicas(partitions: list[dict[str, Any]]) -> Finding:
    """How many copies the partition with the fewest has, and whether all of them are up to date."""
    fewest = min(len(partition["replicas"]) for partition in partitions)
    lagging = [it["partition"] for it in partitions if len(it["isr"]) < len(it["replicas"])]
    if lagging:
        return wrong(
            "Kafka",
            f"partitions {sorted(lagging)} have copies that are not up to date",
            "look at the brokers: one is away or cannot keep up",
        )
    if fewest > 1:
        return good("Kafka", f"{fewest} copies of every partition, all up to date")
    return advice(
        "Kafka",
        "one copy of a partition: a broker's disk that is lost takes the results along that nobody read yet",
        "run three brokers, with replication factor 3 and min.insync.replicas=2",
    )


def _retention(settings: Settings, configs: dict[str, str]) -> Finding:
    """How long the log keeps what persist has not read yet: an outage of PostgreSQL may last as long."""
    kept_ms = configs.get("retention.ms")
    if kept_ms is None:
        return advice(
            "Kafka", "the broker does not tell retention.ms", f"let it be {ENOUGH_MS} ms (a week) or more"
        )
    if kept_ms == "-1" or int(kept_ms) >= ENOUGH_MS:
        return good("Kafka", f"retention.ms {kept_ms}")
    hours = int(kept_ms) / 3_600_000
    return (wrong if hours < FEW_HOURS else advice)(
        "Kafka",
        f"retention.ms {kept_ms} ({hours:g} hours): results are lost where PostgreSQL is away for longer",
        f"kafka-configs --alter --topic {settings.topic} --add-config retention.ms={ENOUGH_MS}",
    )


def _partitioning(settings: Settings, partitions: int, records: list[Any]) -> Finding:
    keyed = [record for record in records if record.key is not None]
    strays = [
        record for record in keyed if (murmur2(record.key) & 0x7FFFFFFF) % partitions != record.partition
    ]
    if not strays:
        return good("Kafka", f"{len(keyed)} newest keyed records are in the partition of their key")
    first = strays[0]
    return wrong(
        "Kafka",
        f"{len(strays)} of {len(keyed)} records are in the wrong partition, the first with key {first.key!r} "
        f"in partition {first.partition} at {first.offset}",
        "let every producer use murmur2 (librdkafka: partitioner=murmur2_random); "
        "add partitions only when both consumers have drained the topic",
    )


def _keys(settings: Settings, records: list[Any]) -> Finding:
    """Whether the key of each well-formed record is its player id, as ingest and persist ask."""
    parsed = [(record, parse_value(record.value)) for record in records]
    results = [(record, raw) for record, raw in parsed if not isinstance(raw, Refusal)]
    strays = [(record, raw) for record, raw in results if record.key != b"%d" % raw.player_id]
    if not strays:
        return good("Kafka", f"{len(results)} newest results have their player id as key")
    record, raw = strays[0]
    text = f"{len(strays)} of {len(results)} results have another key than their player id, the first key "
    text += f"{record.key!r} for player {raw.player_id}"
    if settings.check_key:
        return wrong(
            "Kafka", f"{text}; they are refused (wrong_key)", "let game servers send the player id as key"
        )
    return advice("Kafka", text, "retries of one player may pass each other: send the player id as key")
