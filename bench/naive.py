"""The naive way from Kafka to Redis, for comparison: a record is read, then its script is called.

Owns a consumer as one writes it first, and a script as one finds it: a marker that expires, the score, ranks
before and after, a message. It is not exact: what was written, and not yet committed when a process dies, is
counted by luck; whatever is lost in Redis stays lost. Nothing else runs beside it, which favours it.
Neighbour: `ingest.py` fills the topic and compares.
"""

import json
import time
from collections.abc import Iterable

from aiokafka import AIOKafkaConsumer, TopicPartition
from redis.asyncio import Redis

from server.board.connection import connect
from server.core.instants import parse_instant
from server.core.season import Season
from server.settings import Settings

SCRIPT = """
if not redis.call('SET', KEYS[2], '1', 'NX', 'EX', 86400) then return -1 end
local old = redis.call('ZSCORE', KEYS[1], ARGV[1])
local before = redis.call('ZREVRANK', KEYS[1], ARGV[1])
if ARGV[3] == 'sum' then
  redis.call('ZINCRBY', KEYS[1], ARGV[2], ARGV[1])
elseif not old or tonumber(ARGV[2]) > tonumber(old) then
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
else
  return 0
end
local after = redis.call('ZREVRANK', KEYS[1], ARGV[1])
redis.call('PUBLISH', KEYS[3], ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. (before or '') .. ' ' .. after)
return 1
"""
AT_ONCE = 500

Call = tuple[list[str], list[str | int]]
"""KEYS and ARGV."""


class Naive:
    """Reads a topic from `places` (offset by partition) on, which move with it."""

    def __init__(self, settings: Settings, places: dict[int, int]) -> None:
        self._settings, self._places = settings, places

    async def results_s(self, season: Season, count: int, *, pipelined: bool) -> float:
        """Results a second of so many, from the first read to the last answer of Redis."""
        topic = self._settings.topic
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self._settings.kafka_bootstrap, enable_auto_commit=False
        )
        consumer.assign([TopicPartition(topic, partition) for partition in self._places])
        await consumer.start()
        try:
            for partition, at in self._places.items():
                consumer.seek(TopicPartition(topic, partition), at)
            async with connect(self._settings.redis_url or "") as redis:
                sha = await redis.script_load(SCRIPT)
                began, left = time.monotonic(), count
                while left > 0:
                    records = [await consumer.getone() for _ in range(min(left, AT_ONCE))]
                    self._places |= {record.partition: record.offset + 1 for record in records}
                    work = self._piped if pipelined else self._one_by_one
                    await work(redis, sha, [call_of(season, record.value) for record in records])
                    left -= len(records)
                return count / (time.monotonic() - began)
        finally:
            await consumer.stop()

    async def _one_by_one(self, redis: Redis, sha: str, calls: Iterable[Call]) -> None:
        for keys, args in calls:
            await redis.evalsha(sha, len(keys), *keys, *args)

    async def _piped(self, redis: Redis, sha: str, calls: Iterable[Call]) -> None:
        async with redis.pipeline(transaction=False) as pipe:
            for keys, args in calls:
                pipe.evalsha(sha, len(keys), *keys, *args)
            await pipe.execute()


def call_of(season: Season, value: bytes) -> Call:
    """KEYS and ARGV of the script for a record."""
    fields = json.loads(value)
    player, points, achieved = fields["player_id"], fields["points"], parse_instant(fields["achieved_at"])
    assert isinstance(achieved, int)
    score = points if season.operator == "sum" else season.codec.encode(points, achieved)
    keys = ["naive:board", f"naive:dedup:{fields['match_id']}:{player}", "naive:events"]
    return keys, [player, score, season.operator]
