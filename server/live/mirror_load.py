"""Reads a whole board out of Redis, while it moves, into an index that equals the board at one version.

Owns what makes that exact: scores are read at different moments, so the changes between the first and the
last page are put over them, and the picture counts only from the last one on. Never touches what a mirror
serves meanwhile.
"""

import asyncio
from dataclasses import dataclass

import numpy as np

from server.core.board_event import BoardEvent
from server.core.member_order import Int64s
from server.core.order import OrderedIndex
from server.core.replica import Replica, merge_events
from server.live.board_source import BoardSource, Head


class BoardMovedError(Exception):
    """The board was replaced, or moved faster than could be followed, while it was read: read it again."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A picture of the board, exactly as it was at `head`."""

    head: Head
    index: OrderedIndex


async def load_board(source: BoardSource, replica: Replica, first: Head) -> Loaded:
    """Read the board whose head was `first` a moment ago. The replica's channel has to be subscribed before.

    The replica keeps the events that come meanwhile; drain it when the picture has been installed. Raises
    `BoardMovedError`, and what the source raises.
    """
    replica.forget()
    replica.recording = True
    try:
        pages = [page async for page in source.pages()]
        last = await source.head()
        if last is None or last.epoch != first.epoch or last.version < first.version:
            raise BoardMovedError("it was replaced")
        index = await asyncio.to_thread(index_of_pages, pages)
        changes = await _between(source, replica, first, last)
    finally:
        replica.recording = False
    index.apply(*merge_events(changes))
    if index.total != last.players:
        raise BoardMovedError(f"{index.total} players were read, there are {last.players}")
    return Loaded(last, index)


async def _between(source: BoardSource, replica: Replica, first: Head, last: Head) -> list[BoardEvent]:
    """Return the changes after the first head up to the last one, as heard or else from the change log."""
    events = replica.waiting(first.epoch, first.version, last.version)
    if events is None:
        events = await source.logged(first.epoch, first.version, last.version)
    if events is None:
        raise BoardMovedError("changes that were made meanwhile are not in the change log any more")
    return events


def index_of_pages(pages: list[tuple[Int64s, Int64s]]) -> OrderedIndex:
    """Make the index of all pages; of a player who was read twice the later score counts."""
    players = np.concatenate([page[0] for page in reversed(pages)])
    scores = np.concatenate([page[1] for page in reversed(pages)])
    ids = np.sort(players)
    if (ids[1:] == ids[:-1]).any():  # seldom, and finding the later ones takes thrice as long as this look
        players, first = np.unique(players, return_index=True)
        scores = scores[first]
    return OrderedIndex.from_arrays(players, scores)
