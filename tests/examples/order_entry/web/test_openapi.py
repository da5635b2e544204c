"""The REST interface describes itself, for tools and for people, without a network."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from fastapi.openapi.models import OpenAPI

from order_entry.model import FOURTEEN
from order_entry.orders import Line, place_order
from order_entry.system import System
from order_entry.web.changes import CHANGES
from order_entry.web.questions import PATHS
from tests.examples.order_entry.web.front import curl, front, page


@pytest.fixture(scope="module")
def document(reader: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = reader.get("/openapi.json").json()
    return found


def operations(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(method, path): each for path, item in document["paths"].items() for method, each in item.items()}


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if "$ref" in value else set()
        return own.union(*map(references, value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


def test_the_document_is_openapi_and_its_references_lead_somewhere(document: dict[str, Any]) -> None:
    OpenAPI.model_validate(document)
    assert {f"#/components/schemas/{name}" for name in document["components"]["schemas"]} >= references(document)


def test_all_that_can_be_asked_and_changed_is_in_it(document: dict[str, Any]) -> None:
    found = operations(document).keys()
    expected = {("get", f"/api{path}") for path in PATHS.values()}
    expected |= {("post", f"/api{change.path}") for change in CHANGES.values()}
    expected |= {("post", "/api/orders"), ("put", "/api/orders/{order}/status")}
    assert found == expected
    assert len(FOURTEEN) + 1 == len(PATHS)


def test_each_operation_says_what_it_takes_gives_and_refuses(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for (method, path), operation in operations(document).items():
        assert operation["summary"], path
        good = {"get": "200", "put": "200", "post": "201"}[method]
        answer = operation["responses"][good]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        assert schemas[answer]["properties"], path
        problem = operation["responses"]["422"]["content"]["application/problem+json"]["schema"]["$ref"]
        assert problem.endswith("/Problem")
        assert all(
            each["in"] == "query" or each["examples"]["example"]["value"] for each in operation.get("parameters", ())
        ), path
        if method != "get":
            body = operation["requestBody"]["content"]["application/json"]
            assert body["examples"]["example"]["value"].keys() <= schemas_of(body, schemas).keys()


def schemas_of(body: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schemas[body["schema"]["$ref"].rpartition("/")[2]]["properties"]
    return found


def test_the_page_has_every_operation_and_a_command_for_it_that_works(document: dict[str, Any], system: System) -> None:
    """Works: is understood. What the examples name is not all there in this small business."""
    with front(system) as client:
        place_order(system.store, "C1", [Line("P1", "W1", 1)])
        shown = client.get("/api")
        text = page(shown).text
        for (method, path), operation in operations(document).items():
            assert path in text
            assert operation["summary"] in text
            assert method.upper() in text
        commands = re.findall(r"curl .*", text)
        assert len(commands) == len(operations(document))
        for command in commands:
            answered = curl(client, command)
            assert answered.status_code in {200, 201, 404, 422}, command
            if answered.status_code == 422:
                assert "There is no" in answered.json()["detail"], command
