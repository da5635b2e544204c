"""What can be changed, each as one request: the same for forms and for the REST interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from secrets import token_hex
from typing import Any, Final, NamedTuple

from order_entry import checks
from order_entry.customers import change_representative
from order_entry.employees import hire, promote, transfer
from order_entry.errors import AlreadyThere, InvalidInput, NotFound
from order_entry.model import (
    Assignment,
    Customer,
    Employee,
    Inventory,
    Order,
    OrderItem,
    Status,
    order_with_items,
)
from order_entry.orders import Line, advance_order, cancel_order, place_order
from order_entry.stock import receive_goods
from order_entry.web.inputs import (
    SUMMARY_FIELD,
    ChangeRepresentative,
    HireEmployee,
    Input,
    PlaceOrder,
    Promote,
    ReceiveGoods,
    Refused,
    Transfer,
)
from torusdb.modeling import Entity, Store


class Change(NamedTuple):
    """`done`: what to tell; `then`: the page that shows it, with the fields of what came of it."""

    name: str
    title: str
    about: str
    path: str
    input: type[Input]
    make: Callable[[Store, Any], Entity]
    gives: type[Entity]
    done: str
    then: str


def _hire(store: Store, wanted: HireEmployee) -> Entity:
    return hire(store, **dict(wanted))


def _transfer(store: Store, wanted: Transfer) -> Entity:
    return transfer(
        store, wanted.employee, department=wanted.department, warehouse=wanted.warehouse, since=wanted.since
    )


def _promote(store: Store, wanted: Promote) -> Entity:
    return promote(store, wanted.employee, job=wanted.job, salary=wanted.salary, since=wanted.since)


CHANGES: Final = {
    each.name: each
    for each in (
        Change(
            name="receive-goods",
            title="Receive goods",
            about="One transaction: the stock of the warehouse and the total stock of the product.",
            path="/goods-receipts",
            input=ReceiveGoods,
            make=lambda store, wanted: receive_goods(store, wanted.warehouse, wanted.product, wanted.quantity),
            gives=Inventory,
            done="Received: warehouse {warehouse} has {quantity} of product {product} now.",
            then="/patterns/product_demand_and_supply?ask=1&product={product}",
        ),
        Change(
            name="hire",
            title="Hire an employee",
            about="One transaction: the person, and the first of their jobs.",
            path="/employees",
            input=HireEmployee,
            make=_hire,
            gives=Employee,
            done="Hired: {first_name} {last_name} is employee {id}.",
            then="/patterns/employee_details?ask=1&employee={id}",
        ),
        Change(
            name="transfer",
            title="Transfer an employee",
            about="One transaction: the assignment that ends, the one that begins, and the warehouse of the person.",
            path="/transfers",
            input=Transfer,
            make=_transfer,
            gives=Assignment,
            done="Transferred: {employee} is in department {department} from {since} on.",
            then="/patterns/employee_details?ask=1&employee={employee}",
        ),
        Change(
            name="promote",
            title="Promote an employee",
            about="One transaction: the assignment that ends, the one that begins, and the salary.",
            path="/promotions",
            input=Promote,
            make=_promote,
            gives=Assignment,
            done="Promoted: {employee} is {title} from {since} on.",
            then="/patterns/employee_details?ask=1&employee={employee}",
        ),
        Change(
            name="change-representative",
            title="Change a customer's representative",
            about="From now on. Orders that were placed stay with whom they were placed with.",
            path="/representative-changes",
            input=ChangeRepresentative,
            make=lambda store, wanted: change_representative(store, wanted.customer, wanted.representative),
            gives=Customer,
            done="Changed: {representative} looks after {name} now.",
            then="/patterns/customers_of_representative?ask=1&representative={representative}",
        ),
    )
}
"""All but what is done with orders, whose forms have more than one line."""


def make(change: Change, store: Store, wanted: Input) -> Entity:
    with _missing_is_told_by_field(wanted):
        return change.make(store, wanted)


@contextmanager
def _missing_is_told_by_field(wanted: Input) -> Iterator[None]:
    """What is named in a request and is not there is a mistake in the request."""
    try:
        yield
    except NotFound as missing:
        fields = [field for field, value in _leaves(wanted.model_dump()) if value == missing.key]
        kind = [field for field in fields if field.rpartition(".")[2] == missing.kind]
        raise Refused(dict.fromkeys(kind or fields or [SUMMARY_FIELD], str(missing))) from missing


def _leaves(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """With the names that problems have: "lines.0.product"."""
    for name, value in values.items():
        if isinstance(value, list):
            members = {f"{name}.{number}": each for number, each in enumerate(value)}
            yield from _leaves(members)
        elif isinstance(value, dict):
            yield from _leaves({f"{name}.{member}": each for member, each in value.items()})
        else:
            yield name, value


class Placed(NamedTuple):
    """`is_new`: False if the same was sent before."""

    order: Order
    is_new: bool


def place(store: Store, wanted: PlaceOrder, key: str | None) -> Placed:
    """Under one `key` there is one order, however often it is sent: the key makes the order's number, and an order's
    number is there once. Raises InvalidInput where the key came with another order before."""
    lines = [Line(line.product, line.warehouse, line.quantity) for line in wanted.lines]
    number = None if key is None else number_for(key)
    try:
        with _missing_is_told_by_field(wanted):
            return Placed(place_order(store, wanted.customer, lines, number=number), is_new=True)
    except AlreadyThere:
        if number is None:
            raise
        everything = store.run(order_with_items(number).consistent()).all()
        (order,) = (each for each in everything if isinstance(each, Order))
        before = [
            Line(each.product, each.warehouse, each.quantity) for each in everything if isinstance(each, OrderItem)
        ]
        if (order.customer, before) != (wanted.customer, lines):
            raise InvalidInput("Idempotency-Key", f"came with another order before, which is {number}") from None
        return Placed(order, is_new=False)


def number_for(key: str) -> str:
    """A digest, so that the key may be any text, and says nothing about other keys."""
    return f"K-{sha256(checks.text('Idempotency-Key', key).encode()).hexdigest()[:24]}"


def new_key() -> str:
    """For a form: sent twice, it places one order."""
    return token_hex(16)


def change_status(store: Store, number: str, to: Status) -> Order:
    return cancel_order(store, number) if to is Status.CANCELLED else advance_order(store, number, to)
