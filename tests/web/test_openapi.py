"""The OpenAPI document: every call is in it, all that it says holds, and its examples are true."""

import re
from typing import Any

import msgspec
import pytest
from starlette.routing import Route

from server import __version__
from server.errors import KINDS
from server.settings import Settings
from server.web import openapi
from server.web.app import BOARD_OPERATIONS, create_app
from server.web.life import Life
from server.web.operation import Operation
from server.web.routes import docs, health, pages
from server.web.shapes import Problem

OPERATIONS = docs.with_description((*BOARD_OPERATIONS, *health.OPERATIONS), __version__)
DOCUMENT = openapi.document(OPERATIONS, __version__)
NOT_CALLS = {*pages.PAGES, "/static/{name}", "/problems/{code}", "/ws"}
BY_NAME = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)


def _told(operation: Operation) -> dict[str, Any]:
    told: dict[str, Any] = DOCUMENT["paths"][operation.path][operation.method.lower()]
    return told


def _references(value: object) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if "$ref" in value else []
        return own + [reference for child in value.values() for reference in _references(child)]
    if isinstance(value, list):
        return [reference for child in value for reference in _references(child)]
    return []


def test_every_route_is_described() -> None:
    routes = create_app(Settings(), frozenset({"web"}), Life()).routes
    served = {route.path_format for route in routes if isinstance(route, Route)}

    assert served - NOT_CALLS == set(DOCUMENT["paths"])


def test_the_document_says_what_it_is() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    assert DOCUMENT["info"]["title"] == "Rankcast"
    assert DOCUMENT["info"]["version"] == __version__


def test_every_reference_leads_somewhere() -> None:
    names = {reference.removeprefix("#/components/schemas/") for reference in _references(DOCUMENT)}

    assert names <= set(DOCUMENT["components"]["schemas"])


def test_no_two_operations_have_one_id() -> None:
    ids = [operation.name for operation in OPERATIONS]

    assert len(ids) == len(set(ids))


@BY_NAME
def test_the_parameters_of_an_address_are_those_described(operation: Operation) -> None:
    described = {it["name"] for it in _told(operation).get("parameters", []) if it["in"] == "path"}

    assert described == set(re.findall(r"{(\w+)}", operation.path))


@BY_NAME
def test_every_path_parameter_is_required_and_no_other_is(operation: Operation) -> None:
    for parameter in _told(operation).get("parameters", []):
        assert parameter["required"] is (parameter["in"] == "path")
        assert parameter["description"]


@BY_NAME
def test_every_answer_says_what_it_is(operation: Operation) -> None:
    responses = _told(operation)["responses"]

    assert any(status.startswith("2") for status in responses)
    assert all(response["description"] for response in responses.values())


@BY_NAME
def test_every_example_is_of_the_type_that_is_described(operation: Operation) -> None:
    contents = [answer.content for answer in operation.answers if answer.content]
    for content in [*contents, *([operation.body] if operation.body else [])]:
        if content.shape is not None:
            text = msgspec.json.encode(content.example)
            assert msgspec.json.decode(text, type=content.shape, strict=True) == content.example


@BY_NAME
def test_every_refusal_that_is_described_is_a_code_word_of_that_status(operation: Operation) -> None:
    for status, response in _told(operation)["responses"].items():
        problems = response.get("content", {}).get("application/problem+json", {}).get("examples", {})
        for code, example in problems.items():
            assert KINDS[code].status == int(status)
            msgspec.convert(example["value"], Problem, strict=True)


@BY_NAME
def test_a_write_needs_the_key_and_says_so(operation: Operation) -> None:
    assert ("security" in _told(operation)) is (operation.method in ("POST", "PUT"))


def test_a_process_without_boards_describes_its_health_alone() -> None:
    app = create_app(Settings(), frozenset({"ingest"}), Life())

    assert {route.path for route in app.routes if isinstance(route, Route)} == {
        "/healthz",
        "/readyz",
        "/metrics",
        "/openapi.json",
    }


def test_readiness_is_described_part_by_part() -> None:
    description = _told(next(it for it in OPERATIONS if it.name == "readyz"))["description"]
    parts = set(re.findall(r"`(\w+)`", description)) - {"needed"}

    assert parts == {"boards", "ingest", "kafka", "keeper", "persist", "postgres", "process", "redis"}
