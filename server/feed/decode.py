"""From the records of a fetch to results by season, and to those that are refused.

Owns: the one way by which ingest, persist and a rebuild decide what counts: the record, its Kafka timestamp
and the season's definition, nothing else. An unknown season is looked up before its records are refused.
Never does: raise for any record; let the loop wait for longer than some hundred records take.
Neighbours: `reader.py` fetches, `apply.py` and `persist.py` use what comes out.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from server.core.results import RawResult, Refusal, Result, check, parse_value
from server.core.season import Season
from server.feed.partitioner import partition_of
from server.feed.reader import Fetch

SLICE = 500
FEW = 50
LOOKED_AT = 20

Peek = Callable[[int], Season | None]
Resolve = Callable[[Collection[int]], Awaitable[Mapping[int, Season]]]


@dataclass(slots=True)
class Share:
    """One season's results of a fetch; offsets belong to results and rise."""

    offsets: list[int] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def sort(self) -> None:
        """Put the results into the order of their offsets."""
        pairs = sorted(zip(self.offsets, self.results, strict=True), key=lambda pair: pair[0])
        self.offsets = [offset for offset, _ in pairs]
        self.results = [result for _, result in pairs]


@dataclass(slots=True)
class Decoded:
    """A fetch, decoded. `refused` holds aiokafka's records, `last_ms` the last one's Kafka timestamp.

    `unknown` are the seasons for lack of which records were refused.
    """

    partition: int
    start: int
    end: int
    shares: dict[int, Share] = field(default_factory=dict)
    refused: list[tuple[Any, Refusal]] = field(default_factory=list)
    unknown: set[int] = field(default_factory=set)
    last_ms: int | None = None
    misplaced: int = 0

    @property
    def taken(self) -> int:
        """How many results count."""
        return sum(len(share.results) for share in self.shares.values())

    def reasons(self) -> Counter[str]:
        """How many records were refused, by code word."""
        return Counter(refusal.code for _, refusal in self.refused)


async def decode(
    fetch: Fetch, peek: Peek, resolve: Resolve, *, check_key: bool, partitions: int | None = None
) -> Decoded:
    """Decode a fetch: `peek` knows seasons from memory, `resolve` looks up those that it does not know.

    With `partitions`, the first records are checked for lying where their keys belong.
    """
    decoded = Decoded(fetch.partition, fetch.start, fetch.end)
    records = fetch.records
    unknown: list[tuple[Any, RawResult]] = []
    for first in range(0, len(records), SLICE):
        some = records[first : first + SLICE]
        unknown += _decode(some, decoded, peek, check_key)
        if len(some) >= FEW:  # a turn of the loop may take longer than a few records
            await asyncio.sleep(0)
    if unknown:
        # one answer for the whole range: what covers the range must not have refused half of a season
        seasons = await resolve({raw.season_id for _, raw in unknown})
        _decode_unknown(unknown, decoded, seasons, check_key)
    if records:
        decoded.last_ms = records[-1].timestamp
    if partitions is not None:
        keys = [record.key for record in records[:LOOKED_AT] if record.key is not None]
        decoded.misplaced = sum(partition_of(key, partitions) != fetch.partition for key in keys)
    return decoded


def _decode(records: list[Any], decoded: Decoded, peek: Peek, check_key: bool) -> list[tuple[Any, RawResult]]:
    """Sort records into shares; return those whose season is not in memory."""
    shares, refused, unknown = decoded.shares, decoded.refused, []
    for record in records:
        raw = parse_value(record.value)
        if isinstance(raw, Refusal):
            refused.append((record, raw))
            continue
        season = peek(raw.season_id)
        if season is None:
            unknown.append((record, raw))
            continue
        result = check(raw, season, record.key, record.timestamp, check_key)
        if isinstance(result, Refusal):
            refused.append((record, result))
            continue
        share = shares.get(result.season_id)
        if share is None:
            share = shares[result.season_id] = Share()
        share.offsets.append(record.offset)
        share.results.append(result)
    return unknown


def _decode_unknown(
    unknown: list[tuple[Any, RawResult]],
    decoded: Decoded,
    seasons: Mapping[int, Season],
    check_key: bool,
) -> None:
    """Sort the records whose season had to be looked up into shares, each in its place."""
    touched = set()
    for record, raw in unknown:
        result = check(raw, seasons.get(raw.season_id), record.key, record.timestamp, check_key)
        if isinstance(result, Refusal):
            decoded.refused.append((record, result))
            if raw.season_id not in seasons:
                decoded.unknown.add(raw.season_id)
            continue
        share = decoded.shares.setdefault(result.season_id, Share())
        share.offsets.append(record.offset)
        share.results.append(result)
        touched.add(result.season_id)
    for season_id in touched:
        decoded.shares[season_id].sort()
