"""Each embedded service starts, keeps what it should keep, and ends without a trace."""

from pathlib import Path

import asyncpg
import psutil
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from redis.asyncio import Redis
from redis.exceptions import RedisError

from server.embedded.errors import EmbeddedError
from server.embedded.postgres import Postgres
from server.embedded.process import Service
from server.embedded.tansu import Tansu, cluster_id
from server.embedded.valkey import Valkey
from tests.services import run


async def partitions(bootstrap: str, topic: str) -> int:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        return len((await admin.describe_topics([topic]))[0]["partitions"])
    finally:
        await admin.close()


async def test_valkey_never_evicts_and_needs_the_password(redis_url: str) -> None:
    async with Redis.from_url(redis_url) as client:
        assert (await client.config_get("maxmemory-policy"))["maxmemory-policy"] == "noeviction"
    async with Redis.from_url(redis_url.replace(":test@", "")) as stranger:
        with pytest.raises(RedisError, match="authenticat"):
            await stranger.ping()


async def test_valkey_keeps_its_data_over_an_orderly_restart(own_valkey: Valkey) -> None:
    async with Redis.from_url(own_valkey.address) as client:
        await client.set("a", "1")
    await own_valkey.restart()
    async with Redis.from_url(own_valkey.address) as client:
        assert await client.get("a") == b"1"


async def test_postgres_keeps_committed_rows_over_a_kill(own_postgres: Postgres) -> None:
    connection = await asyncpg.connect(own_postgres.address)
    await connection.execute("CREATE TABLE t (a INT); INSERT INTO t VALUES (7)")
    own_postgres.kill()
    await own_postgres.start()
    again = await asyncpg.connect(own_postgres.address)
    assert await again.fetchval("SELECT a FROM t") == 7
    await again.close()
    connection.terminate()


async def test_each_test_has_a_database_of_its_own(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    assert await connection.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0
    await connection.close()


async def test_each_start_of_the_embedded_broker_is_another_cluster(own_kafka: Tansu) -> None:
    before = await cluster_id(own_kafka.port)
    await own_kafka.restart()
    assert await cluster_id(own_kafka.port) != before


async def test_a_topic_has_four_partitions_on_the_embedded_broker(kafka_bootstrap: str, topic: str) -> None:
    assert await partitions(kafka_bootstrap, topic) == 4


async def test_a_topic_has_four_partitions_on_apache_kafka(
    apache_kafka_bootstrap: str, apache_topic: str
) -> None:
    assert await partitions(apache_kafka_bootstrap, apache_topic) == 4


@pytest.mark.parametrize("kind", ["own_valkey", "own_postgres", "own_kafka"])
def test_a_stopped_service_leaves_no_process(kind: str, request: pytest.FixtureRequest) -> None:
    service: Service = request.getfixturevalue(kind)
    family = psutil.Process(service.pid).children(recursive=True)
    run(service.stop())
    assert service.exit_code == 0
    assert not [process for process in family if process.is_running()]


async def test_a_service_that_cannot_start_says_why(place: Path) -> None:
    holder = Valkey(place / "one", "test")
    await holder.start()
    second = Valkey(place / "two", "test")
    second.port = holder.port
    with pytest.raises(EmbeddedError, match=r"Valkey ended with code 1 while starting: .*in use"):
        await second.start()
    await holder.stop()
