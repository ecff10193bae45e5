"""D12: a rebuild of a large board beside five hundred viewers: nobody's pong waits behind the work.

Viewers are pinged after two silent seconds and have five to answer; they hear nothing but pings and
heartbeats, as nobody plays.
"""

import asyncio
from pathlib import Path

import asyncpg
import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from server.archive.store import Archive
from server.core.season import Season
from server.metrics import Metrics
from server.settings import Settings
from tests.waiting import until
from tests.whole.running import Running, running

PLAYERS = 200_000
VIEWERS = 500
SEASON = Season.parse(
    {"season_id": 12, "name": "Busy", "starts_at": "2024-01-01T00:00:00Z", "ends_at": "2100-01-01T00:00:00Z"},
    1_704_067_200_000_000,
)
PATIENCE = {
    "RANKCAST_PING_EVERY_S": "2",
    "RANKCAST_PONG_TIMEOUT_S": "5",
    "RANKCAST_CONSUMER_GROUPS": "false",
    "RANKCAST_RECONCILE_EVERY_S": "0",  # totals without rows would be found
    "RANKCAST_AUDIT_EVERY_S": "0",
}
_FILL = """
INSERT INTO player_totals (season_id, player_id, points, achieved_at)
SELECT 12, player, player % 2000000, '2024-05-01T00:00:00Z' FROM generate_series(1, $1) AS player"""


async def _filled(settings: Settings) -> None:
    archive = await Archive.connect(settings.database_url or "", settings, Metrics())
    await archive.migrate()
    await archive.create_season(SEASON)
    await archive.close()
    connection = await asyncpg.connect(settings.database_url)
    await connection.execute(_FILL, PLAYERS)
    await connection.close()


class _Viewer:
    """A socket on the top 10 that notes when it ends."""

    def __init__(self) -> None:
        self.epochs: list[str] = []
        self.ended: str | None = None

    async def watch(self, url: str) -> None:
        async with connect(
            url, subprotocols=[Subprotocol("rankcast.v1")], ping_interval=None, open_timeout=60
        ) as line:
            await line.send('{"id":1,"op":"subscribe","board":"s12","view":"top","limit":10}')
            try:
                async for message in line:
                    if '"type":"snapshot"' in str(message):
                        self.epochs.append(str(message).split('"epoch":"')[1][:16])
            except ConnectionClosed as end:
                self.ended = repr(end)
            self.ended = self.ended or f"{line.close_code} {line.close_reason}"


async def _total(process: Running) -> int:
    async with httpx.AsyncClient() as http:
        answer = await http.get(f"{process.url}/seasons/12/leaderboard/top?limit=1", timeout=30)
    return int(answer.json()["total"]) if answer.status_code == 200 else -1


@pytest.mark.timeout(400)
async def test_a_rebuild_of_a_large_board_makes_no_viewer_miss_its_pong(
    place: Path, redis_url: str, database_url: str, kafka_bootstrap: str, topic: str
) -> None:
    settings = Settings(redis_url=redis_url, database_url=database_url)
    await _filled(settings)
    async with running(place, redis_url, database_url, kafka_bootstrap, topic, **PATIENCE) as process:

        async def is_whole() -> bool:
            return await _total(process) == PLAYERS

        await until(is_whole, within=150, every=0.5)
        viewers = [_Viewer() for _ in range(VIEWERS)]
        watching = [asyncio.create_task(viewer.watch(process.socket_url)) for viewer in viewers]
        await until(lambda: all(viewer.epochs for viewer in viewers), within=60)

        await process.command("rebuild", "12")

        def has_new_board(viewer: _Viewer) -> bool:
            return viewer.ended is not None or len(set(viewer.epochs)) > 1

        await until(lambda: all(map(has_new_board, viewers)), within=120, every=0.2)
        assert {viewer.ended for viewer in viewers} == {None}
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
