"""The two topics: results, and those that were refused. Made where they are missing, if the settings allow.

Owns: their names, partitions, copies and timestamps. Never does: change or delete a topic that is there.
Neighbours: `reader.py` and `producer.py` call it before they give up on a topic, `doctor` reports on topics.
"""

import structlog
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from server.feed.identity import BrokerAway
from server.settings import Settings

log = structlog.get_logger(__name__)

REQUEST_MS = 10_000
# what a record counts for depends on its timestamp, so the broker's clock sets it and no game server's
_TIMESTAMPS = {"message.timestamp.type": "LogAppendTime"}


def rejected_topic(settings: Settings) -> str:
    """The topic of refused records."""
    return f"{settings.topic}.rejected"


async def ensure_topics(settings: Settings) -> None:
    """Create the topics that are missing; those that are there stay as they are. Raises BrokerAway."""
    if settings.kafka_bootstrap is None or not settings.create_topics:
        return
    admin = AIOKafkaAdminClient(
        bootstrap_servers=settings.kafka_bootstrap.split(","), request_timeout_ms=REQUEST_MS
    )
    try:
        await admin.start()
        present = set(await admin.list_topics())
        copies = min(settings.topic_replicas, len((await admin.describe_cluster())["brokers"]))
        for topic in (
            NewTopic(settings.topic, settings.topic_partitions, copies, None, _TIMESTAMPS),
            NewTopic(rejected_topic(settings), 1, copies),
        ):
            if topic.name not in present:
                await _create(admin, topic)
    except (KafkaError, OSError, TimeoutError) as error:
        raise BrokerAway(f"topic {settings.topic} cannot be created: {error!r}") from error
    finally:
        await admin.close()


async def _create(admin: AIOKafkaAdminClient, topic: NewTopic) -> None:
    response = await admin.create_topics([topic], timeout_ms=REQUEST_MS)
    for name, code, *_ in response.topic_errors:
        error = for_code(code)
        if error is TopicAlreadyExistsError:
            continue
        if code:
            raise error(f"topic {name}")
        log.info("topic_created", topic=name, partitions=topic.num_partitions)
