"""Pages that read: the start, one for each pattern, an order. Each shows what was sent for it."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse

from order_entry.model import SHARDS, Order, OrderItem, Sales, Status, quarter_of, table
from order_entry.orders import LINES_MAX, NEXT
from order_entry.web import shown
from order_entry.web.inputs import Refused
from order_entry.web.problems import REFUSALS, errors_of, status_of
from order_entry.web.questions import ORDER, QUESTIONS, ROWS_PER_PAGE, Question
from order_entry.web.site import DIRECTORY, Here, Site

router = APIRouter(include_in_schema=False)

ASK: Final = "ask"
"""In the address of a page that is to show an answer, not only the form with some values in it."""

ENTITIES: Final = [
    {
        "name": each.name,
        "keys": [
            {
                "index": (bound.index_name or "table") + (f" × {bound.shards}" if bound.shards > 1 else ""),
                "partition": bound.partition[0].template.source,
                "sort": bound.sort[0].template.source,
            }
            for bound in each.keys.values()
        ],
    }
    for each in table.entities.values()
]


@router.get("/")
def start(request: Request, site: Here) -> HTMLResponse:
    return site.page(request, "start.html", entities=ENTITIES, shards=SHARDS)


@router.get("/patterns/{name}")
def pattern(request: Request, site: Here, name: str) -> HTMLResponse:
    question = QUESTIONS.get(name)
    if question is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no pattern {name[:100]}")
    query = request.query_params
    given = {field: query[field] for field in question.input.model_fields if field in query}
    answer, problems, status, following = None, {}, HTTPStatus.OK, None
    if ASK in query:
        try:
            values = question.values(given)
            answer = question.ask(site.client, values, cursor=query.get("cursor"), rows=ROWS_PER_PAGE)
            following = answer.cursor and shown.url(request.url.path, {ASK: 1, **values, "cursor": answer.cursor})
        except REFUSALS as refusal:
            problems, status = errors_of(refusal), status_of(refusal)
    return site.page(
        request,
        "pattern.html",
        status,
        question=question,
        given=_with_offers(site, question, given, asked=ASK in query),
        offers=site.offers.all(),
        answer=answer,
        problems=problems,
        following=following,
        is_first="cursor" not in query,
        ask=ASK,
    )


def _with_offers(site: Site, question: Question, given: Mapping[str, str], *, asked: bool) -> dict[str, str]:
    """What stands in the form: what was given, and until something was asked, what makes sense to ask."""
    return {
        name: given.get(name, site.offers.first(name) if info.is_required() and not asked else "")
        for name, info in question.input.model_fields.items()
    }


@router.get("/orders/{number}")
def order(request: Request, site: Here, number: str) -> HTMLResponse:
    return show_order(request, site, number)


def show_order(
    request: Request, site: Site, number: str, *, problem: str | None = None, status: int = HTTPStatus.OK
) -> HTMLResponse:
    try:
        answer = ORDER.ask(site.client, ORDER.values({"order": number}), rows=LINES_MAX + 1)
    except Refused as refusal:
        raise HTTPException(status_of(refusal), str(refusal)) from refusal
    found = next((each for each in answer.rows if isinstance(each, Order)), None)
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no order {number[:100]}")
    quarter = quarter_of(found.placed)
    return site.page(
        request,
        "order.html",
        status,
        problem=problem,
        order=found,
        items=[each for each in answer.rows if isinstance(each, OrderItem)],
        answer=answer,
        question=ORDER,
        next_step=NEXT.get(found.status),
        may_cancel=found.status is Status.OPEN,
        quarter=quarter,
        sales=site.store.get(Sales, employee=found.representative, quarter=quarter),
    )


@router.get("/style.css")
def style() -> FileResponse:
    return FileResponse(DIRECTORY / "style.css", media_type="text/css")


@router.get("/health")
def health(site: Here) -> PlainTextResponse:
    """For whatever watches the process."""
    return PlainTextResponse(f"{site.trouble or 'ok'}\n", HTTPStatus.SERVICE_UNAVAILABLE if site.trouble else 200)
