"""What `doctor` looks at in Redis or Valkey: version, eviction, persistence, role."""

from typing import Any

from redis.asyncio import Redis

from server.board.connection import connect
from server.board.self_check import SelfCheckFailed, self_check
from server.commands.doctor import Finding, good, wrong
from server.settings import Settings

OLDEST = {"redis": (7, 0), "valkey": (8, 0)}


async def examine_redis(settings: Settings) -> list[Finding]:
    """The findings about `settings.redis_url`."""
    client = connect(settings.redis_url or "")
    try:
        info: dict[str, Any] = await client.info("everything")
        findings = [_version(info), _eviction(info), _persistence(info), _role(info)]
        if info["role"] == "master":
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
