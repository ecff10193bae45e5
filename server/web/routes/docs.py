"""`/openapi.json`: the description of every call that this process answers, itself included."""

from collections.abc import Iterable
from typing import Any

import orjson
from starlette.responses import Response

from server.web import assets, conditional, openapi
from server.web.operation import Answer, Content, Operation
from server.web.state import Request


def with_description(operations: Iterable[Operation], version: str) -> list[Operation]:
    """The operations and one more, which answers with the description of all of them."""

    async def describe(request: Request) -> Response:
        return conditional.answer(request, text, tag)

    own = Operation(
        "GET",
        "/openapi.json",
        describe,
        "openapi",
        "operations",
        "This description",
        answers=(
            Answer(
                200,
                "OpenAPI 3.1",
                Content(dict[str, Any], {"openapi": "3.1.0", "info": {}, "paths": {}}),
                etag=True,
            ),
            Answer(304, "the client has it (If-None-Match)"),
        ),
    )
    described = [*operations, own]
    text = orjson.dumps(openapi.document(described, version))
    tag = assets.tag_of(text)
    return described
