"""Names of a board's keys in Redis; one season's share a hash tag, so that a cluster keeps them together.

Owns the names alone. Neighbours: `store.py` and `live/mirror.py` use them, the Lua scripts get them as KEYS.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BoardKeys:
    """Keys of a season's board or, with `rebuild_id`, of one that is being made beside it.

    The channel of events, the markers and all that concerns rebuilds are the season's in both cases.
    """

    season_id: int
    rebuild_id: str | None = None
    zset: str = field(init=False, repr=False, compare=False)
    _dedup: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        zset = self._season if self.rebuild_id is None else f"{self._season}:rebuild:{self.rebuild_id}"
        object.__setattr__(self, "zset", zset)
        object.__setattr__(self, "_dedup", f"{self._season}:dedup:")

    @property
    def _season(self) -> str:
        return f"lb:{{s{self.season_id}}}"

    @property
    def meta(self) -> str:
        return f"{self.zset}:meta"

    @property
    def applied(self) -> str:
        return f"{self.zset}:applied"

    @property
    def log(self) -> str:
        return f"{self.zset}:log"

    @property
    def board(self) -> tuple[str, str, str, str]:
        """Everything that makes up this board: ZSET, meta, applied, change log."""
        return self.zset, self.meta, self.applied, self.log

    @property
    def events(self) -> str:
        """The channel of the live board's events."""
        return f"{self._season}:events"

    @property
    def rebuilds(self) -> str:
        """SET of the rebuilds that have keys."""
        return f"{self._season}:rebuilds"

    @property
    def lock(self) -> str:
        """The id of the rebuild that may run."""
        return f"{self._season}:rebuild-lock"

    @property
    def lost(self) -> str:
        """Set while somebody waits for a rebuild of the live board."""
        return f"{self._season}:lost"

    @property
    def every_dedup(self) -> str:
        """Pattern of all the season's markers, as SCAN takes it."""
        return f"{self._dedup}*"

    def dedup(self, match_id: str, player_id: int) -> str:
        """The marker of one result, whichever board it was applied to."""
        return f"{self._dedup}{match_id}:{player_id}"
