"""The Lua files of this folder, called by their SHA-1; a server that has forgotten them gets them again.

Owns EVALSHA, NOSCRIPT and what order means after it: a script that is missing in the middle of a pipeline is
sent whole, and so is everything after it in the same lane. Never looks into a reply: `store.py` does.
"""

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import structlog
from redis.asyncio import Redis
from redis.exceptions import NoScriptError, RedisError

from server.metrics import Metrics

log = structlog.get_logger(__name__)

Argument = str | bytes | int


@dataclass(frozen=True, slots=True)
class Script:
    """One Lua file: its text and the SHA-1 that servers know it by."""

    name: str
    text: str
    sha: str

    @classmethod
    def load(cls, name: str) -> "Script":
        """Read `<name>.lua`."""
        text = (files("server.board") / f"{name}.lua").read_text()
        return cls(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a script. Calls of one `lane` take effect in the order in which they were given."""

    script: Script
    keys: Sequence[str]
    args: Sequence[Argument]
    lane: Hashable = None


class Scripts:
    """Calls scripts over `redis`."""

    def __init__(self, redis: Redis, metrics: Metrics) -> None:
        self._redis = redis
        self._metrics = metrics
        self._known: set[str] = set()  # SHA-1s that the server has known

    async def run(self, script: Script, keys: Sequence[str], args: Sequence[Argument] = ()) -> Any:
        """One call's reply; an error reply is raised."""
        return (await self.run_many([Call(script, keys, args)]))[0]

    async def run_many(self, calls: Sequence[Call]) -> list[Any]:
        """Replies in the order of the calls, sent as one pipeline; the first error reply is raised.

        A server that answers NOSCRIPT gets that call, and those after it in its lane, once more with their
        text. A script has to bear that a later call of a lane came through before an earlier one.
        """
        replies = await self._send(calls, whole=False)
        unknown = _unknown(calls, replies)
        if unknown:
            self._tell_forgotten(calls, unknown)
            again = await self._send([calls[index] for index in unknown], whole=True)
            for index, reply in zip(unknown, again, strict=True):
                replies[index] = reply
        self._known.update(call.script.sha for call in calls)
        for reply in replies:
            if isinstance(reply, RedisError):
                raise reply
        return replies

    def _tell_forgotten(self, calls: Sequence[Call], unknown: Sequence[int]) -> None:
        """A script that the server has known was forgotten; one that it never had is no event."""
        if self._known.intersection(calls[index].script.sha for index in unknown):
            self._metrics.retries.labels("scripts", "NoScriptError").inc()
            log.info("scripts_sent_again", calls=len(unknown), of=len(calls))

    async def _send(self, calls: Sequence[Call], *, whole: bool) -> list[Any]:
        """Send calls by hash, or with their text, which the server then keeps."""
        async with self._redis.pipeline(transaction=False) as pipe:
            if whole:
                for text in {call.script.text for call in calls}:
                    pipe.script_load(text)  # EVAL alone would let newer servers forget it again
                loaded = len(pipe)
            for call in calls:
                if whole:
                    pipe.eval(call.script.text, len(call.keys), *call.keys, *call.args)
                else:
                    pipe.evalsha(call.script.sha, len(call.keys), *call.keys, *call.args)
            replies = await pipe.execute(raise_on_error=False)
        return replies[loaded:] if whole else replies


def _unknown(calls: Sequence[Call], replies: Sequence[Any]) -> list[int]:
    """Indexes of the calls whose script the server did not know, and of those that had to come after them."""
    lanes: set[Hashable] = set()
    indexes = []
    for index, (call, reply) in enumerate(zip(calls, replies, strict=True)):
        if isinstance(reply, NoScriptError) or call.lane in lanes:
            lanes.add(call.lane)
            indexes.append(index)
    return indexes
