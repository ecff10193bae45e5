"""The last audit of a board by HTTP: from PostgreSQL, never from Redis."""

from server.board.connection import connect
from server.board.store import BoardStore
from server.keeper.audit import Auditor
from server.metrics import Metrics
from tests.waiting import until
from tests.web.conftest import Api, Running, submit


async def _audit(shared: Running, season: int) -> None:
    async def work() -> None:
        async with connect(shared.settings.redis_url or "") as redis:
            boards = BoardStore(redis, shared.settings, Metrics())
            await Auditor(shared.settings, Metrics(), shared.archive, boards, redis).audit(season)

    await shared.call(work())


async def test_a_board_that_was_never_audited_says_so_and_how(reader: Api) -> None:
    answer = await reader.http.get(f"/seasons/{reader.season}/leaderboard/audit")

    assert (answer.status_code, answer.json()["code"]) == (404, "never_audited")
    assert f"rankcast audit {reader.season}" in answer.json()["detail"]


async def test_a_season_that_is_not_there_has_no_audit(reader: Api) -> None:
    answer = await reader.http.get("/seasons/99999/leaderboard/audit")

    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_season")


async def test_the_last_audit_is_told_with_its_position_and_hash(shared: Running, rankcast: Api) -> None:
    await submit(rankcast, {1: 10, 2: 20, 3: 20})
    await _audit(shared, rankcast.season)

    answer = await rankcast.http.get(f"/seasons/{rankcast.season}/leaderboard/audit")
    told, top = answer.json(), (await rankcast.http.get(rankcast.top)).json()

    assert answer.headers["cache-control"] == "no-cache"
    assert (told["equal"], told["differences"], told["kinds"]) == (True, 0, {})
    assert (told["epoch"], told["version"], told["players"]) == (top["epoch"], top["version"], 3)
    assert told["sha256"] == told["sha256Sql"]


async def test_who_has_the_last_audit_is_told_so_until_there_is_another(
    shared: Running, rankcast: Api
) -> None:
    address = f"/seasons/{rankcast.season}/leaderboard/audit"
    await _audit(shared, rankcast.season)
    tag = (await rankcast.http.get(address)).headers["etag"]

    assert (await rankcast.http.get(address, headers={"if-none-match": tag})).status_code == 304

    await _audit(shared, rankcast.season)

    async def another() -> bool:
        return (await rankcast.http.get(address, headers={"if-none-match": tag})).status_code == 200

    await until(another, within=10)
