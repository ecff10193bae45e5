"""Whether a topic is still the log that it was when a client connected to send to it.

For brokers that give producers no ids, as the embedded one: a client that slept through such a broker's
restart sends to a topic that is not there any more, and it is acknowledged all the same. So nothing is handed
to its client before the broker was asked, a moment ago, which log the topic is.
Never does: send. Neighbours: `producer.py` asks; `identity.py` knows how.
"""

import time

from server.feed.identity import LogState, TopicWatch

FRESH_SECONDS = 0.02  # no broker ends and starts again within


class SameLog:
    """The log that a topic was at the first look; each look raises BrokerAway and TopicMissing."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._watch = TopicWatch(bootstrap, topic)
        self._first: LogState | None = None
        self._looked_at = 0.0

    async def holds(self) -> bool:
        """Whether it is the same one now."""
        if time.monotonic() - self._looked_at < FRESH_SECONDS:
            return True
        state = await self._watch.look()
        self._first = self._first or state
        self._looked_at = time.monotonic()
        return state == self._first

    async def close(self) -> None:
        """Close the connection."""
        await self._watch.close()
