"""The client while its server stops and another one comes: told when to come back, let in, and right again.

Reads need a token here, so that the client gives it on every line.
"""

import contextlib
import time
from pathlib import Path

import jwt
import pytest

from tests.browser.following import following
from tests.browser.game import PLAYER, game_at, make_season
from tests.browser.wire import wire
from tests.waiting import until
from tests.whole.running import running

SECRET = "a secret that only these tests and their server have"
QUICK = {
    "RANKCAST_BYE_RETRY_AFTER_MS": "100",
    "RANKCAST_BYE_JITTER_MS": "200",
    "RANKCAST_TOKEN_SECRET": SECRET,
}

pytestmark = [pytest.mark.timeout(240), pytest.mark.usefixtures("tools")]

Parts = tuple[str, str, str, str]


@pytest.fixture
def parts(redis_url: str, database_url: str, kafka_bootstrap: str, topic: str) -> Parts:
    """The services that a Rankcast stands on, in the order in which `running` takes them."""
    return redis_url, database_url, kafka_bootstrap, topic


async def test_a_server_that_stops_says_when_to_come_back(node: str, place: Path, parts: Parts) -> None:
    token = jwt.encode({"sub": "viewer", "exp": time.time() + 3600}, SECRET)
    async with wire(0) as line, contextlib.AsyncExitStack() as clients:
        async with running(place, *parts, **QUICK) as first, game_at(first.url, token) as game:
            line.target = int(first.url.rsplit(":", 1)[1])
            await make_season(first, place)
            client = following(node, line.url, "s12", PLAYER, TOKEN=token)
            follower = await clients.enter_async_context(client)
            await game.play(200)
            await until(lambda: game.shown_by(follower), within=30)
        await until(lambda: "shutdown" in [state["reason"] for state in follower.states], within=10)
        assert follower.state == "stale"
        rows = follower.rows()
        async with running(place, *parts, **QUICK) as second, game_at(second.url, token) as game:
            line.target = int(second.url.rsplit(":", 1)[1])
            await until(lambda: game.shown_by(follower), within=60)
            assert follower.rows() == rows
