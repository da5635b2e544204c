"""What all pages have at hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Final, NamedTuple, TypeVar

from fastapi import Depends, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse, RedirectResponse

from order_entry.model import Status, table
from order_entry.system import System
from order_entry.web import shown
from order_entry.web.changes import CHANGES
from order_entry.web.follower import Follower
from order_entry.web.offers import Offers
from order_entry.web.questions import QUESTIONS
from order_entry.web.receipts import Receipt, Receipts
from torusdb.modeling import Meter, Store

T = TypeVar("T")

DIRECTORY: Final = Path(__file__).parent
RECEIPT: Final = "receipt"


class Done(NamedTuple):
    """What came of a request that changes something, and what it took."""

    result: Any
    meter: Meter
    milliseconds: float


class Site:
    """`follower`: None where another process keeps the ranking."""

    def __init__(self, system: System, follower: Follower | None) -> None:
        self.client = system.dynamodb
        self.store = system.store
        self.follower = follower
        self.offers = Offers(self.store)
        self.receipts = Receipts()
        self._templates = Environment(
            loader=FileSystemLoader(DIRECTORY / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {
            "words": shown.words,
            "text": shown.text,
            "marked": shown.marked,
            "operation": shown.operation,
            "request_json": shown.request_json,
        }
        self._templates.globals |= {
            "questions": list(QUESTIONS.values()),
            "changes": list(CHANGES.values()),
            "grids": shown.grids,
            "statuses": [status.value for status in Status],
        }

    @property
    def trouble(self) -> str | None:
        """What users of any page have to know."""
        error = self.follower.error if self.follower is not None else None
        return None if error is None else f"The ranking is not kept any more, since its worker has ended: {error}"

    def page(self, request: Request, template: str, status: int = HTTPStatus.OK, **values: Any) -> HTMLResponse:
        receipt = self.receipts.find(request.query_params.get(RECEIPT))
        content = self._templates.get_template(template).render(
            path=request.url.path, trouble=self.trouble, receipt=receipt, **values
        )
        return HTMLResponse(content, status)

    def do(self, work: Callable[[Store], T]) -> Done:
        meter = Meter()
        began = perf_counter()
        result = work(Store(table, self.client, observe=meter))
        return Done(result, meter, (perf_counter() - began) * 1000)

    def go_on(self, message: str, done: Done, then: str) -> RedirectResponse:
        """To a page that shows what has changed, and that may be loaded again."""
        name = self.receipts.keep(Receipt(message, done.meter, done.milliseconds))
        return RedirectResponse(f"{then}{'&' if '?' in then else '?'}{RECEIPT}={name}", HTTPStatus.SEE_OTHER)


def site_of(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


async def form_of(request: Request) -> AsyncIterator[FormData]:
    """Read here, so that what works with it may run in a thread."""
    async with request.form(max_files=0) as form:
        yield form


Here = Annotated[Site, Depends(site_of)]
Form = Annotated[FormData, Depends(form_of)]
