"""Results over HTTP on their way to Kafka: all of a request or none of it.

Owns the rules that a POST adds to those of a record (a list's length, the season of the address) and the wait
for Kafka. Never judges a result by itself: `core/results.py` does, as ingest and persist will again.
"""

import asyncio

from server.core.exact_json import Fields, load_exact
from server.core.refusals import Refusal
from server.core.results import Result, check, parse_fields, result_value
from server.core.season import Season
from server.errors import RankcastError
from server.feed.producer import ResultProducer
from server.settings import Settings, variable
from server.web.problems import BadItem, BadItemsError


def parse(body: bytes, season: Season, now_ms: int, settings: Settings) -> list[Result]:
    """The results of a body (one object or a list), every one of them valid at `now_ms` (Unix milliseconds).

    Raises RankcastError `bad_json` or `batch_too_big`, BadItemsError `bad_results` with every refused item.
    """
    items = load_exact(body)
    if isinstance(items, Refusal):
        raise RankcastError("bad_json", items.reason)
    if not isinstance(items, list):
        items = [items]
    if len(items) > settings.max_results_per_post:
        raise RankcastError(
            "batch_too_big",
            f"The list has {len(items)} results; at most {settings.max_results_per_post} are taken at once "
            f"({variable('max_results_per_post')})",
        )
    checked = [_check(item, season, now_ms) for item in items]
    errors = [
        BadItem(index=index, code=found.code, reason=found.reason)
        for index, found in enumerate(checked)
        if isinstance(found, Refusal)
    ]
    if errors:
        raise BadItemsError(
            "bad_results", f"{len(errors)} of {len(items)} results are refused; none was sent", errors
        )
    return [found for found in checked if isinstance(found, Result)]


def _check(item: object, season: Season, now_ms: int) -> Result | Refusal:
    if isinstance(item, Fields):
        name = "seasonId" if "matchId" in item else "season_id"
        item.setdefault(name, season.season_id)
    raw = parse_fields(item, text_ids=True)
    if isinstance(raw, Refusal):
        return raw
    if raw.season_id != season.season_id:
        return Refusal(
            "wrong_season", f"the result names season {raw.season_id}, the address season {season.season_id}"
        )
    return check(raw, season, None, now_ms, check_key=False)


class ResultWriter:
    """Hands results to Kafka and knows how many requests wait for it; without Kafka reads go on."""

    def __init__(self, producer: ResultProducer) -> None:
        self._producer = producer
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def write(self, results: list[Result]) -> None:
        """Return when Kafka has acknowledged all of them; else raise RankcastError `log_unavailable`."""
        self._under_way += 1
        self._idle.clear()
        try:
            await self._producer.send(
                [(b"%d" % result.player_id, result_value(result)) for result in results]
            )
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def idle(self) -> None:
        """Return when no request waits for Kafka."""
        await self._idle.wait()
