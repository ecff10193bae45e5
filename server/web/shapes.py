"""The bodies of answers, as types: what is sent and what OpenAPI says come from the same lines.

Owns names, order and meaning of the fields. Never reads a board: `routes/` fill them, `openapi.py` describes
them.
Times are whole Unix milliseconds, the start of the season's tick (before 1970: negative).
"""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

EXACT = 2**53 - 1  # integers up to here survive every JSON reader

PlayerId = Annotated[
    int | str,
    Meta(
        description="a signed 64-bit integer; a string where a JSON number would lose digits (above 2^53 - 1)"
    ),
]
Rank = Annotated[int, Meta(ge=1, description="from 1; every player has one of their own")]
Points = Annotated[int, Meta(ge=0)]
Milliseconds = Annotated[int, Meta(description="Unix milliseconds, the start of the season's tick")]
Total = Annotated[int, Meta(ge=0, description="players on the board")]
Epoch = Annotated[
    str | None, Meta(description="changes when the board was replaced; null: it is still being made")
]
Version = Annotated[int, Meta(ge=0, description="goes up by one with each change within an epoch")]


def player_on_wire(player: int) -> int | str:
    """The id as a number while every JSON reader keeps it exact, else as text."""
    return player if -EXACT <= player <= EXACT else str(player)


class Neighbour(Struct, rename="camel", frozen=True):
    """One row of the board around a player."""

    rank: Rank
    player_id: PlayerId
    points: Points


class Entry(Struct, rename="camel", frozen=True):
    """One row of the board."""

    rank: Rank
    player_id: PlayerId
    points: Points
    achieved_at: Milliseconds


class Top(Struct, rename="camel", frozen=True):
    """The best of a board at one position."""

    epoch: Epoch
    version: Version
    total: Total
    entries: list[Entry]


class PlayerEntry(Struct, rename="camel", frozen=True):
    """One player's row, among how many, and better than which share of them."""

    rank: Rank
    player_id: PlayerId
    points: Points
    achieved_at: Milliseconds
    total: Total
    percentile: Annotated[
        float,
        Meta(gt=0, le=100, description="share of the board's players at or below this rank, in percent"),
    ]


class Status(Struct, rename="camel", frozen=True):
    """How a board gets on."""

    epoch: Epoch
    version: Version
    total: Total
    results_per_second: Annotated[
        float | None,
        Meta(
            description="results that counted, over the last seconds, repeats left out; null: not known yet"
        ),
    ]
    lag_records: Annotated[
        int | None,
        Meta(description="records of the topic that the board has not read yet; null: not known"),
    ]
    refresh_ms: Annotated[
        int, Meta(ge=1, description="when to ask again; the more viewers there are the later")
    ]


Sha256 = Annotated[
    str, Meta(description="of the board's text, 64 hexadecimal digits", pattern="^[0-9a-f]{64}$")
]


class Audit(Struct, rename="camel", frozen=True):
    """What the last audit of a board found, as of one position in the log."""

    audited_at: Annotated[int, Meta(description="when it ended, Unix milliseconds")]
    equal: Annotated[bool, Meta(description="whether rows, totals and board agree on everything")]
    epoch: Annotated[str, Meta(description="of the board that was audited")]
    version: Version
    log: Annotated[int, Meta(description="number of the log that the position is in")]
    applied: Annotated[
        dict[str, int], Meta(description="partition to the next offset that the board had read up to")
    ]
    players: Total
    results: Annotated[int, Meta(ge=0, description="rows that PostgreSQL had then, those beyond too")]
    sha256: Sha256
    sha256_sql: Sha256
    differences: Annotated[int, Meta(ge=0)]
    kinds: Annotated[dict[str, int], Meta(description="differences by kind, those that there are")]
    seconds: Annotated[float, Meta(ge=0, description="how long it took")]


class FoundPlayer(Struct, rename="camel", frozen=True):
    """A player that a search found; rank and points on the board that was named, null where unranked."""

    player_id: PlayerId
    name: str | None
    rank: Rank | None = None
    points: Points | None = None


class FoundPlayers(Struct, frozen=True):
    """The player of that id first, then by name."""

    players: list[FoundPlayer]


class Accepted(Struct, rename="camel", frozen=True):
    """Kafka has acknowledged these results; the board follows a moment later."""

    accepted: Annotated[int, Meta(ge=1)]


class DemoTeam(Struct, rename="camel", frozen=True):
    """A team of one match."""

    player_id: PlayerId
    name: str
    goals: Annotated[int, Meta(ge=0)]


class DemoMatch(Struct, frozen=True):
    """One match of the newest match day, the one with the most goals."""

    home: DemoTeam
    away: DemoTeam


class DemoState(Struct, rename="camel", frozen=True):
    """Where the demo is."""

    phase: Annotated[str, Meta(description="starting, playing, paused, finished or restarting")]
    board: Annotated[str, Meta(description="the demo's board")]
    speed: Annotated[float, Meta(gt=0, description="1: a match day each quarter of a second")]
    speeds: Annotated[list[int], Meta(description="speeds that a page offers")]
    controls: Annotated[bool, Meta(description="whether the caller may pause, speed up and restart it")]
    day: Annotated[str | None, Meta(description="the newest match day that was played, YYYY-MM-DD")]
    first_day: str | None
    last_day: str | None
    match_day: Annotated[int, Meta(ge=0, description="match days played")]
    match_days: Annotated[int, Meta(ge=0, description="match days in all")]
    results: Annotated[int, Meta(ge=0, description="results played")]
    of: Annotated[int, Meta(ge=0, description="results in all")]
    match: DemoMatch | None


class DemoOrder(Struct, frozen=True, forbid_unknown_fields=True):
    """What the demo is to do; what is left out stays as it is."""

    speed: Annotated[float, Meta(gt=0, le=1000)] | UnsetType = UNSET
    paused: bool | UnsetType = UNSET
    restart: Annotated[bool, Meta(description="true: from the first day, on an empty board")] = False


class Saved(Struct, rename="camel", frozen=True):
    """These names are stored and told to every watcher."""

    saved: Annotated[int, Meta(ge=0)]


class SubmittedResult(Struct, frozen=True):
    """One match result; the Java shape (`matchId`, `playerId`, `secondsSinceSeasonStart`, …) is taken too."""

    match_id: Annotated[str, Meta(description="a UUID of 36 characters", min_length=36, max_length=36)]
    player_id: PlayerId
    points: Points
    achieved_at: Annotated[str, Meta(description="RFC 3339 with an offset")]
    season_id: Annotated[
        int | str | UnsetType, Meta(description="the season of the address; may be left out")
    ] = UNSET


class SeasonShape(Struct, frozen=True):
    """A season as it was defined."""

    season_id: int
    name: str
    starts_at: str
    ends_at: str
    operator: str
    points_bits: int
    time_bits: int
    tick: str
    time_zone: str
    counts_from: str
    grace: str
    board: Annotated[str, Meta(description="its name on the socket")]


class SeasonList(Struct, frozen=True):
    """Every season there is, by id."""

    seasons: list[SeasonShape]
    demo: Annotated[str | None, Meta(description="the board whose demo this process plays")] = None


class Part(Struct, frozen=True):
    """Whether one part can do its work, and why not."""

    ready: bool
    reason: str | None = None
    needed: Annotated[bool, Meta(description="whether the process cannot serve without it")] = True


class Readiness(Struct, frozen=True):
    """Whether the process can serve, part by part."""

    ready: bool
    parts: dict[str, Part]


class Alive(Struct, frozen=True):
    """The process runs."""

    alive: bool


class Refused(Struct, frozen=True):
    """One refused item of a list."""

    index: int | str
    code: str
    reason: str


class Problem(Struct, frozen=True):
    """Problem details (RFC 9457)."""

    type: Annotated[str, Meta(description="ends in the code word")]
    title: str
    status: int
    detail: Annotated[str, Meta(description="names the value, the limit and the remedy")]
    code: str
    retry: Annotated[bool, Meta(description="whether trying again helps")]
    errors: list[Refused] | UnsetType = UNSET
