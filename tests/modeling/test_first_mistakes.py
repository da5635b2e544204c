"""What those who come from another library do first, and what they are told."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import cached_property
from typing import Any

import boto3
import pytest

from tests.modeling.shop import Customer, Order, Product, order, orders_by_status, shop
from torusdb.modeling import (
    Attr,
    Entity,
    GlobalIndex,
    InvalidValue,
    Key,
    LocalIndex,
    ModelError,
    PlanRefused,
    Put,
    Query,
    Store,
    Table,
    attr,
    computed,
    pattern,
)

by_name = GlobalIndex("by_name", partition_key="gpk", sort_key="gsk")


@pytest.fixture
def table() -> Table:
    return Table("things", partition_key="pk", sort_key="sk", indexes=[by_name])


def told(error: type[Exception], make: Callable[[], Any]) -> str:
    with pytest.raises(error) as caught:
        make()
    return str(caught.value)


# -- what would be lost


def test_an_attribute_that_is_none_is_refused_when_it_is_set(store: Store) -> None:
    customer: Any = Customer(id="1", name="Ann")
    assert told(AttributeError, lambda: setattr(customer, "nmae", "y")) == (
        "Customer has no attribute nmae: did you mean name?"
    )
    assert told(AttributeError, lambda: setattr(customer, "key", "y")) == "Customer has no attribute key"
    store.put(customer)
    read: Any = store.get(Customer, id="1")
    assert told(AttributeError, lambda: setattr(read, "colour", "y")) == "Customer has no attribute colour"
    read.name = "Bob"
    assert (read.name, read == customer) == ("Bob", False)


def test_what_a_class_does_with_its_own_names_is_its_affair(table: Table) -> None:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        id: Attr[str]
        name: Attr[str]

        @property
        def title(self) -> str:
            return self.name.title()

        @title.setter
        def title(self, title: str) -> None:
            self.name = title.lower()

        @cached_property
        def letters(self) -> int:
            return len(self.name)

    thing = Thing(id="1", name="a")
    thing.title = "BCD"
    thing._note = "mine"  # type: ignore[attr-defined]
    assert (thing.name, thing.title, thing.letters) == ("bcd", "Bcd", 3)
    assert Put(thing).item["name"] == {"S": "bcd"}


def test_a_store_takes_a_client_and_no_resource() -> None:
    where = {"region_name": "eu-west-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
    resource = boto3.resource("dynamodb", **where)  # type: ignore[call-overload]
    refusal = "A store needs a client, and this is a resource of boto3: give it resource.meta.client"
    assert told(TypeError, lambda: Store(shop, resource)) == refusal
    assert told(TypeError, lambda: Store(shop, resource.Table("shop"))) == refusal
    assert Store(shop, resource.meta.client).table_name == "shop"
    swapped: Any = (resource.meta.client, shop)
    assert told(TypeError, lambda: Store(*swapped)).startswith(
        "A store is of a Table and a client, Store(shop, client)"
    )


def test_a_filter_that_the_query_could_do_is_refused() -> None:
    query = Order.key.query(Order.customer == "1")
    in_key = "Order.number is in Order.key: give it to query(…), which then reads no more than it gives"
    assert told(PlanRefused, lambda: query.filter(Order.number > 3)) == in_key
    assert told(PlanRefused, lambda: query.filter((Order.number == 3) & (Order.total > Decimal(1)))) == in_key
    assert told(PlanRefused, lambda: query.filter(Order.customer == "2")) == (
        "Order.customer is in the partition key of Order.key, which has one value: leave it out"
    )
    shards = Order.all_by_day.query()
    assert told(PlanRefused, lambda: shards.filter(Order.number == 3)).startswith("Order.number is in Order.all_by_day")
    # What the key cannot be asked for is left to a filter.
    for condition in (
        Order.number.in_([1, 2]),
        (Order.number == 1) | (Order.total > Decimal(1)),
        Order.customer != Order.comment,
    ):
        assert query.filter(condition).requests()[0].parameters["FilterExpression"]
    assert Order.by_status.query(Order.status == order(1).status).filter(Order.number > 3).requests()
    assert shards.filter(Order.number > 3).requests()


# -- names that the service refuses


@pytest.mark.parametrize("name", ["t", "my table!", "x" * 256, "", "größe"])
def test_names_are_those_of_the_service(name: str) -> None:
    rule = "needs a name of 3 to 255 characters, of a-z, A-Z, 0-9, _, . and -"
    assert told(ModelError, lambda: Table(name, partition_key="pk")) == f"The table {name} {rule}"
    assert told(ModelError, lambda: GlobalIndex(name, partition_key="pk")) == f"The index {name} {rule}"
    assert told(ModelError, lambda: LocalIndex(name, sort_key="pk")) == f"The index {name} {rule}"


@pytest.mark.parametrize("name", ["abc", "x" * 255, "a_b.c-D9"])
def test_names_that_the_service_takes(name: str) -> None:
    assert Table(name, partition_key="x" * 255).name == name


@pytest.mark.parametrize(
    ("make", "refusal"),
    [
        (
            lambda: Table("things", partition_key="pk", sort_key="pk"),
            "The table things has the attribute pk twice in its key: give each part its own",
        ),
        (
            lambda: GlobalIndex("several", partition_key=["a", "b"], sort_key="a"),
            "The index several has the attribute a twice in its key: give each part its own",
        ),
        (
            lambda: Table("things", partition_key="pk", sort_key="sk", indexes=[LocalIndex("same", sort_key="pk")]),
            "The index same has the attribute pk twice in its key: give each part its own",
        ),
        (
            lambda: Table("things", partition_key="pk", indexes=[by_name, GlobalIndex("by_name", partition_key="x")]),
            "The table things has two indexes that are called by_name: give each a name of its own",
        ),
        (
            lambda: Table("things", partition_key="pk", indexes=[LocalIndex("local", sort_key="sk")]),
            "The table things has no sort key, which it needs for the local index local",
        ),
        (
            lambda: Table("things", partition_key="é" * 128),
            "The table things has an attribute whose name has 256 bytes: give it 1 to 255",
        ),
        (
            lambda: GlobalIndex("some", partition_key="a", include=[""]),
            "The index some has an attribute whose name has 0 bytes: give it 1 to 255",
        ),
    ],
)
def test_keys_and_indexes_are_those_of_the_service(make: Callable[[], Any], refusal: str) -> None:
    assert told(ModelError, make) == refusal


# -- what is declared


def test_a_class_that_is_declared_again_wants_its_table_anew(table: Table) -> None:
    def declare() -> None:
        class Thing(Entity, table=table):
            key = Key("A#{id}", "A")
            id: Attr[str]

    declare()
    assert told(ModelError, declare) == (
        "Thing is declared twice in the table things: to declare it anew, make the Table anew before it"
    )


def test_a_forgotten_colon(table: Table) -> None:
    def declare() -> None:
        class Thing(Entity, table=table):
            key = Key("A#{id}", "A")
            id: Attr[str]
            name = Attr[str]

    assert told(ModelError, declare) == "Thing.name = Attr[str] has = for a colon: write name: Attr[str]"


def test_a_forgotten_table() -> None:
    class Loose(Entity):
        key = Key("A#{id}", "A")
        id: Attr[str]

    assert told(TypeError, lambda: Loose(id="1")).endswith("has no objects: declare class Loose(Entity, table=…)")
    assert told(ModelError, lambda: Loose.key) == "Loose.key: the class is in no table: give it its table="


def test_misspelt_names_have_their_like(table: Table) -> None:
    def in_a_template() -> None:
        class Thing(Entity, table=table):
            key = Key("A#{custmer}", "A")
            customer: Attr[str]

    def in_what_is_computed() -> None:
        class Thing(Entity, table=table):
            key = Key("A#{name}", "A")
            name: Attr[str]
            label: Attr[str] = computed(lambda thing: thing.name, needs=["nam"])

    assert told(ModelError, in_a_template).endswith("there is no attribute of this name: did you mean customer?")
    assert told(ModelError, in_what_is_computed).endswith("no stored attribute of Thing: did you mean name?")
    assert told(TypeError, lambda: Customer(id="1", nmae="x")).endswith(  # type: ignore[call-arg]
        "no attribute nmae that could be given: did you mean name?"
    )


def test_all_numbers_without_a_width_are_told_at_once(table: Table) -> None:
    def declare() -> None:
        class Thing(Entity, table=table):
            key = Key("A#{id}", "{size}#{count}")
            by_name = Key("N", "{count}", index=by_name)
            id: Attr[str]
            size: Attr[int]
            count: Attr[int]

    refusal = told(ModelError, declare)
    assert refusal.count("needs a width") == 3
    assert "Thing.by_name has the number {count}" in refusal


def test_a_float_in_a_key(table: Table) -> None:
    def declare() -> None:
        class Thing(Entity, table=table):
            key = Key("A#{id}", "{price}")
            id: Attr[str]
            price: Attr[float]

    assert told(ModelError, declare).endswith(
        "which has no place in a key: make it an Attr[Decimal], and write {price:012.2}"
    )


def test_a_pattern_without_a_text() -> None:
    def orders_of(customer: str) -> Query[Order]:
        return Order.key.query(Order.customer == customer)

    bare: Any = pattern
    assert told(TypeError, lambda: bare(orders_of)).startswith("A pattern says what it reads: write @pattern(")
    assert "orders_of" not in shop.patterns


# -- what is asked and written


def test_numbers_of_the_wrong_kind(table: Table) -> None:
    class Thing(Entity, table=table):
        key = Key("A#{id}", "A")
        by_price = Key("PRICES", "{price:010.2}", index=by_name)
        id: Attr[str]
        price: Attr[Decimal]
        weight: Attr[Decimal] = attr(default=Decimal(1))

    def put(price: Any, weight: Any = Decimal(1)) -> str:
        return told(InvalidValue, lambda: Put(Thing(id="1", price=price, weight=weight)))

    assert put(9.99) == "Thing.price: 9.99 is not a Decimal: write Decimal('9.99')"
    assert put(Decimal("9.999")).endswith(
        "9.999 does not fit into the format 010.2, which has 2 decimals: round it, or give the format more"
    )
    assert put(Decimal(10**7)).endswith("which has 7 digits before the point: make it wider")
    assert put(Decimal(-1)).endswith("-1 does not fit into the format 010.2, which has no sign")
    assert told(InvalidValue, lambda: Thing.by_price.query(Thing.price > 1.5).requests()).endswith(  # type: ignore[operator]
        "1.5 is not a Decimal: write Decimal('1.5')"
    )


def test_what_one_query_cannot_ask() -> None:
    assert told(PlanRefused, lambda: Order.key.query(Order.customer.in_(["1", "2"]))) == (
        "Order.key takes one value of Order.customer: make a query of each, with =="
    )
    assert told(PlanRefused, lambda: Order.key.query(Order.customer == "1", Order.number.in_([1, 2]))) == (
        "Order.key takes one value of Order.number: make a query of each, with ==, or give in_ to .filter(…)"
    )
    assert told(PlanRefused, lambda: Order.key.query(Customer.id == "1")) == (
        "Customer.id is an attribute of Customer, and Order.key is of Order"
    )


def test_what_is_no_entity(store: Store) -> None:
    untyped: Any = store
    assert told(TypeError, lambda: untyped.put({"id": "1"})) == (
        "dict is no entity: make a class of it, class …(Entity, table=…)"
    )
    assert told(TypeError, lambda: untyped.get("Customer", id="1")).startswith("'Customer' is no entity")


def test_plans_are_run_by_stores(store: Store) -> None:
    day = order(1).placed.date()
    query: Any = orders_by_status(order(1).status, day, day)
    assert told(TypeError, lambda: list(query)) == (
        "A Query is a plan, and reads nothing by itself: iterate over store.run(…)"
    )


def test_results_have_no_length_and_no_places(store: Store) -> None:
    store.put(order(1))
    results: Any = store.run(Order.key.query(Order.customer == "1"))
    for ask in (lambda: len(results), lambda: bool(results)):
        assert told(TypeError, ask) == (
            "Results are read page by page, and their number is not known: make a list with .all(), ask for .first(), "
            "or run query.count()"
        )
    assert told(TypeError, lambda: results[0]).endswith("have no places: make a list with .all(), or ask for .first()")
    assert list(results) == [order(1)]


def test_values_are_shown_by_their_types() -> None:
    product = (Product.stock > 3) & (Product.name == "a :v0 #n0")
    explained = Product.key.query(Product.code == "b").filter(product).explain()
    assert explained.filter == "n > 3 AND name = 'a :v0 #n0'"
    tagged = Customer.key.query(Customer.id == "1").filter((Customer.tags == {"a"}) | (Customer.notes == ["x", "y"]))
    assert tagged.explain().filter == "tags = {'a'} OR notes = ['x', 'y']"
