"""Reads of one moment, transactions over several stores, and writes that give what was there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.modeling.conftest import Recorder
from tests.modeling.shop import Customer, Order, Product, order, shop
from tests.modeling.test_transactions import ServiceError, Transactional
from torusdb.modeling import (
    Attr,
    Check,
    ConditionFailed,
    Delete,
    Entity,
    Key,
    PlanRefused,
    Put,
    Ref,
    ReturningOld,
    Store,
    Table,
    TransactGet,
    TransactionFailed,
    Update,
    Upsert,
    Write,
)

warehouse = Table("warehouse", partition_key="pk")
ANN = Ref(Customer, id="1")
BOOK = Ref(Product, code="b")


class Shelf(Entity, table=warehouse):
    key = Key("SHELF#{number}")
    number: Attr[int]
    pieces: Attr[int]


@pytest.fixture
def shelves(client: Recorder) -> Store:
    made = Store(warehouse, client, table_name="warehouse-prod")
    made.create_table()
    return made


def test_entities_of_one_moment_come_in_the_order_of_their_keys(store: Store, client: Recorder) -> None:
    book = Product(code="b", name="Book", shelf=3)
    store.put_many([Customer(id="1", name="Ann"), order(1)])
    store.insert(book)
    client.requests.clear()
    found = store.transact_get(BOOK, ANN, Ref(Customer, id="none"))
    assert found == (book, Customer(id="1", name="Ann"), None)
    assert [method for method, _ in client.requests] == ["transact_get_items"]
    assert store.run(TransactGet(ANN, Ref(Order, customer="1", number=1))) == (Customer(id="1", name="Ann"), order(1))
    explained = TransactGet(ANN, BOOK).explain()
    assert (explained.operation, explained.table) == ("TransactGetItems", "shop")
    assert explained.reads == "2 of Customer and Product by key, of one moment"


@pytest.mark.parametrize("count", [0, 101])
def test_one_to_a_hundred_are_read_together(count: int, store: Store) -> None:
    refs = [Ref(Customer, id=str(number)) for number in range(count)]
    with pytest.raises(PlanRefused, match=rf"^A TransactGet is of 1 to 100 items, not {count}$"):
        store.transact_get(*refs)
    assert store.transact_get(*[Ref(Customer, id=str(number)) for number in range(100)]) == (None,) * 100


def test_a_cancelled_read_tells_what_is_to_blame() -> None:
    class Contended:
        def __init__(self, error: Exception) -> None:
            self.error = error

        def transact_get_items(self, **parameters: Any) -> Any:
            raise self.error

    reasons = [{"Code": "None"}, {"Code": "TransactionConflict", "Message": "busy"}]
    error = ServiceError("TransactionCanceledException", CancellationReasons=reasons)
    with pytest.raises(TransactionFailed) as caught:
        Store(shop, Contended(error)).transact_get(ANN, BOOK)
    assert str(caught.value) == (
        "The transaction was cancelled: GetItem of Ref(Product, code='b'): TransactionConflict, busy"
    )
    assert caught.value.reasons[0] is None
    assert caught.value.__cause__ is error
    with pytest.raises(ServiceError, match="ThrottlingException") as other:
        Store(shop, Contended(ServiceError("ThrottlingException"))).transact_get(ANN)
    assert other.value.__cause__ is None


def test_several_tables_in_one_transaction(store: Store, shelves: Store, client: Recorder) -> None:
    with store.transaction(others=[shelves]) as transaction:
        transaction.insert(order(1))
        transaction.insert(Shelf(number=3, pieces=2))
    tables = [next(iter(each.values()))["TableName"] for each in client.requests[-1][1]["TransactItems"]]
    assert tables == ["shop", "warehouse-prod"]
    shelf, first = Ref(Shelf, number=3), Ref(Order, customer="1", number=1)
    assert store.transact_get(first, shelf, others=[shelves]) == (order(1), Shelf(number=3, pieces=2))
    with pytest.raises(TransactionFailed), shelves.transaction(others=[store]) as transaction:
        transaction.add(Check(first, Order.comment.exists()), Update(shelf, Shelf.pieces.add(-1)))
    assert shelves.get(Shelf, number=3) == Shelf(number=3, pieces=2)
    refusal = r"^This is of the table warehouse, and the store is of shop$"
    with pytest.raises(PlanRefused, match=refusal), store.transaction() as transaction:
        transaction.put(Shelf(number=3, pieces=9))
    with pytest.raises(PlanRefused, match=refusal):
        store.run(TransactGet(first, shelf))


def test_a_table_has_one_name_in_a_transaction(shelves: Store, client: Recorder) -> None:
    other = Store(warehouse, client, table_name="warehouse-test")
    with pytest.raises(
        PlanRefused, match=r"^The table warehouse is warehouse-prod in one store, and warehouse-test in another$"
    ):
        shelves.transaction(others=[other])


def test_writes_made_elsewhere_are_added(store: Store) -> None:
    def bought(number: int) -> Iterator[Write[Any]]:
        yield Put(order(number), new=True)
        yield Upsert(ANN, Customer.orders.add(1))
        yield Check(Ref(Customer, id="barred"), Customer.id.missing())

    for number in range(2):
        with store.transaction() as transaction:
            transaction.add(*bought(number))
    assert store.get(Customer, id="1") == Customer(id="1", orders=2)
    with pytest.raises(TransactionFailed), store.transaction() as transaction:
        transaction.add(*bought(1))
    assert store.get(Customer, id="1") == Customer(id="1", orders=2)


def test_who_asks_again_with_the_same_token_does_it_once(store: Store) -> None:
    store.insert(Customer(id="1"))
    for _ in range(3):
        with store.transaction(token="order 7") as transaction:
            transaction.update(ANN, Customer.orders.add(1))
    found = store.get(Customer, id="1")
    assert found is not None
    assert found.orders == 1
    client = Transactional()
    with Store(shop, client).transaction() as transaction:
        transaction.put(Customer(id="1"))
    assert "ClientRequestToken" not in client.requests[0]


@pytest.mark.parametrize("token", ["", "x" * 37])
def test_a_token_has_a_length(token: str, store: Store) -> None:
    with pytest.raises(PlanRefused, match=rf"^A transaction's token has 1 to 36 characters, not {len(token)}$"):
        store.transaction(token=token)


def test_writes_can_give_what_was_there(store: Store, client: Recorder) -> None:
    ann, bob = Customer(id="1", name="Ann"), Customer(id="1", name="Bob")
    assert store.run(ReturningOld(Put(ann))) is None
    assert store.run(ReturningOld(Put(bob))) == ann
    assert store.run(ReturningOld(Update(ANN, Customer.name.set("Cyd")))) == bob
    assert store.run(ReturningOld(Upsert(ANN, Customer.orders.add(1)))) == Customer(id="1", name="Cyd")
    assert store.run(ReturningOld(Delete(ANN))) == Customer(id="1", name="Cyd", orders=1)
    assert store.run(ReturningOld(Delete(ANN))) is None
    assert store.run(ReturningOld(Upsert(ANN, Customer.orders.add(1)))) is None
    assert {request["ReturnValues"] for _, request in client.requests} == {"ALL_OLD"}
    with pytest.raises(ConditionFailed):
        store.run(ReturningOld(Put(ann, when=Customer.orders == 7)))
    with pytest.raises(ConditionFailed, match="there is one already"):
        store.run(ReturningOld(Put(ann, new=True)))
    client.put_item(TableName="shop", Item={**ANN.key, "id": {"S": "1"}})
    assert store.run(ReturningOld(Delete(ANN))) == Customer(id="1"), "of before its entity was named"
    assert ReturningOld(Put(ann)).explain() == Put(ann).explain()


def test_a_write_that_gives_what_was_there_counts_the_version(store: Store) -> None:
    book = Product(code="b", name="Book", shelf=3)
    store.run(ReturningOld(Put(book)))
    assert book.revision == 1
