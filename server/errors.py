"""The one table of what can be refused: code words, what they mean to a caller, and the socket's close codes.

Owns: every code word that leaves the process (problem details, socket `error` frames) and every close code.
Never does: raise by itself, or know HTTP frameworks or sockets. Reason codes of results that are refused on
the way from Kafka live with their rules in `core/results.py`; HTTP repeats them in `errors`.
Neighbours: `web/problems.py` turns a `RankcastError` into RFC 9457, `live/session.py` into an `error` frame.
"""

from dataclasses import dataclass
from enum import IntEnum


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """One kind of refusal: HTTP `status`, a `title` for people, and whether trying again helps (`retry`)."""

    status: int
    title: str
    retry: bool = False


KINDS: dict[str, ErrorKind] = {
    "bad_json": ErrorKind(400, "The text is not JSON"),
    "bad_request": ErrorKind(400, "The request is not understood"),
    "bad_player": ErrorKind(400, "The player id is not a canonical 64-bit decimal"),
    "limit_too_big": ErrorKind(400, "The limit is above the largest that is served"),
    "radius_too_big": ErrorKind(400, "The radius is above the largest that is served"),
    "frame_too_big": ErrorKind(413, "The message is larger than is taken"),
    "body_too_big": ErrorKind(413, "The body is larger than is taken"),
    "batch_too_big": ErrorKind(413, "There are more results than one call may carry"),
    "unauthorized": ErrorKind(401, "This call needs the API key"),
    "permission_denied": ErrorKind(403, "This is not open to the caller"),
    "origin_refused": ErrorKind(403, "Pages of this origin may not connect"),
    "not_found": ErrorKind(404, "There is nothing at this address"),
    "unknown_season": ErrorKind(404, "There is no such season"),
    "unknown_board": ErrorKind(404, "There is no such board"),
    "unknown_view": ErrorKind(400, "There is no such view"),
    "unknown_op": ErrorKind(400, "There is no such operation"),
    "never_audited": ErrorKind(404, "The board has not been audited yet"),
    "unranked": ErrorKind(404, "The player is not ranked on this board"),
    "method_not_allowed": ErrorKind(405, "The address does not take this method"),
    "bad_results": ErrorKind(422, "At least one result is not valid; none was sent"),
    "bad_names": ErrorKind(422, "At least one name is not valid; none was saved"),
    "bad_season": ErrorKind(422, "The season's definition is not valid"),
    "season_differs": ErrorKind(409, "The season stands with another definition"),
    "not_subscribed": ErrorKind(400, "The socket holds no such subscription"),
    "too_many_subscriptions": ErrorKind(429, "The socket holds as many subscriptions as it may"),
    "too_many_requests": ErrorKind(429, "There were more requests than are taken", retry=True),
    "too_many_connections": ErrorKind(503, "The server holds as many connections as it may", retry=True),
    "bad_token": ErrorKind(401, "The token is not valid"),
    "token_expired": ErrorKind(401, "The token has expired", retry=True),
    "not_ready": ErrorKind(503, "The server is not ready to answer this", retry=True),
    "record_too_big": ErrorKind(413, "A record is larger than Kafka takes"),
    "log_unavailable": ErrorKind(503, "Kafka did not acknowledge in time", retry=True),
    "internal": ErrorKind(500, "Something went wrong on the server", retry=True),
}


class RankcastError(Exception):
    """A refusal with a code word of `KINDS` and a reason that names the value, the limit and the remedy."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason

    @property
    def kind(self) -> ErrorKind:
        """The row of the table that this refusal belongs to."""
        return KINDS[self.code]


class StartError(Exception):
    """The process cannot start or go on; the text is one line for a person, with the value and the remedy."""


class Close(IntEnum):
    """Close codes: 3000-3499 and 4000-4499 ask the client to come back with back-off, the others not to."""

    NORMAL = 1000
    GOING_AWAY = 1001
    PROTOCOL_ERROR = 1002
    UNSUPPORTED = 1003
    INVALID_TEXT = 1007
    TOO_BIG = 1009
    SHUTDOWN = 3001
    TOKEN_EXPIRED = 3005
    SLOW = 3008
    NO_PONG = 3012
    TOO_MANY_REQUESTS = 3013
    BAD_TOKEN = 3500
    BAD_REQUEST = 3501
    NO_SUBSCRIPTION = 3502
    CONNECTION_LIMIT = 3504
    SUBSCRIPTION_LIMIT = 3505
    PERMISSION_DENIED = 3507

    @property
    def reconnect(self) -> bool:
        """Whether a client may come back after this code."""
        return self in (Close.NORMAL, Close.GOING_AWAY) or self % 1000 < 500
