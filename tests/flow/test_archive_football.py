"""Real results in PostgreSQL: both files end in the expected board, sums in what the rows add up to."""

import json

import asyncpg
import pytest

from server.archive.results import Row
from server.archive.store import Archive
from server.core.results import Result, parse_record
from server.core.season import Season
from tests.core import football
from tests.flow.archives import new_log


async def replay(archive: Archive, season: Season, name: str) -> None:
    """Store the good lines of a file as persist does, their line numbers being the offsets."""
    await archive.create_season(season)
    log = await new_log(archive)
    lines = football.lines(name)
    for start in range(0, len(lines), 5_000):
        batch = lines[start : start + 5_000]
        parsed = [
            parse_record(line, None, football.NOW_MS, {season.season_id: season}.get, False) for line in batch
        ]
        rows: list[Row] = [(n, each) for n, each in enumerate(parsed, start) if isinstance(each, Result)]
        await archive.store(log, 0, start, start + len(batch), rows)


@pytest.mark.parametrize("name", ["results.jsonl.gz", "messy.jsonl.gz"])
async def test_real_results_end_in_the_expected_board(archive: Archive, name: str) -> None:
    season = football.season()
    await replay(archive, season, name)
    expected = json.loads((football.FOLDER / "expected_best.json").read_text())["rows"]
    rows = await archive.top(season.season_id, 1_000)
    days = [(total.achieved_us - season.starts_us) // season.tick_us for total in rows]
    assert [
        [rank, row.player_id, row.points, day]
        for rank, (row, day) in enumerate(zip(rows, days, strict=True), 1)
    ] == (expected)


async def test_real_sums_are_what_sql_computes_from_the_rows(archive: Archive, database_url: str) -> None:
    season = Season.parse(football.season().definition() | {"operator": "sum"}, 0)
    await replay(archive, season, "messy.jsonl.gz")
    connection = await asyncpg.connect(database_url)
    rows = await connection.fetch(
        "SELECT player_id, sum(points) AS points, max(date_trunc('day', achieved_at, 'UTC')) "
        "FILTER (WHERE points > 0) AS day FROM match_results GROUP BY player_id "
        'ORDER BY points DESC, day, player_id::text COLLATE "C" DESC'
    )
    await connection.close()
    totals = await archive.top(season.season_id, 1_000)
    assert [(row["player_id"], row["points"]) for row in rows] == [
        (row.player_id, row.points) for row in totals
    ]
    assert [row["day"].timestamp() for row in rows if row["day"]] == [
        row.achieved_us / 1_000_000 for row in totals if row.points
    ]
