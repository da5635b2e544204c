"""The REST interface for people: its OpenAPI document as a page, rendered here, so that it works without a network."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from order_entry.web.site import Here

router = APIRouter(include_in_schema=False)

JSON: Final = "application/json"

Schema = dict[str, Any]


@router.get("/api")
def reference(request: Request, site: Here) -> HTMLResponse:
    document = request.app.openapi()
    return site.page(
        request,
        "reference.html",
        operations=_operations(document, str(request.base_url).rstrip("/")),
        schemas={
            name: [(field, type_of(member), member.get("description", "")) for field, member in _members(schema)]
            for name, schema in sorted(document["components"]["schemas"].items())
        },
    )


def _operations(document: Schema, base: str) -> dict[str, list[dict[str, Any]]]:
    """By tag."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            body = operation.get("requestBody", {}).get("content", {}).get(JSON, {})
            example = _example_of(body) if body else None
            found.setdefault(operation["tags"][0], []).append(
                {
                    "method": method.upper(),
                    "path": path,
                    "summary": operation["summary"],
                    "description": operation.get("description", ""),
                    "parameters": operation.get("parameters", []),
                    "body": type_of(body["schema"]) if body else None,
                    "answers": [_answer(status, each) for status, each in sorted(operation["responses"].items())],
                    "call": _call(base, method.upper(), path, operation.get("parameters", []), example),
                }
            )
    return found


def _answer(status: str, response: Schema) -> dict[str, str]:
    content: Schema = next(iter(response.get("content", {}).values()), {})
    return {"status": status, "type": type_of(content.get("schema", {})), "description": response["description"]}


def _call(base: str, method: str, path: str, parameters: list[Schema], body: Any) -> str:
    """A command to copy."""
    query = {}
    for each in parameters:
        if each["in"] == "path":
            path = path.replace(f"{{{each['name']}}}", quote(_example_of(each), safe=""))
        elif each["in"] == "query" and each["required"]:
            query[each["name"]] = _example_of(each)
    parts = ["curl"] + ([f"-X {method}"] if method != "GET" else [])
    parts.append(f"'{base}{path}{'?' + urlencode(query) if query else ''}'")
    if body is not None:
        parts += ["-H 'Content-Type: application/json'", f"-d '{json.dumps(body)}'"]
    return " ".join(parts)


def _example_of(parameter_or_body: Schema) -> Any:
    return parameter_or_body["examples"]["example"]["value"]


def _members(schema: Schema) -> list[tuple[str, Schema]]:
    return list(schema.get("properties", {}).items())


def type_of(schema: Schema) -> str:
    """In a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " or ".join(type_of(each) for each in schema[union])
    if schema.get("type") == "array":
        return f"list of {type_of(schema['items'])}"
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "const" in schema:
        return f'"{schema["const"]}"'
    return str(schema.get("format") or schema.get("type") or "")
