"""What the README says of the protocol, held against a running server frame by frame."""

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.services import ROOT
from tests.whole.running import API_KEY, Running, running

README = (ROOT / "README.md").read_text()
SEASON = json.loads(re.findall(r"<<'END'\n(.*?)\nEND\n", README, re.DOTALL)[0])


def session() -> Iterator[tuple[str, Any]]:
    """The lines of the README's session: `>` client, `<` server, `+` a result, each with its JSON."""
    for block in re.findall(r"```rankcast\.v1\n(.*?)```", README, re.DOTALL):
        for line in block.splitlines():
            yield line[0], json.loads(line[2:])


@pytest.fixture
async def rankcast(
    place: Path, redis_url: str, database_url: str, kafka_bootstrap: str, topic: str
) -> AsyncIterator[Running]:
    """A running Rankcast with the README's season."""
    async with running(place, redis_url, database_url, kafka_bootstrap, topic) as found:
        file = place / "season.json"
        file.write_text(json.dumps(SEASON))
        await found.command("season", "create", str(file))
        yield found


async def test_the_protocol_session_of_the_readme_is_what_the_server_does(rankcast: Running) -> None:
    async with connect(rankcast.socket_url, subprotocols=["rankcast.v1"]) as socket:  # type: ignore[list-item]  # a NewType of str
        for mark, told in session():
            if mark == ">":
                await socket.send(json.dumps(told))
            elif mark == "+":
                await _post(rankcast, told)
            else:
                await _received(socket, told)


async def _post(rankcast: Running, result: dict[str, Any]) -> None:
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {API_KEY}"}) as client:
        answer = await client.post(
            f"{rankcast.url}/seasons/{SEASON['season_id']}/results",
            json=result | {"match_id": str(uuid.uuid4())},
        )
    assert answer.status_code == 202


async def _received(socket: ClientConnection, told: dict[str, Any]) -> None:
    """Read on to the frame that the README shows; its epoch is the board's own, the rest is the same."""
    seen: list[str] = []
    while True:
        try:
            frame = orjson.loads(await _next(socket))
        except TimeoutError:
            pytest.fail(f"no such frame came: {told}; but {seen}")
        seen.append(str(frame))
        if frame | {"epoch": None} == told | {"epoch": None}:
            return


async def _next(socket: ClientConnection) -> bytes:
    async with asyncio.timeout(30):
        return await socket.recv(decode=False)
