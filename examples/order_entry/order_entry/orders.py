"""Orders: placed, moved on step by step, or cancelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from secrets import token_hex
from typing import Final, NamedTuple

from order_entry import checks
from order_entry.errors import AlreadyThere, ChangedMeanwhile, InvalidInput, NotFound, OutOfStock, WrongStatus
from order_entry.landing import land
from order_entry.model import Customer, Inventory, Order, OrderItem, Product, Status, order_with_items
from torusdb.modeling import ConditionFailed, Ref, Store, TransactionWrites

LINES_MAX: Final = 30
"""An order is one transaction, of at most 100 writes: two, and up to three for each line."""

NEXT: Final = {Status.OPEN: Status.PACKED, Status.PACKED: Status.SHIPPED, Status.SHIPPED: Status.DELIVERED}


class Line(NamedTuple):
    """What is to be taken from which warehouse."""

    product: str
    warehouse: str
    quantity: int


def place_order(
    store: Store, customer: str, lines: Sequence[Line], *, number: str | None = None, placed: datetime | None = None
) -> Order:
    """One transaction: the order, its items, the stock of each warehouse, and the total stock of each product.

    A `number` that the caller chooses makes it safe to send the same order again: there is only one of it."""
    lines = _checked(lines)
    customer = checks.text("customer", customer)
    placed = checks.moment("placed", placed) if placed is not None else datetime.now(UTC)
    number = checks.text("number", number) if number is not None else new_number(placed)
    return land(store, lambda transaction: _place(store, transaction, customer, lines, number, placed))


def new_number(placed: datetime) -> str:
    """Sorts by time; what follows makes it unique."""
    return f"{placed:%Y%m%d-%H%M%S}-{token_hex(4)}"


def _checked(lines: Sequence[Line]) -> list[Line]:
    checks.listed("lines", lines, LINES_MAX)
    checked = [
        Line(
            checks.text("product", line.product),
            checks.text("warehouse", line.warehouse),
            checks.quantity("quantity", line.quantity),
        )
        for line in lines
    ]
    twice = [place for place, count in Counter((line.product, line.warehouse) for line in checked).items() if count > 1]
    if twice:
        product, warehouse = twice[0]
        raise InvalidInput("lines", f"name product {product} in warehouse {warehouse} twice: put them together")
    return checked


def _place(
    store: Store, transaction: TransactionWrites, customer_id: str, lines: Sequence[Line], number: str, placed: datetime
) -> Order:
    customer = checks.existing(store, Customer, customer_id)
    products = _products(store, lines)
    items = [
        OrderItem(
            order=number,
            line=count,
            product=line.product,
            warehouse=line.warehouse,
            quantity=line.quantity,
            unit_price=products[line.product].list_price,
        )
        for count, line in enumerate(lines, start=1)
    ]
    total = sum((item.unit_price * item.quantity for item in items), Decimal(0))
    if total > checks.AMOUNT_MAX:
        raise InvalidInput("lines", f"come to {total}, and an order is of {checks.AMOUNT_MAX} at most")
    order = Order(
        number=number,
        customer=customer_id,
        representative=customer.representative,
        placed=placed,
        status=Status.OPEN,
        total=total,
    )
    transaction.insert(order, otherwise=AlreadyThere("order", number))
    transaction.check(Ref(Customer, id=customer_id), Customer.representative == customer.representative)
    for line, item in zip(lines, items, strict=True):
        transaction.put(item)
        _take(transaction, line)
    for product in products.values():
        ordered = sum(line.quantity for line in lines if line.product == product.id)
        as_read = Product.list_price == product.list_price
        transaction.update(Ref(Product, id=product.id), Product.stock.add(-ordered), when=as_read)
    return order


def _products(store: Store, lines: Sequence[Line]) -> dict[str, Product]:
    wanted = list(dict.fromkeys(line.product for line in lines))
    found = store.get_many([Ref(Product, id=product) for product in wanted], consistent=True)
    products = {}
    for product_id, product in zip(wanted, found, strict=True):
        if product is None:
            raise NotFound("product", product_id)
        products[product_id] = product
    return products


def _take(transaction: TransactionWrites, line: Line) -> None:
    """Out of a warehouse, if there is enough."""
    transaction.update(
        Ref(Inventory, warehouse=line.warehouse, product=line.product),
        Inventory.quantity.add(-line.quantity),
        when=Inventory.quantity >= line.quantity,
        otherwise=lambda stored: OutOfStock(
            line.product, line.warehouse, line.quantity, stored.quantity if stored else 0
        ),
    )


def advance_order(store: Store, number: str, to: Status) -> Order:
    """To the next status of its way: OPEN, PACKED, SHIPPED, DELIVERED. Who asks says which, so that two who ask at once
    do not take two steps."""
    order = checks.existing(store, Order, checks.text("number", number))
    following = NEXT.get(order.status)
    if following is not to:
        raise WrongStatus(
            f"Order {order.number} is {order.status.value}, "
            + (f"and becomes {following.value} next" if following else "which is the end of its way")
        )
    try:
        return store.update(order, Order.status.set(to), Order.revision.add(1), when=Order.revision == order.revision)
    except ConditionFailed as failed:
        raise ChangedMeanwhile(f"Someone else has changed order {order.number} just now") from failed


def cancel_order(store: Store, number: str) -> Order:
    """Only while it is open: what it took goes back to where it was taken, in one transaction."""
    number = checks.text("number", number)
    land(store, lambda transaction: _cancel(store, transaction, number))
    return checks.existing(store, Order, number)


def _cancel(store: Store, transaction: TransactionWrites, number: str) -> None:
    everything = store.run(order_with_items(number).consistent()).all()
    orders = [each for each in everything if isinstance(each, Order)]
    if not orders:
        raise NotFound("order", number)
    (order,) = orders
    if order.status is not Status.OPEN:
        raise WrongStatus(f"Order {number} is {order.status.value}, and only an OPEN one can be cancelled")
    transaction.update(
        order, Order.status.set(Status.CANCELLED), Order.revision.add(1), when=Order.revision == order.revision
    )
    given_back: Counter[str] = Counter()
    for item in everything:
        if isinstance(item, OrderItem):
            given_back[item.product] += item.quantity
            place = Ref(Inventory, warehouse=item.warehouse, product=item.product)
            transaction.update(place, Inventory.quantity.add(item.quantity))
    for product, quantity in given_back.items():
        transaction.update(Ref(Product, id=product), Product.stock.add(quantity))
