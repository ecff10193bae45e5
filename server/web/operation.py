"""What one HTTP call is, in one place: its address, who answers it, and what OpenAPI tells of it.

Owns the types that `routes/` describe their calls with, and how calls become Starlette's routes: so no call
is served without being described, nor described without being served.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Handler = Callable[[Request[Any]], Awaitable[Response]]
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One value in the address or in a header; `schema` is JSON Schema."""

    name: str
    where: str  # path, query, header
    meaning: str
    schema: dict[str, object]
    example: object


@dataclass(frozen=True, slots=True)
class Content:
    """A body: its type (of `shapes.py`, None: text), an example and its media type."""

    shape: Any
    example: object
    media_type: str = JSON


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer; `etag` tells that it can be asked for with If-None-Match."""

    status: int
    meaning: str
    content: Content | None = None
    etag: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one address."""

    method: str
    path: str
    handler: Handler
    name: str
    tag: str
    summary: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: Content | None = None
    answers: tuple[Answer, ...] = ()
    problems: tuple[str, ...] = field(default=())  # code words of errors.KINDS
    needs_key: bool = False


def routes(operations: Iterable[Operation]) -> list[Route]:
    """One route an address, so that a refused method is told of all that the address takes."""
    by_path: dict[str, dict[str, Handler]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, {})[operation.method] = operation.handler
    return [Route(path, _by_method(handlers), methods=list(handlers)) for path, handlers in by_path.items()]


def _by_method(handlers: dict[str, Handler]) -> Handler:
    async def dispatch(request: Request[Any]) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await handlers[method](request)

    return dispatch
