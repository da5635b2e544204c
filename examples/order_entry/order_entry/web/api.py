"""The REST interface. Questions and changes are declared elsewhere (`questions.py`, `changes.py`), and have their
addresses there; here each becomes a function with a signature of its own, which is what FastAPI reads it from."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Body, Header, Path, Query, Response
from pydantic import BaseModel

from order_entry.errors import NotFound
from order_entry.model import Order
from order_entry.web.answers import answer_of, content, contents, page_of
from order_entry.web.changes import CHANGES, Change, change_status, make, place
from order_entry.web.inputs import ChangeStatus, Input, PlaceOrder
from order_entry.web.problems import MEDIA_TYPE
from order_entry.web.questions import ORDER, PARAMETERS, QUESTIONS, ROWS_PER_PAGE, ROWS_PER_PAGE_MAX, Answer, Question
from order_entry.web.site import Here, Site

SINGLE: Final = {
    "current_job": ("current job of employee", "employee"),
    "inventory": ("inventory of product", "product"),
    "total_inventory": ("product", "product"),
}
"""Questions with one answer or none, which is then a 404: of what, and the parameter that names it."""

PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"description": text, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for status, text in (
        (400, "What was sent cannot be read: broken JSON, or a cursor of another question."),
        (404, "What the address names is not there."),
        (409, "What is stored stands against it: too little stock, a step that cannot be taken now."),
        (422, "What was sent makes no sense, or names something that is not there. `errors` says which field."),
    )
}

ANSWERED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "headers": {
            "Items-Read": {"description": "What the database looked at.", "schema": {"type": "integer"}},
            "Capacity-Units": {"description": "What it charged for that.", "schema": {"type": "number"}},
        }
    }
}

router = APIRouter(prefix="/api")


def _only(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: PROBLEMS[status] for status in statuses}


def _example(value: Any) -> dict[str, Any]:
    return {"example": {"value": value}}


# What can be asked


def _add_question(question: Question) -> None:
    single = SINGLE.get(question.name)
    model = answer_of(question.kinds[0]) if single else page_of(question.kinds)
    router.add_api_route(
        question.path,
        _asking(question, single),
        methods=["GET"],
        name=question.name,
        summary=question.title,
        description=f"{question.title}. {question.how}.",
        response_model=model,
        response_description="The answer. Two headers say what it took.",
        responses=ANSWERED | (_only(404, 422) if single else _only(400, 422)),
        operation_id=question.name,
        tags=["The fourteen patterns" if question.number else "Orders"],
    )


def _asking(question: Question, single: tuple[str, str] | None) -> Callable[..., Any]:
    def ask(site: Site, response: Response, limit: int = 1, cursor: str | None = None, **values: Any) -> Any:
        answer = question.ask(site.client, question.checked(values), cursor=cursor, rows=limit)
        _tell_cost(response, answer)
        if single is None:
            return {"items": contents(answer.rows), "cursor": answer.cursor}
        if not answer.rows:
            kind, parameter = single
            raise NotFound(kind, values[parameter])
        return content(answer.rows[0])

    parameters = [_parameter("site", Here), _parameter("response", Response)]
    for name, kind in question.types.items():
        info = PARAMETERS[name]
        place = Path if f"{{{name}}}" in question.path else Query
        about = place(
            title=info.title,
            description=info.description or info.title,
            openapi_examples=_example((info.examples or [None])[0]),
        )
        required = inspect.Parameter.empty if info.is_required() else info.default
        parameters.append(_parameter(name, Annotated[kind, about], required))
    if single is None:
        parameters.append(_parameter("limit", Limit, ROWS_PER_PAGE))
        parameters.append(_parameter("cursor", Cursor, None))
    return _signed(ask, parameters)


Limit = Annotated[int, Query(ge=1, le=ROWS_PER_PAGE_MAX, description="How many items at most.")]
Cursor = Annotated[str | None, Query(description="Of the page before.", examples=[None])]


def _tell_cost(response: Response, answer: Answer) -> None:
    response.headers["Items-Read"] = str(answer.meter.items_read)
    response.headers["Capacity-Units"] = f"{answer.meter.capacity_units:g}"


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _signed(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> Callable[..., Any]:
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {}
    return function


for _question in (*QUESTIONS.values(), ORDER):
    _add_question(_question)


# What can be changed


def _add_change(change: Change) -> None:
    def change_it(site: Site, wanted: Input) -> Any:
        return content(make(change, site.store, wanted))

    kind: Any = change.input
    body = Annotated[kind, Body(openapi_examples=_example(example_of(kind)))]
    router.add_api_route(
        change.path,
        _signed(change_it, [_parameter("site", Here), _parameter("wanted", body)]),
        methods=["POST"],
        name=change.name,
        operation_id=change.name.replace("-", "_"),
        summary=change.title,
        description=change.about,
        status_code=HTTPStatus.CREATED,
        response_model=answer_of(change.gives),
        response_description="Done, and this is there now.",
        responses=_only(400, 409, 422),
        tags=["Goods and people"],
    )


def example_of(model: type[BaseModel]) -> dict[str, Any]:
    return {name: info.examples[0] for name, info in model.model_fields.items() if info.examples}


for _change in CHANGES.values():
    _add_change(_change)


# Orders

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Any text. Under one key there is one order, however often it is sent: the second answer is the "
        "first order again, with the status 200.",
        openapi_examples=_example("2f1b6c9a-7d52-4c31-9a0e-5d3f0c1b2a49"),
    ),
]


@router.post(
    "/orders",
    operation_id="place_order",
    summary="Place an order",
    description="One transaction: the order, its items, the stock of each warehouse and of each product.",
    status_code=HTTPStatus.CREATED,
    response_model=answer_of(Order),
    response_description="Placed. `Location` is where the order can be read, with its items.",
    responses=_only(400, 409, 422)
    | {200: {"description": "It was placed before, under the same key.", "model": answer_of(Order)}},
    tags=["Orders"],
)
def place_order(
    site: Here,
    response: Response,
    wanted: Annotated[PlaceOrder, Body(openapi_examples=_example(example_of(PlaceOrder)))],
    key: Key = None,
) -> Any:
    placed = place(site.store, wanted, key)
    response.headers["Location"] = f"/api/orders/{quote(placed.order.number, safe='')}"
    if not placed.is_new:
        response.status_code = HTTPStatus.OK
    return content(placed.order)


@router.put(
    "/orders/{order}/status",
    operation_id="change_status",
    summary="Change an order's status",
    description="To the next step of its way (OPEN, PACKED, SHIPPED, DELIVERED), or to CANCELLED while it is open: "
    "then all that it took goes back to where it was taken.",
    response_model=answer_of(Order),
    response_description="The order as it is now.",
    responses=_only(400, 404, 409, 422),
    tags=["Orders"],
)
def put_status(
    site: Here,
    order: Annotated[str, Path(openapi_examples=_example("20260301-101500-0badcafe"))],
    wanted: Annotated[ChangeStatus, Body(openapi_examples=_example(example_of(ChangeStatus)))],
) -> Any:
    return content(change_status(site.store, order, wanted.status))
