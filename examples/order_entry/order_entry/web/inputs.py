"""What people and programs send: one class for each request that changes something, one type for each kind of value.

A form, a REST body and the OpenAPI document are all made of the same class, so they accept the same and say the same.
Forms send texts only, so every type takes a text as well as the value. `checks.py` has the rules for values; here they
get the words and examples that people see."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema

from order_entry import checks
from order_entry.errors import InvalidInput
from order_entry.model import Status
from order_entry.orders import LINES_MAX

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

Problems = dict[str, str]
"""What is wrong, by field: "lines.0.quantity"."""

SUMMARY_FIELD: Final = ""
"""Of a problem that no single field has."""

DIGITS_MAX: Final = 20
"""Of a whole number that is sent as a text: of thousands Python makes no number."""

MESSAGE_CHARACTERS_MAX: Final = 200
"""Messages repeat what was sent, which may be long."""


class Refused(Exception):
    """Input that makes no sense. Nothing was sent to the table."""

    def __init__(self, problems: Problems) -> None:
        super().__init__("; ".join(f"{field}: {message}" if field else message for field, message in problems.items()))
        self.problems = problems


# What each kind of value may look like


def _checked(check: Callable[[str, T], T], value: T) -> T:
    """By a rule of `checks.py`, whose message begins with the field, which pydantic knows better."""
    try:
        return check("value", value)
    except InvalidInput as error:
        raise ValueError(f"{message_of(error):.{MESSAGE_CHARACTERS_MAX}}") from None


def message_of(error: InvalidInput) -> str:
    return str(error).removeprefix(f"{error.field}: ")


def _name(value: Any) -> Any:
    return _checked(checks.text, value)


def _quantity(value: Any) -> Any:
    if isinstance(value, str) and re.fullmatch(rf"\s*[+-]?[0-9]{{1,{DIGITS_MAX}}}\s*", value):
        value = int(value)
    return _checked(checks.quantity, value)


def _amount(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = Decimal(value)
        except InvalidOperation:
            raise ValueError(f"must be an amount such as 2500.50, not {value!r:.60}") from None
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= checks.AMOUNT_MAX:
        value = Decimal(str(value))
    return _checked(checks.amount, value)


def _day(value: Any) -> Any:
    text = value.strip() if isinstance(value, str) else ""
    try:
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            raise ValueError(text)
        found = date.fromisoformat(text)
    except ValueError:  # that of the form as well as 2026-02-30
        raise ValueError(f"must be a day such as 2026-03-31, not {value!r:.60}") from None
    return _checked(checks.day, found)


def _status(value: Any) -> Any:
    known = {each.value: each for each in Status}
    found = known.get(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"must be one of {', '.join(known)}, not {value!r:.60}")
    return found


def _quarter(value: Any) -> Any:
    text = _name(value)
    if not re.fullmatch(r"[0-9]{4}-Q[1-4]", text):
        raise ValueError(f"must be a quarter such as 2026-Q1, not {text!r:.60}")
    return text


def _blank_is_none(value: Any) -> Any:
    return None if isinstance(value, str) and not value.strip() else value


TEXT_SCHEMA: Final = {"type": "string", "minLength": 1, "maxLength": checks.TEXT_BYTES_MAX, "pattern": "^[^#]+$"}

Name = Annotated[str, BeforeValidator(_name), WithJsonSchema(TEXT_SCHEMA)]
Quantity = Annotated[
    int,
    BeforeValidator(_quantity),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": checks.QUANTITY_MAX}),
]
Amount = Annotated[
    Decimal,
    BeforeValidator(_amount),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9]+(\.[0-9]{1,2})?$"}),
]
Day = Annotated[date, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
StatusName = Annotated[
    Status, BeforeValidator(_status), WithJsonSchema({"type": "string", "enum": [each.value for each in Status]})
]
Quarter = Annotated[str, BeforeValidator(_quarter), WithJsonSchema({"type": "string", "pattern": "^[0-9]{4}-Q[1-4]$"})]
OptionalName = Annotated[
    Name | None, BeforeValidator(_blank_is_none), WithJsonSchema({"anyOf": [TEXT_SCHEMA, {"type": "null"}]})
]


# What can be asked for


class Input(BaseModel):
    """What is not known here is refused: it may be a misspelt name of what is."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def field(title: str, example: Any, hint: str = "", **options: Any) -> Any:
    return Field(title=title, examples=[example], description=hint or None, **options)


class OrderLine(Input):
    product: Name = field("Product", "P000001")
    warehouse: Name = field("Warehouse", "W0001", "Where it is taken from.")
    quantity: Quantity = field("Quantity", 2)


class PlaceOrder(Input):
    customer: Name = field("Customer", "C0000001")
    lines: list[OrderLine] = field(
        "Lines",
        [{"product": "P000001", "warehouse": "W0001", "quantity": 2}],
        "No product twice from the same warehouse.",
        min_length=1,
        max_length=LINES_MAX,
    )


class ChangeStatus(Input):
    status: StatusName = field("Status", "PACKED", "The next on its way, or CANCELLED while it is open.")


class ReceiveGoods(Input):
    warehouse: Name = field("Warehouse", "W0001")
    product: Name = field("Product", "P000001")
    quantity: Quantity = field("Quantity", 50, "How many have come in.")


class HireEmployee(Input):
    first_name: Name = field("First name", "Hazel")
    last_name: Name = field("Last name", "Opal-Wren")
    email: Name = field("E-mail", "hazel.opal-wren@example.com")
    phone: Name = field("Phone", "+00 000 0000000")
    job: Name = field("Job", "ST_CLERK", "The id of a job, which has a range of salaries.")
    department: Name = field("Department", "D0001")
    salary: Amount = field("Salary", "2500.00")
    hired: Day = field("First day", "2026-04-01")
    manager: OptionalName = field("Manager", "E000001", "An employee's id.", default=None)
    warehouse: OptionalName = field("Warehouse", "W0001", "For those who work in one.", default=None)


class Transfer(Input):
    employee: Name = field("Employee", "E000002")
    department: Name = field("Department", "D0002", "Where to.")
    warehouse: OptionalName = field("Warehouse", "W0001", "Empty for none.", default=None)
    since: Day = field("From", "2026-04-01", "After the day on which the job before it began.")


class Promote(Input):
    employee: Name = field("Employee", "E000002")
    job: Name = field("New job", "ST_MAN")
    salary: Amount = field("New salary", "6000.00", "Within the range of the job.")
    since: Day = field("From", "2026-04-01", "After the day on which the job before it began.")


class ChangeRepresentative(Input):
    customer: Name = field("Customer", "C0000001")
    representative: Name = field("Representative", "E000001", "An employee whose job is SA_REP.")


# How it is read


def read(kind: type[M], raw: Mapping[str, Any]) -> M:
    """From a form: raises Refused with all that is wrong, not with the first of it."""
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        raise Refused(problems_of(error.errors(include_url=False))) from None


def problems_of(errors: Iterable[Mapping[str, Any]], *, skip: int = 0) -> Problems:
    """`skip`: how much of each place is of no matter to whoever sent it, as in ("body", "customer")."""
    problems: Problems = {}
    for error in errors:
        place = ".".join(str(part) for part in error["loc"][skip:])
        problems.setdefault(place, _words(error))
    return problems


WORDS: Final = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "model_attributes_type": "must be an object",
    "model_type": "must be an object",
    "dict_type": "must be an object",
    "list_type": "must be a list",
    "too_short": f"must be 1 to {LINES_MAX}",
    "too_long": f"must be 1 to {LINES_MAX}",
}


def _words(error: Mapping[str, Any]) -> str:
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    message: str = error["msg"]
    return WORDS.get(error["type"], message[:1].lower() + message[1:])
