"""The OpenAPI 3.1 document, made from the operations that are served and the types that are sent.

Owns how an `Operation` is written down. Never lists a call by itself, and never answers one.
Neighbours: `routes/docs.py` serves the document, `static/docs.js` shows it.
"""

import http
from collections.abc import Iterable
from typing import Any

import msgspec

from server.errors import KINDS
from server.web.operation import Answer, Content, Operation, Parameter
from server.web.problems import MEDIA_TYPE, TYPE_PREFIX
from server.web.shapes import Problem

_REF = "#/components/schemas/{name}"
_ETAG = {
    "description": 'the board\'s position, `"epoch-version"`; send it back as If-None-Match',
    "schema": {"type": "string"},
}


def document(operations: Iterable[Operation], version: str) -> dict[str, Any]:
    """The whole document, ready for JSON."""
    calls = list(operations)
    schemas, components = _schemas(calls)
    paths: dict[str, dict[str, Any]] = {}
    for operation in calls:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Rankcast",
            "version": version,
            "summary": "Leaderboards that push",
            "description": "Reads are open and answer from memory; writes need the API key. "
            "Changes are pushed by WebSocket (`/ws`, subprotocol `rankcast.v1`) or server-sent events.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "x-problems": {code: _problem(code) for code in KINDS},
            "securitySchemes": {
                "apiKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "RANKCAST_API_KEY of the server; `make run` makes one and prints it",
                }
            },
        },
    }


def _schemas(operations: list[Operation]) -> tuple[dict[int, dict[str, Any]], dict[str, Any]]:
    """The schema of each content, by its identity, and the components that they refer to."""
    contents = [content for operation in operations for content in _contents(operation)]
    described = [content for content in contents if content.shape is not None]
    types = [*(content.shape for content in described), Problem]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    return {id(content): schema for content, schema in zip(described, schemas, strict=False)}, components


def _contents(operation: Operation) -> list[Content]:
    answers = [answer.content for answer in operation.answers if answer.content is not None]
    return [*answers, *([operation.body] if operation.body else [])]


def _operation(operation: Operation, schemas: dict[int, dict[str, Any]]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.tag],
        "summary": operation.summary,
        "responses": {
            **{str(answer.status): _answer(answer, schemas) for answer in operation.answers},
            **_problems(operation.problems),
        },
    }
    if operation.description:
        told["description"] = operation.description
    if operation.parameters:
        told["parameters"] = [_parameter(parameter) for parameter in operation.parameters]
    if operation.body:
        told["requestBody"] = {"required": True, "content": _content(operation.body, schemas)}
    if operation.needs_key:
        told["security"] = [{"apiKey": []}]
    return told


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.where,
        "required": parameter.where == "path",
        "description": parameter.meaning,
        "schema": parameter.schema,
        "example": parameter.example,
    }


def _answer(answer: Answer, schemas: dict[int, dict[str, Any]]) -> dict[str, Any]:
    told: dict[str, Any] = {"description": answer.meaning}
    if answer.content:
        told["content"] = _content(answer.content, schemas)
    if answer.etag:
        told["headers"] = {"ETag": _ETAG}
    return told


def _content(content: Content, schemas: dict[int, dict[str, Any]]) -> dict[str, Any]:
    schema = {"type": "string"} if content.shape is None else schemas[id(content)]
    return {content.media_type: {"schema": schema, "example": msgspec.to_builtins(content.example)}}


def _problems(codes: tuple[str, ...]) -> dict[str, Any]:
    """One answer a status: the code words that it comes with, an example of each."""
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(KINDS[code].status, []).append(code)
    return {
        str(status): {
            "description": f"{http.HTTPStatus(status).phrase}: "
            + "; ".join(f"`{code}`: {KINDS[code].title}" for code in words),
            "content": {
                MEDIA_TYPE: {
                    "schema": {"$ref": _REF.format(name="Problem")},
                    "examples": {code: {"value": _problem(code)} for code in words},
                }
            },
        }
        for status, words in sorted(by_status.items())
    }


def _problem(code: str) -> dict[str, object]:
    kind = KINDS[code]
    return {
        "type": TYPE_PREFIX + code,
        "title": kind.title,
        "status": kind.status,
        "detail": kind.title,
        "code": code,
        "retry": kind.retry,
    }
