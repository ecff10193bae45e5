"""Every refusal over HTTP as problem details (RFC 9457).

Owns the shape of a refusal and the handlers that turn exceptions into it, those of Starlette (404, 405) and
those that nobody expected (500) too. The code words and what they mean are `errors.py`'s.
Neighbours: `app.py` installs `HANDLERS`; routes raise `RankcastError` or `BadItemsError`.
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import HTTPExceptionHandler

from server.core.refusals import shown
from server.errors import KINDS, RankcastError

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "/problems/"
_CODE_OF_STATUS = {404: "not_found", 405: "method_not_allowed", 413: "body_too_big"}


class BadItem(TypedDict):
    """One refused item of a list: its place from 0, the code word and the reason."""

    index: int | str
    code: str
    reason: str


class BadItemsError(RankcastError):
    """A list was refused as a whole because of these items."""

    def __init__(self, code: str, reason: str, errors: Sequence[BadItem]) -> None:
        super().__init__(code, reason)
        self.errors = errors


def problem(
    code: str,
    reason: str,
    *,
    headers: Mapping[str, str] | None = None,
    errors: Sequence[BadItem] | None = None,
) -> Response:
    """The answer for one code word of `KINDS`; `errors` names the items that were refused."""
    kind = KINDS[code]
    body: dict[str, object] = {
        "type": TYPE_PREFIX + code,
        "title": kind.title,
        "status": kind.status,
        "detail": reason,
        "code": code,
        "retry": kind.retry,
    }
    if errors is not None:
        body["errors"] = errors
    extra = {"cache-control": "no-store", **(headers or {})}
    if kind.status == 401:
        extra["www-authenticate"] = "Bearer"
    if kind.status == 503:
        extra["retry-after"] = "1"
    return Response(orjson.dumps(body), kind.status, extra, MEDIA_TYPE)


async def _refusal(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RankcastError)
    errors = error.errors if isinstance(error, BadItemsError) else None
    return problem(error.code, error.reason, errors=errors)


async def _of_the_router(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _CODE_OF_STATUS.get(error.status_code, "bad_request")
    reasons = {
        "not_found": f"There is nothing at {shown(request.url.path)}",
        "method_not_allowed": f"{request.method} is not taken here; Allow names what is",
    }
    return problem(code, reasons.get(code, error.detail), headers=error.headers)


async def _gone(_request: Request, _error: Exception) -> Response:
    return problem("bad_request", "The client left before its request was whole")  # nobody reads it


async def _unexpected(_request: Request, _error: Exception) -> Response:
    return problem("internal", "The server could not answer; its log has the cause")


HANDLERS: dict[type[Exception], HTTPExceptionHandler] = {
    RankcastError: _refusal,
    HTTPException: _of_the_router,
    ClientDisconnect: _gone,
    Exception: _unexpected,
}
