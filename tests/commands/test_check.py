"""`rankcast audit` and `rankcast reconcile`: what they print, and their exit codes 0, 1 and 2."""

import asyncio
import sys
from collections.abc import AsyncIterator

import pytest

from server import cli
from server.archive.store import Archive
from server.board.connection import connect
from server.board.store import BoardStore
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.boards import ranked
from tests.flow.both_sides import KEYS, BothSides, both_sides


class Command:
    """Calls the command line in a thread, as a process of its own would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    async def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        self._monkeypatch.setattr(sys, "argv", ["rankcast", *arguments])
        self._capsys.readouterr()
        code = await asyncio.to_thread(self._call)
        told = self._capsys.readouterr()
        return code, told.out, told.err

    @staticmethod
    def _call() -> int:
        try:
            cli.main()
        except SystemExit as end:
            return int(end.code or 0)
        return 0


@pytest.fixture
def command(
    redis_url: str, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    values = {"REDIS_URL": redis_url, "DATABASE_URL": database_url, "RANKCAST_CUT_WAIT_S": "0.2"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return Command(monkeypatch, capsys)


@pytest.fixture
async def sides(redis_url: str, database_url: str) -> AsyncIterator[BothSides]:
    """The command has connections of its own."""
    settings, metrics = Settings(), Metrics()
    archive = await Archive.connect(database_url, settings, metrics)
    await archive.migrate()
    async with connect(redis_url) as redis:
        sides = await both_sides(archive, BoardStore(redis, settings, metrics), redis)
        await sides.both(*[sides.maker.result(player, player % 5) for player in range(30)])
        yield sides
    await archive.close()


async def test_an_audit_that_finds_all_equal_ends_with_0_and_prints_both_hashes(
    command: Command, sides: BothSides
) -> None:
    code, out, _ = await command.run("audit", "12")
    stored = await sides.archive.last_audit(12)
    assert stored is not None
    assert code == 0
    assert out.count(stored.record.sha256_board) == 2
    assert "Equal: every row, total, score and rank." in out
    assert f"epoch {stored.record.epoch}, version 2" in out


async def test_an_audit_that_finds_differences_ends_with_1_and_names_twenty(
    command: Command, sides: BothSides
) -> None:
    await sides.redis.zadd(KEYS.zset, {str(player): 5 for player in range(1000, 1030)})
    code, out, err = await command.run("audit", "12")
    assert (code, err) == (1, "")
    assert "NOT EQUAL: 30 differences." in out
    assert "extra: player 1029: Redis 0 points" in out
    assert "… and 10 more" in out


async def test_reconcile_ends_with_1_where_differences_remain_and_with_0_once_all_are_repaired(
    command: Command, sides: BothSides
) -> None:
    await sides.redis.zadd(KEYS.zset, {"7": 5, "4711": 5})
    code, out, _ = await command.run("reconcile", "12")
    assert code == 1
    assert "2 differences, 0 repaired, 2 left. Repair them with --repair." in out
    assert "score: player 7: Redis 0 points at" in out
    assert "extra: player 4711: Redis 0 points at" in out
    code, out, _ = await command.run("reconcile", "12", "--repair")
    assert (code, "2 differences, 2 repaired, 0 left." in out) == (0, True)
    code, out, _ = await command.run("reconcile", "12")
    assert (code, "Equal." in out) == (0, True)
    assert 4711 not in await ranked(sides.redis, sides.season)


@pytest.mark.parametrize("name", ["audit", "reconcile"])
async def test_what_cannot_be_found_out_ends_with_2_and_one_line(
    command: Command, sides: BothSides, name: str
) -> None:
    await sides.submit([sides.maker.result(1, 1)], 30)
    code, out, err = await command.run(name, "12")
    assert (code, out) == (2, "")
    assert err == (
        "rankcast: season 12: PostgreSQL has read partition 0 up to 30, the board up to 31; let persist run\n"
    )
    code, out, err = await command.run(name, "13")
    assert (code, out, err) == (2, "", "rankcast: there is no season 13; create it first\n")
