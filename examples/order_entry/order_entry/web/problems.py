"""What went wrong, for programs: `application/problem+json` (RFC 9457), with one sentence a person can read."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from pydantic import BaseModel, Field
from starlette.responses import JSONResponse

from order_entry.errors import Conflict, InvalidInput, NotFound, OrderEntryError, OutOfStock
from order_entry.web.inputs import SUMMARY_FIELD, Problems, Refused, message_of
from torusdb.modeling import CursorRefused

MEDIA_TYPE: Final = "application/problem+json"

Refusal = OrderEntryError | Refused | CursorRefused
REFUSALS: Final = (OrderEntryError, Refused, CursorRefused)
"""All that the system refuses; nothing was changed."""


class Problem(BaseModel):
    """What was refused, and why. Nothing was changed."""

    title: str = Field(examples=["Unprocessable Entity"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["quantity: must be a whole number from 1 to 1000000, not 0"])
    errors: dict[str, str] = Field(
        default={},
        description="By field; under an empty name what no single field is to blame for.",
        examples=[{"quantity": "must be a whole number from 1 to 1000000, not 0"}],
    )


def problem(status: int, detail: str, errors: Mapping[str, str] | None = None) -> JSONResponse:
    title = HTTPStatus(status).phrase
    content = Problem(title=title, status=status, detail=detail, errors=dict(errors or {}))
    return JSONResponse(content.model_dump(), status, media_type=MEDIA_TYPE)


def status_of(refusal: Refusal) -> HTTPStatus:
    if isinstance(refusal, CursorRefused):
        return HTTPStatus.BAD_REQUEST
    if isinstance(refusal, NotFound):
        return HTTPStatus.NOT_FOUND
    return HTTPStatus.CONFLICT if isinstance(refusal, Conflict) else HTTPStatus.UNPROCESSABLE_ENTITY


def errors_of(refusal: Refusal) -> Problems:
    """By the field that is to blame; of no field, if it cannot be told."""
    if isinstance(refusal, Refused):
        return refusal.problems
    if isinstance(refusal, InvalidInput):
        return {refusal.field: message_of(refusal)}
    if isinstance(refusal, OutOfStock):
        return {"quantity": str(refusal)}
    return {SUMMARY_FIELD: str(refusal)}
