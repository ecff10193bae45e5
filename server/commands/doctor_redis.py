"""What `doctor` looks at in Redis or Valkey: version, eviction, memory, persistence, role, clock."""

import time
from typing import Any

from redis.asyncio import Redis

from server.board.connection import connect
from server.board.self_check import SelfCheckFailed, self_check
from server.commands.doctor import Finding, advice, clock_finding, good, wrong
from server.settings import Settings

FULL = 0.85  # of maxmemory
OLDEST = {"redis": (7, 0), "valkey": (8, 0)}


async def examine_redis(settings: Settings) -> list[Finding]:
    """The findings about `settings.redis_url`."""
    client = connect(settings.redis_url or "")
    try:
        info: dict[str, Any] = await client.info("everything")
        looks = (_version, _eviction, _memory, _allocator, _persistence, _role)
        findings = [look(info) for look in looks]
        findings.append(await _clock(client, settings))
        if info["role"] == "master":
            findings.append(_replicas(info))
        if info["role"] == "master" and not _is_full(info):
            findings.append(await _exactness(client))
    finally:
        await client.aclose()
    return findings


def _version(info: dict[str, Any]) -> Finding:
    name = "valkey" if "valkey_version" in info else "redis"
    text = str(info[f"{name}_version"])
    oldest = OLDEST[name]
    found = tuple(int(part) for part in text.split(".")[:2])
    title = f"{name.capitalize()} {text}"
    if found >= oldest:
        return good("Redis", title)
    return wrong("Redis", f"{title} is too old", "run Redis 7.0 or later, or Valkey 8.0 or later")


def _eviction(info: dict[str, Any]) -> Finding:
    policy = info["maxmemory_policy"]
    if policy == "noeviction":
        return good("Redis", "maxmemory-policy noeviction")
    return wrong(
        "Redis",
        f"maxmemory-policy {policy}: under pressure Redis would throw boards away",
        "CONFIG SET maxmemory-policy noeviction, and in its configuration file",
    )


def _is_full(info: dict[str, Any]) -> bool:
    used, most = int(info["used_memory"]), int(info["maxmemory"])
    return most > 0 and used >= FULL * most


def _memory(info: dict[str, Any]) -> Finding:
    used, most = int(info["used_memory"]), int(info["maxmemory"])
    text = f"{used / 2**20:.0f} MiB used"
    if most == 0:
        return good("Redis", f"{text}, no limit (maxmemory)")
    if not _is_full(info):
        return good("Redis", f"{text} of {most / 2**20:.0f}")
    return wrong(
        "Redis",
        f"{text} of {most / 2**20:.0f}: at the limit it refuses writes, and boards stand still",
        "raise maxmemory: about 75 bytes a player and board, and 130 a result of the last hour",
    )


def _allocator(info: dict[str, Any]) -> Finding:
    name = str(info["mem_allocator"])
    if name.startswith("jemalloc"):
        return good("Redis", f"allocator {name}")
    return advice(
        "Redis",
        f"allocator {name}: single calls take some 40 ms when a board of a million players was replaced",
        "where that matters use a Redis or Valkey with jemalloc, as packages and images have it",
    )


def _replicas(info: dict[str, Any]) -> Finding:
    count = int(info["connected_slaves"])
    if count:
        return good("Redis", f"{count} replica{'s' if count != 1 else ''}")
    return advice(
        "Redis",
        "no replica: while Redis is away boards stand still, then are rebuilt if it comes back empty",
        "add a replica where that takes too long; no result is lost either way",
    )


async def _clock(client: Redis, settings: Settings) -> Finding:
    """This machine's clock beside Redis's."""
    seconds, microseconds = await client.time()
    return clock_finding("Redis", time.time() - seconds - microseconds / 1e6, settings)


def _persistence(info: dict[str, Any]) -> Finding:
    if int(info["aof_enabled"]) == 0:
        return wrong(
            "Redis",
            "append-only file off: a crash costs every board a rebuild",
            "CONFIG SET appendonly yes, and in its configuration file",
        )
    if info["aof_last_write_status"] != "ok":
        return wrong("Redis", "the last write to the append-only file failed", "look at its disk and its log")
    return good("Redis", "append-only file on")


async def _exactness(client: Redis) -> Finding:
    """Whether the server is what it says: the check of every start, on keys that no season has."""
    try:
        await self_check(client)
    except SelfCheckFailed as error:
        return wrong("Redis", f"it does not keep boards exactly: {error}", "run Redis or Valkey themselves")
    return good("Redis", "keeps scores to the last digit")


def _role(info: dict[str, Any]) -> Finding:
    if info["role"] == "master":
        return good("Redis", "takes writes")
    return wrong("Redis", f"it is a {info['role']}, which takes no writes", "let REDIS_URL name the primary")
