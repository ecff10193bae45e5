"""A client's frame: from its text to a command, or to the reason why it is not understood.

Owns: the shape of client frames. Never does: raise for any text, or carry a command out.
Neighbours: `live/session.py` carries commands out and answers with the command's `id`.
"""

from dataclasses import dataclass

import orjson

from server.core.position import Position, position_of
from server.core.refusals import Refusal, shown
from server.core.topics import Limits, Topic, parse_topic

Id = int | str | None
_MAX_ID = 2**53 - 1
_MAX_ID_LENGTH = 64


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Join a topic; `have` is where the client is already."""

    id: Id
    topic: Topic
    have: Position | None


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """Leave the topic of this name."""

    id: Id
    topic: str


@dataclass(frozen=True, slots=True)
class Auth:
    """Take this token from now on."""

    id: Id
    token: str


@dataclass(frozen=True, slots=True)
class Ping:
    """Answer, that the client sees the line is alive."""

    id: Id


@dataclass(frozen=True, slots=True)
class Declined:
    """A frame that is no command: `code` of `server/errors.py`, the reason, the frame's id if it has one."""

    id: Id
    code: str
    reason: str


Command = Subscribe | Unsubscribe | Auth | Ping


def parse_command(text: str, limits: Limits) -> Command | Declined:
    """Return the command that a frame's text holds, or why it holds none."""
    try:
        fields = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return Declined(None, "bad_json", f"the frame is not JSON: {error}")
    if not isinstance(fields, dict):
        return Declined(None, "bad_request", f"the frame is {shown(fields)}; send an object with op and id")
    number = fields.get("id")
    if not _is_id(number):
        wanted = f"an integer of at most {_MAX_ID} or a text of at most {_MAX_ID_LENGTH} characters"
        return Declined(None, "bad_request", f"id is {shown(number)}; it has to be {wanted}")
    found = _command(number, fields, limits)
    return Declined(number, found.code, found.reason) if isinstance(found, Refusal) else found


def _is_id(value: object) -> bool:
    if type(value) is int:
        return abs(value) <= _MAX_ID
    return isinstance(value, str) and len(value) <= _MAX_ID_LENGTH


def _command(number: Id, fields: dict[str, object], limits: Limits) -> Command | Refusal:
    match fields.get("op"):
        case "subscribe":
            return _subscribe(number, fields, limits)
        case "unsubscribe":
            topic = fields.get("topic")
            return Unsubscribe(number, topic) if isinstance(topic, str) else _lacks("topic", topic)
        case "auth":
            token = fields.get("token")
            return Auth(number, token) if isinstance(token, str) else _lacks("token", "not shown")
        case "ping":
            return Ping(number)
        case other:
            known = "subscribe, unsubscribe, auth and ping"
            return Refusal("unknown_op", f"op is {shown(other)}; there are {known}")


def _subscribe(number: Id, fields: dict[str, object], limits: Limits) -> Subscribe | Refusal:
    topic = parse_topic(fields, limits)
    if isinstance(topic, Refusal):
        return topic
    have = fields.get("have")
    if have is None:
        return Subscribe(number, topic, None)
    position = position_of(have.get("epoch"), have.get("version")) if isinstance(have, dict) else None
    if position is None:
        wanted = 'a frame\'s epoch and version, as in {"epoch":"5f0c6e1d2a3b4c5d","version":7}'
        return Refusal("bad_request", f"have is {shown(have)}; send {wanted}")
    return Subscribe(number, topic, position)


def _lacks(field: str, value: object) -> Refusal:
    return Refusal("bad_request", f"{field} is {shown(value)}; it has to be a text")
