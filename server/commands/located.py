"""Where the services of a command are: what variables name, else what runs in the data folder.

Owns that rule and the one way in which a command fails: `CommandError`, one line with value and remedy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import asyncpg
from aiokafka.errors import KafkaError
from pydantic import SecretStr, ValidationError
from redis.exceptions import RedisError

from server.embedded import runfile
from server.errors import RankcastError, StartError
from server.feed.identity import BrokerAway, TopicMissing
from server.settings import Settings, variable

T = TypeVar("T")
Say = Callable[[str], None]


class CommandError(Exception):
    """A command cannot do its work; the text is one line for a person, `code` the exit code."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True)
class Located:
    """Settings with every address that is known, and the web server's address where a stack runs here."""

    settings: Settings
    http_url: str | None

    def need(self, *fields: str) -> Settings:
        """The settings, when they name these services; else CommandError says how to name them."""
        missing = [variable(field) for field in fields if getattr(self.settings, field) is None]
        if missing:
            raise CommandError(
                f"nothing runs in {self.settings.data_dir} and {' and '.join(missing)} "
                f"{'is' if len(missing) == 1 else 'are'} not set: start `rankcast serve` there, or name "
                f"{'it' if len(missing) == 1 else 'them'}"
            )
        return self.settings


def settings() -> Settings:
    """The settings of the environment; CommandError names the variable that holds something else."""
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0]).lower()
        name = variable(field) if field in Settings.model_fields else field.upper()
        value = "" if name.endswith("_URL") else f" is {first['input']!r}"  # they hold passwords
        message = first["msg"].removeprefix("Value error, ")
        raise CommandError(f"{name}{value}: {message[:1].lower()}{message[1:]}", 2) from None


def locate(known: Settings) -> Located:
    """Fill in what the variables leave open from the stack that runs in the data folder."""
    info = runfile.find_running(known.data_dir)
    if info is None:
        return Located(known, None)
    found = {
        "redis_url": known.redis_url or info.redis_url,
        "database_url": known.database_url or info.database_url,
        "kafka_bootstrap": known.kafka_bootstrap or info.kafka_bootstrap,
        "api_key": known.api_key or SecretStr(info.api_key),
    }
    return Located(known.model_copy(update=found), info.http_url)


def plainly(work: Callable[[], T]) -> T:
    """Do the work; what a service's client library raises becomes one line that names the service."""
    try:
        return work()
    except (RankcastError, StartError) as error:
        raise CommandError(str(error)) from error
    except RedisError as error:
        raise CommandError(
            f"Redis: {error or type(error).__name__} (is REDIS_URL right, and Redis up?)"
        ) from error
    except asyncpg.PostgresError as error:
        raise CommandError(f"PostgreSQL: {error} (is DATABASE_URL right?)") from error
    except (KafkaError, BrokerAway, TopicMissing) as error:
        raise CommandError(
            f"Kafka: {str(error) or type(error).__name__} (is KAFKA_BOOTSTRAP_SERVERS right, and Kafka up?)"
        ) from error
    except OSError as error:
        raise CommandError(str(error) or type(error).__name__) from error


def read_file(path: Path) -> bytes:
    """The bytes of a file that a person named; CommandError says why it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
