"""Every setting of the process, read once from the environment.

Owns: names, defaults, bounds and explanations of settings; the README's table is made from them.
Never does: read files or the clock, or change after the start.
Neighbours: `cli.py` and `web/app.py` make one `Settings` and hand it on; nobody else reads the environment.
"""

import re
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import AliasChoices, Field, SecretStr, ValidationInfo, field_validator
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

_ADDRESSES = {
    "redis_url": (r"(redis|rediss|unix)://.+", "redis://host:6379/0"),
    "database_url": (r"postgres(ql)?://.*", "postgresql://user:password@host:5432/name"),
    "kafka_bootstrap": (r"[^\s,/]+(:\d+)?(,[^\s,/]+(:\d+)?)*", "host:9092 or host:9092,other:9092"),
}


class Settings(BaseSettings):
    """Settings by environment variable: `RANKCAST_<NAME>`, outside services by their usual names."""

    # an empty variable is one that is not set: compose files pass those on
    model_config = SettingsConfigDict(
        env_prefix="RANKCAST_", extra="ignore", frozen=True, env_ignore_empty=True
    )

    # -- outside services; each one that is not named is started by the process itself (`make run`)
    redis_url: str | None = Field(
        None,
        validation_alias=AliasChoices("REDIS_URL", "redis_url"),
        description="Redis or Valkey, `redis://…`; not named: `serve` starts one",
    )
    database_url: str | None = Field(
        None,
        validation_alias=AliasChoices("DATABASE_URL", "database_url"),
        description="PostgreSQL, `postgresql://…`; not named: `serve` starts one",
    )
    kafka_bootstrap: str | None = Field(
        None,
        validation_alias=AliasChoices("KAFKA_BOOTSTRAP_SERVERS", "kafka_bootstrap"),
        description="Kafka brokers, `host:port,…`; not named: `serve` starts one",
    )

    # -- the process
    host: str = Field("127.0.0.1", description="address that HTTP and WebSocket listen on")
    port: int = Field(
        8000, ge=0, le=65535, description="port that HTTP and WebSocket listen on; 0: a free one"
    )
    data_dir: Path = Field(Path(".rankcast"), description="where embedded services keep their data")
    api_key: SecretStr | None = Field(None, description="key that writes need; embedded stacks make one")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="debug, info, warning or error"
    )
    log_json: bool = Field(False, description="log lines as JSON, one an event")
    shutdown_grace_s: float = Field(10.0, gt=0, description="how long a stop may take to drain, in seconds")
    clock_tolerance_s: float = Field(
        5.0, gt=0, description="how far our clock may be from Redis's before that is logged, in seconds"
    )

    # -- the demo season
    demo: bool = Field(
        True, description="play football since 1872 as season 1; on a Kafka that is named only if set"
    )
    demo_speed: float = Field(
        10.0, gt=0, le=100_000, description="how fast the demo plays; 1: a match day each quarter of a second"
    )

    # -- Kafka
    topic: str = Field(
        "match-results", description="topic of the results; rejected ones go to `<topic>.rejected`"
    )
    topic_partitions: int = Field(8, ge=1, le=1024, description="partitions of the topic where we create it")
    create_topics: bool = Field(True, description="create missing topics")
    group_prefix: str = Field(
        "rankcast", description="consumer groups are `<prefix>-ingest` and `<prefix>-persist`"
    )
    check_key: bool = Field(True, description="refuse records whose key is not their player id (wrong_key)")
    fetch_max_records: int = Field(
        5000, ge=1, description="records of one partition that are handled at once"
    )
    fetch_max_bytes: int = Field(
        4_194_304, ge=65_536, description="bytes of one partition in one answer of the broker"
    )
    fetch_wait_ms: int = Field(
        100, ge=1, le=1000, description="how long Kafka may hold a read that has nothing yet, in milliseconds"
    )
    topic_replicas: int = Field(3, ge=1, description="copies of a topic that we create, at most one a broker")
    consumer_groups: bool = Field(
        True, description="share the partitions with other processes; off: this one reads all of them"
    )
    session_timeout_s: float = Field(
        10.0, ge=1, description="silence after which a consumer loses its partitions, in seconds"
    )
    max_poll_interval_s: float = Field(
        60.0, ge=1, description="longest time without reading before a consumer gives its partitions up"
    )
    delivery_timeout_s: float = Field(
        10.0, gt=0, description="how long Kafka may take to acknowledge a result, in seconds"
    )
    max_unsent: int = Field(
        50_000, ge=1, description="records that may wait for Kafka's acknowledgement in one process"
    )
    compression: Literal["none", "gzip", "lz4", "snappy", "zstd"] = Field(
        "none", description="how records are compressed that we send: none, gzip, lz4, snappy or zstd"
    )

    # -- Redis
    batch_max: int = Field(500, ge=1, le=500, description="results in one call of the submit script")
    marker_life_s: int = Field(3600, ge=2, description="how long a dedup marker lives, in seconds")
    log_length: int = Field(1000, ge=10, description="change log entries that a board keeps, about")
    applied_every_s: float = Field(1.0, gt=0, description="how often applied moves at least, in seconds")

    # -- PostgreSQL
    pool_size: int = Field(5, ge=1, le=100, description="PostgreSQL connections of a process")
    persist_batch_max: int = Field(5000, ge=1, le=20_000, description="results in one transaction")
    query_timeout_s: float = Field(30.0, gt=0, description="deadline of one PostgreSQL statement, in seconds")
    pool_wait_s: float = Field(
        5.0, gt=0, description="how long a call waits for a PostgreSQL connection, in seconds"
    )
    database_pooler: bool = Field(
        False, description="DATABASE_URL names a pooler in transaction mode: nothing is prepared for later"
    )

    # -- keeper
    keeper_every_s: float = Field(1.0, gt=0, description="how often the keeper looks at boards, in seconds")
    rebuild_chunk: int = Field(500, ge=1, le=3900, description="players in one call while a board is loaded")
    rebuild_lock_s: float = Field(
        30.0, gt=0, description="how long a killed rebuild keeps others away, in seconds"
    )

    cut_wait_s: float = Field(
        30.0, gt=0, description="how long reconcile and audit wait for persist to reach the board, in seconds"
    )
    reconcile_every_s: float = Field(
        3600.0, ge=0, description="how often boards are compared with PostgreSQL, in seconds; 0: never"
    )
    reconcile_repairs: bool = Field(True, description="reconcile by the clock repairs what differs")
    audit_every_s: float = Field(
        86_400.0,
        ge=0,
        description="how often rows, totals and board are audited by the clock, in seconds; 0: never",
    )

    # -- mirror
    mirror_check_s: float = Field(
        1.0, gt=0, description="how often a mirror looks where its board stands in Redis, in seconds"
    )
    mirror_timeout_s: float = Field(3.0, gt=0, description="deadline of one read of a mirror, in seconds")
    mirror_ready_s: float = Field(
        10.0,
        gt=0,
        description="how long a viewer waits for a board that is read for the first time, in seconds",
    )
    mirror_page: int = Field(500, ge=10, le=20_000, description="players in one read while a board is loaded")
    mirror_waiting_rows: int = Field(
        1_000_000, ge=1000, description="changes kept while a board is loaded; more come from the change log"
    )

    # -- push
    tick_ms: int = Field(100, ge=5, le=1000, description="longest tick of the top views, in milliseconds")
    around_tick_ms: int = Field(
        1000, ge=50, le=10_000, description="tick of around-me views, in milliseconds"
    )
    heartbeat_ms: int = Field(15_000, ge=100, description="silence after which a heartbeat is sent")
    write_deadline_s: float = Field(
        10.0, gt=0, description="a socket that takes nothing for so long is cut, 3008"
    )
    ping_every_s: float = Field(
        20.0, gt=0, description="silence of a socket after which it is pinged, in seconds"
    )
    pong_timeout_s: float = Field(
        20.0, gt=0, description="a socket that does not answer a ping for so long is cut, 3012"
    )
    close_timeout_s: float = Field(
        3.0, gt=0, description="a socket that does not answer a close for so long is cut, in seconds"
    )
    linger_s: float = Field(
        30.0, ge=0, description="how long a view without viewers keeps its positions, in seconds"
    )
    names_refresh_s: float = Field(
        60.0, gt=0, description="how often the names of watched rows are read again, in seconds"
    )
    bye_retry_after_ms: int = Field(
        1000, ge=0, description="least wait that a stopping server asks of viewers, in milliseconds"
    )
    bye_jitter_ms: int = Field(
        5000,
        ge=0,
        description="over how long they spread after that, in milliseconds; at least one a viewer",
    )
    first_subscription_s: float = Field(
        10.0, gt=0, description="a socket without a subscription is closed, 3502"
    )
    max_subscriptions: int = Field(32, ge=1, description="subscriptions a socket")
    max_limit: int = Field(1000, ge=1, description="largest limit of a top view")
    max_radius: int = Field(50, ge=0, description="largest radius of an around view")
    max_frame_bytes: int = Field(4096, ge=128, description="largest client frame")
    max_commands_s: int = Field(20, ge=1, description="client commands a second and socket")
    max_connections: int = Field(100_000, ge=1, description="sockets and streams a process holds")
    max_connections_per_address: int = Field(0, ge=0, description="sockets from one address; 0: no limit")
    outbox_bytes: int = Field(
        65_536, ge=1024, description="unsent bytes after which a socket is owed a version"
    )
    resume_positions: int = Field(64, ge=0, description="positions of a watched view that can be resumed")
    origins: Annotated[list[str], NoDecode] = Field(
        [], description="origins of pages that may connect, with commas between; empty: all"
    )
    token_secret: SecretStr | None = Field(
        None,
        description="HS256 secret of viewers' tokens, 32 bytes or more; none: reads are open",
    )

    # -- HTTP
    max_results_per_post: int = Field(1000, ge=1, description="results in one POST")
    max_body_bytes: int = Field(1_048_576, ge=1024, description="largest HTTP body")
    max_found: int = Field(20, ge=1, le=1000, description="largest limit of a search for players")
    searches_at_once: int = Field(2, ge=1, description="searches for players that PostgreSQL runs at once")
    max_searches: int = Field(
        100, ge=1, description="searches for players that run or wait; more are refused"
    )

    @field_validator("redis_url", "database_url", "kafka_bootstrap")
    @classmethod
    def _check_address(cls, value: str | None, info: ValidationInfo) -> str | None:
        pattern, example = _ADDRESSES[str(info.field_name)]
        if value is not None and not re.fullmatch(pattern, value):
            raise ValueError(f"it should look like {example}")
        return value

    @field_validator("origins", mode="before")
    @classmethod
    def _split_origins(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return [part.strip() for part in value.split(",") if part.strip()]


class SettingRow(NamedTuple):
    """One line of the settings table."""

    variable: str
    default: str
    meaning: str


def variable(field: str) -> str:
    """The environment variable of a field of `Settings`: what a refusal names beside the limit."""
    alias = Settings.model_fields[field].validation_alias
    if isinstance(alias, AliasChoices):
        return str(alias.choices[0])
    return f"RANKCAST_{field.upper()}"


def rows() -> list[SettingRow]:
    """Every setting in order, as the README's table has it."""
    return [
        SettingRow(variable(name), _shown(field.default), field.description or "")
        for name, field in Settings.model_fields.items()
    ]


def table() -> str:
    """The settings as a Markdown table."""
    lines = [f"| `{row.variable}` | {row.default} | {row.meaning} |" for row in rows()]
    return "\n".join(["| variable | default | meaning |", "| --- | --- | --- |", *lines])


def _shown(default: object) -> str:
    if default is None or default is PydanticUndefined or default == []:
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default}`"
