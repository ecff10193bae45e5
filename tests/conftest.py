"""Real services for all rings of tests: on free ports, started once a run when first asked for, always ended.

A test gets a clean part of them: `redis_url` is flushed, `database_url` is a database of its own, `topic` a
topic of its own. A test that breaks a service takes its own: `own_valkey`, `own_postgres`, `own_kafka`.
"""

import logging
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from redis import Redis

from server.embedded.postgres import Postgres
from server.embedded.tansu import Tansu
from server.embedded.valkey import Valkey
from tests import guardian, services

collect_ignore = ["faults"]  # takes minutes: `make test-faults` names it, and what is named is not ignored


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def pytest_configure() -> None:
    """SIGTERM ends a run as Ctrl-C does: with all fixtures torn down. A busy machine fails no property.

    Ctrl-C itself does so where a shell has made background jobs ignore it, too.
    """
    hypothesis_settings.register_profile(
        "rankcast", deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    hypothesis_settings.load_profile("rankcast")
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first, so that no process of a run is left alone with it at the end."""
    first = (
        "tests/whole/",
        "tests/model/test_model.py",
        "tests/browser/",
        "tests/cli/",
        "tests/flow/test_ingest",
    )
    items.sort(key=lambda item: next((n for n, path in enumerate(first) if item.nodeid.startswith(path)), 9))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """The same name for a case in every process of a run: random masks and instants of today vary."""
    varies = isinstance(val, bytes) or (isinstance(val, int) and val > 10**15)
    return argname if varies else None


@pytest.fixture(autouse=True)
def _logs_as_they_were() -> Iterator[None]:
    """Logging is the process's: what a test sets up ends with it."""
    root, configured = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.configure(**configured)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="session")
def services_folder() -> Iterator[Path]:
    """A folder that every account can pass (PostgreSQL may run as another one); what works in it is ended."""
    folder = Path(tempfile.mkdtemp(prefix="rankcast-tests-")).resolve()
    folder.chmod(0o755)
    watch = guardian.start(folder)
    yield folder
    assert watch.stdin is not None
    watch.stdin.close()
    watch.wait()


@pytest.fixture
def place(services_folder: Path) -> Iterator[Path]:
    """An empty folder for one test, reachable by every account."""
    folder = Path(tempfile.mkdtemp(dir=services_folder))
    folder.chmod(0o755)
    yield folder
    guardian.clear(folder)


@pytest.fixture(scope="session")
def valkey(services_folder: Path) -> Iterator[Valkey]:
    """The run's Valkey; most tests want `redis_url`."""
    server = Valkey(services_folder / "valkey", "test", durable=False)
    services.run(server.start())
    yield server
    server.kill()


@pytest.fixture
def redis_url(valkey: Valkey) -> str:
    """The URL of an empty Valkey without scripts."""
    with Redis.from_url(valkey.address) as client:
        client.flushall()
        client.script_flush()
    return valkey.address


@pytest.fixture
def own_valkey(place: Path) -> Iterator[Valkey]:
    """A Valkey of the test's own, with an append-only file: to kill, pause, restart or configure."""
    server = Valkey(place / "valkey", "test")
    services.run(server.start())
    yield server
    server.kill()


@pytest.fixture(scope="session")
def postgres(services_folder: Path) -> Iterator[Postgres]:
    """The run's PostgreSQL; most tests want `database_url`."""
    server = Postgres(services_folder / "postgres", durable=False)
    services.run(server.start())
    yield server
    server.kill()


@pytest.fixture
def database_url(postgres: Postgres) -> Iterator[str]:
    """The URL of an empty database of the test's own."""
    url = services.run(services.new_database(postgres.address))
    yield url
    services.run(services.drop_database(postgres.address, url))


@pytest.fixture
def own_postgres(place: Path) -> Iterator[Postgres]:
    """A PostgreSQL of the test's own: to kill, pause or restart."""
    server = Postgres(place / "postgres", durable=False)
    services.run(server.start())
    yield server
    server.kill()


@pytest.fixture(scope="session")
def kafka(services_folder: Path) -> Iterator[Tansu]:
    """The run's embedded broker; most tests want `kafka_bootstrap` and `topic`."""
    server = Tansu(services_folder / "kafka")
    services.run(server.start())
    yield server
    server.kill()


@pytest.fixture(scope="session")
def kafka_bootstrap(kafka: Tansu) -> str:
    """host:port of the embedded broker."""
    return kafka.address


@pytest.fixture
def topic(kafka_bootstrap: str) -> str:
    """A topic of the test's own on the embedded broker, with 4 partitions."""
    return services.run(services.new_topic(kafka_bootstrap))


@pytest.fixture
def own_kafka(place: Path) -> Iterator[Tansu]:
    """An embedded broker of the test's own: each start of it is an empty log with another cluster id."""
    server = Tansu(place / "kafka")
    services.run(server.start())
    yield server
    server.kill()


@pytest.fixture(scope="session")
def apache_kafka(services_folder: Path) -> Iterator[services.ApacheKafka]:
    """The run's Apache Kafka; skipped with the reason where Java or the jars are missing, never in CI."""
    services.ApacheKafka.require()
    server = services.ApacheKafka(services_folder / "apache-kafka")
    services.run(server.start())
    yield server
    server.kill()


@pytest.fixture(scope="session")
def apache_kafka_bootstrap(apache_kafka: services.ApacheKafka) -> str:
    """host:port of Apache Kafka."""
    return apache_kafka.address


@pytest.fixture
def apache_topic(apache_kafka_bootstrap: str) -> str:
    """A topic of the test's own on Apache Kafka, with 4 partitions."""
    return services.run(services.new_topic(apache_kafka_bootstrap))


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Chromium; skipped with the reason where there is none, never in CI."""
    return services.chromium_path()
