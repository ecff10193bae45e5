"""PostgreSQL's word where a marker may be missing: positions, and how far persist is behind (A13)."""

import time

import pytest

from server.archive.logs import Evidence
from server.archive.store import Archive
from server.core.log_identity import LogIdentity
from server.metrics import Metrics
from server.settings import Settings
from tests.flow.archives import HOUR_US, append, match, new_log, result, season
from tests.waiting import until


@pytest.fixture
async def log(archive: Archive) -> int:
    """A held log of two partitions with matches 1 and 2 of player 7 at offsets 0 and 1 of partition 0."""
    await archive.create_season(season(12))
    log = await new_log(archive, partitions=2)
    await append(archive, log, result(1, 7, 10), result(2, 7, 20))
    return log


async def test_a_result_is_elsewhere_where_its_row_was_read_at_another_position(
    archive: Archive, log: int
) -> None:
    records = [(match(1), 7, 0), (match(1), 7, 5), (match(2), 7, 0), (match(1), 8, 0), (match(3), 7, 1)]
    assert (await archive.ask(log, 0, 12, records)).elsewhere == [False, True, True, False, False]
    assert (await archive.ask(log, 1, 12, records)).elsewhere == [True, True, True, False, False]
    other = await archive.log_number(LogIdentity("B", "match-results", ""))
    assert (await archive.ask(other, 0, 12, records)).elsewhere == [True, True, True, False, False]


async def test_postgresql_says_how_far_it_has_read_this_very_log(archive: Archive, log: int) -> None:
    other = await archive.log_number(LogIdentity("B", "match-results", ""))
    positions = [
        (await archive.ask(*where, 12, [])).sql_next for where in ((log, 0), (log, 1), (log, 2), (other, 0))
    ]
    assert positions == [2, 0, -1, -1]


async def behind(archive: Archive, log: int, evidence: Evidence) -> bool:
    """Whether persist is half a marker's life behind, once it brought this evidence and no other."""
    start = (await archive.next_offsets(log))[0]
    await archive.store(log, 0, start, start, [], evidence=evidence)
    return (await archive.ask(log, 0, 12, [])).behind


async def test_persist_counts_as_behind_until_it_shows_that_it_is_not(archive: Archive, log: int) -> None:
    assert await behind(archive, log, Evidence())
    assert await behind(archive, log, Evidence(timestamp_us=1_000_000))
    assert await behind(archive, log, Evidence(at_end_ago_us=HOUR_US // 2 + 1_000_000))
    assert not await behind(archive, log, Evidence(at_end_ago_us=HOUR_US // 2 - 60_000_000))


async def test_a_persist_that_stood_still_before_it_told_does_not_vouch_for_that_time(
    archive: Archive, log: int
) -> None:
    an_hour_ago = time.monotonic() - 3600
    assert await behind(archive, log, Evidence(at_end_ago_us=0, told_s=an_hour_ago))
    assert not await behind(archive, log, Evidence(at_end_ago_us=0, told_s=time.monotonic()))


async def test_a_recent_record_shows_that_persist_is_not_behind(archive: Archive, log: int) -> None:
    assert not await behind(archive, log, Evidence(timestamp_us=4_000_000_000_000_000))


async def test_what_was_shown_once_is_not_taken_back_by_older_evidence(archive: Archive, log: int) -> None:
    assert not await behind(archive, log, Evidence(at_end_ago_us=0))
    assert not await behind(archive, log, Evidence(timestamp_us=0, at_end_ago_us=100 * HOUR_US))


async def test_a_record_dated_ahead_shows_no_more_than_the_present(
    archive: Archive, log: int, database_url: str
) -> None:
    short = await Archive.connect(database_url, Settings(marker_life_s=2), Metrics())
    assert not await behind(short, log, Evidence(timestamp_us=4_000_000_000_000_000))

    async def is_behind() -> bool:
        return (await short.ask(log, 0, 12, [])).behind

    await until(is_behind, within=5)  # half of two seconds pass on PostgreSQL's clock
    await short.close()
