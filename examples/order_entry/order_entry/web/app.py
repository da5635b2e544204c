"""The application: its pages, its REST interface, and what each of them says when something goes wrong.

    form or JSON ─▶ inputs.py ─▶ a pattern (questions.py) or a change (changes.py) ─▶ the table
                     what it may be                                                  │
    page or JSON ◀───────────────── site.py, answers.py ◀─────────────────────────────┘

Pages and the REST interface are two faces of the same declarations. Nothing is kept between requests but what is
offered in forms (`offers.py`) and what pages tell once (`receipts.py`)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.responses import Response

from order_entry.system import System
from order_entry.web import api, forms, pages, reference_page
from order_entry.web.follower import Follower
from order_entry.web.guards import LOCAL_NAMES, Guard
from order_entry.web.inputs import problems_of
from order_entry.web.problems import REFUSALS, Problem, Refusal, errors_of, problem, status_of
from order_entry.web.site import Site, site_of
from torusdb.modeling import BatchIncomplete, TransactionFailed

log = logging.getLogger("order_entry")

API: Final = "/api"
ABOUT: Final = "An order-entry and HR system in one DynamoDB table: its patterns, and what changes its data."
UNAVAILABLE: Final = (BotoCoreError, ClientError, TransactionFailed, BatchIncomplete)
"""A table that is somewhere else does not answer, or has more to do than it takes."""
FASTAPIS_OWN_PROBLEMS: Final = ("HTTPValidationError", "ValidationError")


def create_app(system: System, follower: Follower | None = None, names: Sequence[str] = LOCAL_NAMES) -> FastAPI:
    """`names`: by which browsers may ask for it."""
    app = FastAPI(title="Order entry", version="1", docs_url=None, redoc_url=None)
    app.state.site = Site(system, follower)
    app.include_router(pages.router)
    app.include_router(forms.router)
    app.include_router(api.router)
    app.include_router(reference_page.router)
    app.add_middleware(Guard, names=names)
    for kind in REFUSALS:
        app.add_exception_handler(kind, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    for error in UNAVAILABLE:
        app.add_exception_handler(error, _unavailable)
    app.add_exception_handler(Exception, _failed)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


def _is_api(request: Request) -> bool:
    return request.url.path.startswith(f"{API}/")


def _told(request: Request, status: int, message: str, errors: dict[str, str] | None = None) -> Response:
    if _is_api(request):
        return problem(status, message, errors)
    title = HTTPStatus(status).phrase
    return site_of(request).page(request, "error.html", status, title=title, message=message)


async def _refused(request: Request, refusal: Exception) -> Response:
    """By the REST interface; forms tell it themselves."""
    assert isinstance(refusal, Refusal)
    return _told(request, status_of(refusal), str(refusal), errors_of(refusal))


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    if any(each["type"] == "json_invalid" for each in error.errors()):
        return _told(request, HTTPStatus.BAD_REQUEST, "The body is not JSON")
    if any(each["loc"] == ("body",) for each in error.errors()) and not _says_json(request):
        message = "The body has to be JSON, and its Content-Type application/json"
        return _told(request, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, message)
    problems = problems_of(error.errors(), skip=1)
    text = "; ".join(f"{field}: {message}" if field else message for field, message in problems.items())
    return _told(request, HTTPStatus.UNPROCESSABLE_ENTITY, text, problems)


def _says_json(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = _told(request, error.status_code, str(error.detail))
    response.headers.update(error.headers or {})  # such as Allow
    return response


async def _unavailable(request: Request, error: Exception) -> Response:
    """The same request may well succeed later."""
    log.error("%s %s: %s", request.method, request.url.path, error)
    return _told(request, HTTPStatus.SERVICE_UNAVAILABLE, f"The database did not answer: {error}")


async def _failed(request: Request, error: Exception) -> Response:
    """A mistake of ours, which is raised on and comes into the log whole."""
    return _told(request, HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong here, and is in the server's log")


def _document(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=ABOUT, routes=app.routes)
        schemas = document["components"]["schemas"]
        schemas["Problem"] = Problem.model_json_schema()
        for name in FASTAPIS_OWN_PROBLEMS:
            schemas.pop(name, None)
        app.openapi_schema = document
    return app.openapi_schema
