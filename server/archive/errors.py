"""What the archive raises: each says whether to try again, to read again, or to stop.

Owns: the exceptions and the one place where PostgreSQL's and the driver's errors become them.
Neighbours: `feed` and `keeper` act on them, `web` answers 503 `not_ready` for `ArchiveUnavailable`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from server.errors import RankcastError

_PASSING = (
    OSError,  # no connection
    TimeoutError,  # no connection of the pool, or no answer, within the deadline
    asyncpg.PostgresConnectionError,
    asyncpg.InternalClientError,  # the connection broke in the middle of an exchange
    asyncpg.InterfaceError,  # the connection was lost between two statements, or the pool is closing
    asyncpg.InsufficientResourcesError,  # disk full, out of memory, too many connections
    asyncpg.OperatorInterventionError,  # shut down, starting up, cancelled
    asyncpg.TransactionRollbackError,  # deadlock or serialisation
    asyncpg.ReadOnlySQLTransactionError,  # a standby that is about to be promoted
    asyncpg.PostgresSystemError,
    asyncpg.InvalidCachedStatementError,  # a migration went on meanwhile; the next try prepares anew
)


class ArchiveUnavailable(RankcastError):  # noqa: N818  a state of PostgreSQL, not an error of ours
    """PostgreSQL did not answer as it should: nothing is known of what was asked; try again after a while."""

    def __init__(self, reason: str) -> None:
        super().__init__("not_ready", reason)


class Fenced(Exception):  # noqa: N818  the rule is called the fence
    """A batch of persist that does not start where PostgreSQL stands; nothing of it was written.

    `found_log` is the log that PostgreSQL reads now (None: none yet), `found_offset` where this partition
    stands, None where it is not held. Where it stands at the batch's end, an earlier try of the batch may
    have been written.
    """

    def __init__(self, found_log: int | None, found_offset: int | None) -> None:
        super().__init__(f"PostgreSQL is at offset {found_offset} of log {found_log}")
        self.found_log = found_log
        self.found_offset = found_offset


class LogLeft(Exception):  # noqa: N818  the rule is called so
    """A log that PostgreSQL has left for another one, for ever; read the topic's identity again."""

    def __init__(self, log: int) -> None:
        super().__init__(
            f"log {log} was left for another one and is never read again: point this process at the topic "
            "that is read now or, if the old one is to come back, make it anew (nothing counts twice)"
        )
        self.log = log


class StoreRefused(Exception):  # noqa: N818  what PostgreSQL did
    """PostgreSQL refuses a batch for good, whoever asks and however often: nothing of it was written.

    Results that came this far are right, so something was done to the database: a constraint, a trigger, a
    right that was taken away. The message is PostgreSQL's own.
    """


class SeasonAppeared(Exception):  # noqa: N818  says what happened
    """Seasons that records of a batch were refused for lack of stand by now; judge those records again."""

    def __init__(self, season_ids: list[int]) -> None:
        super().__init__(f"seasons {season_ids} stand by now")
        self.season_ids = season_ids


class SeasonDiffers(RankcastError):  # noqa: N818  says what is the matter
    """A season of this id stands with another definition; `differences` has a line per field."""

    def __init__(self, season_id: int, differences: list[str]) -> None:
        super().__init__(
            "season_differs",
            f"season {season_id} stands already, and its definition is final: {'; '.join(differences)}",
        )
        self.differences = differences


@contextmanager
def refusals_named(*, of_rows: bool) -> Iterator[None]:
    """Raise `StoreRefused` for what is no passing fault; one that is of no rows is waited out."""
    try:
        yield
    except (asyncpg.PostgresError, ValueError) as fault:
        message = (str(fault) or type(fault).__name__).splitlines()[0]
        if not of_rows:
            raise ArchiveUnavailable(f"PostgreSQL: {type(fault).__name__}: {message}") from fault
        raise StoreRefused(f"{type(fault).__name__}: {message}") from fault


@contextmanager
def passing_faults_named() -> Iterator[None]:
    """Raise `ArchiveUnavailable` for faults of PostgreSQL and of the way to it; let all others through."""
    try:
        yield
    except _PASSING as fault:
        if isinstance(
            fault, ValueError
        ):  # the driver's word for a value that it cannot send: trying again is no use
            raise
        text = str(fault) or "no answer within the deadline"
        raise ArchiveUnavailable(f"PostgreSQL: {type(fault).__name__}: {text}") from fault
