"""Answers that a client may already have: entity tags and 304.

Owns the comparison of `If-None-Match` (RFC 9110, section 13.1.2) and the headers of a cacheable answer.
Never knows what a tag stands for: boards use "epoch-version", files a hash of their bytes.
"""

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

_TAG = re.compile(r'(?:W/)?"([\x21\x23-\x7e\x80-\xff]*)"')
REVALIDATE = "no-cache"  # may be kept, must be asked for again


def has_current(if_none_match: str | None, tag: str) -> bool:
    """Whether the header names `tag` (unquoted), in a list, as a weak tag, or by `*`."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or tag in _TAG.findall(if_none_match)


def answer(request: Request[Any], body: bytes, tag: str, media_type: str = "application/json") -> Response:
    """200 with the body, or 304 without one when the client has it."""
    headers = {"etag": f'"{tag}"', "cache-control": REVALIDATE}
    if has_current(", ".join(request.headers.getlist("if-none-match")) or None, tag):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=media_type)
