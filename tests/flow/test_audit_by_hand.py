"""What docs/audit.md tells outsiders to do: its SQL and its awk make the very hash that an audit prints."""

import asyncio
import hashlib
import re
from asyncio.subprocess import PIPE
from pathlib import Path

import asyncpg
import pytest
from redis.asyncio import Redis

from server.archive.store import Archive
from server.board.store import BoardStore
from server.core.season import Operator
from server.keeper.audit import Auditor
from server.metrics import Metrics
from tests.flow.both_sides import KEYS, BothSides, both_sides

IDS = [-(2**63), -10, -1, 0, 1, 9, 10, 100, 2**63 - 1]
PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "audit.md").read_text()


def block(language: str, word: str) -> str:
    """The one block of code of the page that has this word in it."""
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    (found,) = [each for each in blocks if word in each]
    return str(found)


@pytest.fixture(params=["best", "sum"])
async def sides(
    archive: Archive, boards: BoardStore, redis: Redis, request: pytest.FixtureRequest
) -> BothSides:
    """A board of all kinds of players, and rows beyond it."""
    operator: Operator = request.param
    sides = await both_sides(archive, boards, redis, operator, points_bits=5)
    maker = sides.maker
    await sides.both(*[maker.result(IDS[n % 9], n * 7 % 20 if n > 5 else 0, at=n % 3) for n in range(60)])
    await sides.store([maker.result(player, 31, at=-5) for player in (1, 77777)], 60)
    return sides


async def test_psql_makes_the_hash_of_an_audit_at_its_position(sides: BothSides, database_url: str) -> None:
    record = await Auditor(sides.settings, Metrics(), sides.archive, sides.boards, sides.redis).audit(12)
    assert record.equal
    query = block("sql", "in_order")
    variables = {":season": "12", ":log": str(record.log_id), ":'applied'": f"'{{{record.applied[0]}}}'"}
    for name, value in variables.items():  # as psql puts them in
        query = query.replace(name, value)
    connection = await asyncpg.connect(database_url)
    try:
        lines = [row[0] for row in await connection.fetch(query)]
    finally:
        await connection.close()
    assert hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest() == record.sha256_sql


async def test_redis_cli_and_awk_make_the_hash_of_a_board_that_stands_still(sides: BothSides) -> None:
    record = await Auditor(sides.settings, Metrics(), sides.archive, sides.boards, sides.redis).audit(12)
    script = "local r = redis.call('ZRANGE', KEYS[1], 0, -1, 'REV', 'WITHSCORES') return r"
    rows = await sides.redis.eval_ro(script, 1, KEYS.zset)
    raw = b"".join(each + b"\n" for each in rows)
    command = block("sh", "redis-cli").split("|\n", 1)[1]
    command = command.replace("1790812800000", str(sides.season.starts_us // 1000))
    shell = await asyncio.create_subprocess_exec("sh", "-c", command, stdin=PIPE, stdout=PIPE)
    told, _ = await shell.communicate(raw)
    assert told.split()[0].decode() == record.sha256_board
