"""A process from start to stop: roles, health, readiness, and what takes it down."""

import asyncio

import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families

from server.embedded.postgres import Postgres
from server.embedded.valkey import Valkey
from server.errors import StartError
from server.settings import Settings
from tests.waiting import until
from tests.web.conftest import SEASON_ID, Running, make_season, running, submit

ROLE_SETS = [{"web"}, {"ingest"}, {"persist"}, {"keeper"}, {"ingest", "persist"}, {"web", "keeper"}]


@pytest.mark.parametrize("roles", ROLE_SETS, ids=lambda roles: "+".join(sorted(roles)))
async def test_any_set_of_roles_starts_answers_for_its_health_and_stops(
    settings: Settings, roles: set[str]
) -> None:
    async with running(settings, frozenset(roles)) as process:
        health = await process.http.get("/healthz")
        metrics = await process.http.get("/metrics")

        async def ready() -> bool:
            return (await process.http.get("/readyz")).status_code == 200

        await until(ready, within=20)
        board = await process.http.get("/seasons")

    assert (health.status_code, health.json()) == (200, {"alive": True})
    assert "rankcast_results" in {family.name for family in text_string_to_metric_families(metrics.text)}
    assert board.status_code == (200 if "web" in roles else 404)


async def test_readiness_names_every_part(rankcast: Running) -> None:
    body = (await rankcast.http.get("/readyz")).json()

    assert set(body["parts"]) == {"boards", "ingest", "keeper", "persist", "postgres", "redis"}


async def test_postgresql_away_makes_the_process_not_ready_and_boards_are_still_served(
    settings: Settings, own_postgres: Postgres
) -> None:
    async with running(settings.model_copy(update={"database_url": own_postgres.address})) as process:
        await make_season(process)
        own_postgres.kill()

        async def unready() -> bool:
            answer = await process.http.get("/readyz")
            return answer.status_code == 503 and not answer.json()["parts"]["postgres"]["ready"]

        await until(unready, within=10)
        board = await process.http.get(f"/seasons/{SEASON_ID}/leaderboard/top")
        await own_postgres.start()

    assert board.status_code == 200


async def test_redis_away_makes_the_process_not_ready_and_boards_are_still_served(
    settings: Settings, own_valkey: Valkey
) -> None:
    async with running(settings.model_copy(update={"redis_url": own_valkey.address})) as process:
        await make_season(process)
        await submit(process, {1: 10})
        own_valkey.kill()

        async def unready() -> bool:
            answer = await process.http.get("/readyz")
            return answer.status_code == 503 and not answer.json()["parts"]["redis"]["ready"]

        await until(unready, within=10)
        board = await process.http.get(f"/seasons/{SEASON_ID}/leaderboard/top")
        await own_valkey.start()

    assert board.status_code == 200
    assert board.json()["total"] == 1


async def test_kafka_away_refuses_writes_and_serves_reads(settings: Settings) -> None:
    away = settings.model_copy(update={"kafka_bootstrap": "127.0.0.1:1", "delivery_timeout_s": 0.3})
    async with running(away, frozenset({"web", "keeper"})) as process:
        await process.server.lifespan.state["web"].archive.create_season(_season())
        answer = await process.http.post(
            f"/seasons/{SEASON_ID}/results", json=[_result()], headers=process.auth
        )
        seasons = await process.http.get("/seasons")

    assert (answer.status_code, answer.json()["code"]) == (503, "log_unavailable")
    assert answer.json()["retry"] is True
    assert seasons.status_code == 200


async def test_a_role_that_dies_takes_the_process_down(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(_self: object, _stop: asyncio.Event) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr("server.live.names.Names.run", dies)

    with pytest.raises(StartError, match="role names died: RuntimeError: out of luck"):
        async with running(settings, frozenset({"web"})) as process:
            await asyncio.wait_for(asyncio.shield(process.serving), 10)


async def test_a_role_that_ends_by_itself_takes_the_process_down(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ends(_self: object, _stop: asyncio.Event) -> None:
        return

    monkeypatch.setattr("server.live.names.Names.run", ends)

    with pytest.raises(StartError, match="role names ended by itself"):
        async with running(settings, frozenset({"web"})) as process:
            await asyncio.wait_for(asyncio.shield(process.serving), 10)


async def test_a_service_that_never_comes_up_is_one_clear_line(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.web.parts.START_SECONDS", 0.2)

    with pytest.raises(StartError, match="REDIS_URL"):
        async with running(settings.model_copy(update={"redis_url": "redis://127.0.0.1:1"})):
            pass


async def test_a_stop_first_brings_every_accepted_result_onto_the_board_and_into_postgresql(
    settings: Settings,
) -> None:
    async with running(settings) as process:
        await make_season(process)
        posts = [
            process.http.post(f"/seasons/{SEASON_ID}/results", json=[_result(player)], headers=process.auth)
            for player in range(50)
        ]
        answers = await asyncio.gather(*posts)
        assert {answer.status_code for answer in answers} == {202}

    async with running(settings, frozenset({"web"})) as process:
        stored = await process.server.lifespan.state["web"].archive.count(SEASON_ID)
        top = (await process.http.get(f"/seasons/{SEASON_ID}/leaderboard/top")).json()

    assert (stored, top["total"]) == (50, 50)


def _result(player: int = 1) -> dict[str, object]:
    return {
        "match_id": f"00000000-0000-4000-8000-{player:012d}",
        "player_id": player,
        "points": player,
        "achieved_at": "2024-05-01T00:00:00Z",
    }


def _season() -> object:
    from server.core.season import Season  # noqa: PLC0415
    from tests.web.conftest import season_definition  # noqa: PLC0415

    return Season.parse(orjson.loads(orjson.dumps(season_definition())), 0)
