"""Transactions: what is sent, what is done, and what a cancelled one tells."""

from __future__ import annotations

from typing import Any

import pytest

from tests.modeling.shop import Customer, Order, Product, Status, order, shop
from torusdb.modeling import Get, PlanRefused, Put, Reason, Ref, Store, TransactionFailed, Update


class ServiceError(Exception):
    """As botocore's ClientError, as far as the kit looks at it."""

    def __init__(self, code: str, **members: Any) -> None:
        super().__init__(code)
        self.response = {"Error": {"Code": code, "Message": code}, **members}


class Transactional:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.requests: list[dict[str, Any]] = []

    def transact_write_items(self, **parameters: Any) -> dict[str, Any]:
        self.requests.append(parameters)
        if self.error is not None:
            raise self.error
        return {}


def test_a_transaction_is_one_request() -> None:
    client = Transactional()
    book = Product(code="b", name="Book", shelf=3, stock=4)
    book.revision = 2
    with Store(shop, client).transaction() as transaction:
        transaction.insert(Customer(id="2"))
        transaction.update(book, Product.stock.add(-1), when=Product.stock > 0)
        transaction.delete(Ref(Order, customer="1", number=9), when=Order.status == Status.OPEN)
        transaction.check(Ref(Customer, id="1"), Customer.id.exists())
        assert client.requests == []
    (request,) = client.requests
    put, update, delete, check = request["TransactItems"]
    assert put["Put"]["ConditionExpression"] == "attribute_not_exists(#n0)"
    assert update["Update"] == {
        "TableName": "shop",
        "Key": {"pk": {"S": "PRODUCT#b"}, "sk": {"S": "PRODUCT"}},
        "UpdateExpression": "SET #n0 = if_not_exists(#n0, :v1) + :v0 ADD #n1 :v2",
        "ConditionExpression": "attribute_exists(#n2) AND #n1 = :v3 AND #n0 > :v4",
        "ExpressionAttributeNames": {"#n0": "n", "#n1": "revision", "#n2": "pk"},
        "ExpressionAttributeValues": {
            ":v0": {"N": "-1"},
            ":v1": {"N": "10"},
            ":v2": {"N": "1"},
            ":v3": {"N": "2"},
            ":v4": {"N": "0"},
        },
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    assert delete["Delete"]["Key"] == Ref(Order, customer="1", number=9).key
    assert check["ConditionCheck"]["ConditionExpression"] == "attribute_exists(#n0)"
    assert book.revision == 3


def test_all_of_it_is_done_or_nothing(store: Store) -> None:
    ann, book = Customer(id="1", name="Ann"), Product(code="b", name="Book", shelf=3, stock=1)
    with store.transaction() as transaction:
        transaction.insert(ann)
        transaction.put(book)
    assert store.get_many([Ref(Customer, id="1")]) == [ann]
    assert (book.revision, store.get(Product, code="b")) == (1, book)

    def buy(number: int) -> None:
        with store.transaction() as transaction:
            transaction.insert(order(number))
            transaction.update(Ref(Product, code="b"), Product.stock.add(-1), when=Product.stock > 0)
            transaction.update(Ref(Customer, id="1"), Customer.orders.add(1))
            transaction.check(Ref(Customer, id="barred"), Customer.id.missing())

    buy(1)
    with pytest.raises(TransactionFailed) as caught:
        buy(2)
    blamed = caught.value.reasons[1]
    assert [each is None for each in caught.value.reasons] == [True, False, True, True]
    assert blamed is not None
    assert (blamed.code, blamed.entity) == ("ConditionalCheckFailed", store.get(Product, code="b"))
    assert [each.number for each in store.run(Order.key.query(Order.customer == "1"))] == [1]
    assert store.run(Get(Customer, id="1")) == Customer(id="1", name="Ann", orders=1)


def test_nothing_is_sent_when_its_block_fails_or_has_nothing() -> None:
    client = Transactional()

    def fail() -> None:
        with Store(shop, client).transaction() as transaction:
            transaction.put(Customer(id="1"))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with Store(shop, client).transaction():
        pass
    assert client.requests == []


def test_a_cancelled_transaction_tells_which_of_its_actions_are_to_blame() -> None:
    stored = Customer(id="1", orders=7)
    item = Customer.__model__.encode(stored)
    error = ServiceError(
        "TransactionCanceledException",
        CancellationReasons=[
            {"Code": "None"},
            {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed", "Item": item},
        ],
    )
    book = Product(code="b", name="Book", shelf=3)
    with pytest.raises(TransactionFailed) as caught, Store(shop, Transactional(error)).transaction() as transaction:
        transaction.add(Put(book), Update(Ref(Customer, id="1"), Customer.orders.add(1), when=Customer.orders < 5))
    first, second = caught.value.reasons
    assert first is None
    assert isinstance(second, Reason)
    assert (second.code, second.entity) == ("ConditionalCheckFailed", stored)
    assert str(caught.value) == (
        "The transaction was cancelled: UpdateItem of Ref(Customer, id='1'): it is not as the condition wants it"
    )
    assert book.revision == 0


def test_an_insert_of_a_transaction_says_what_a_single_one_says(store: Store) -> None:
    store.insert(Customer(id="1"))
    with pytest.raises(TransactionFailed) as caught, store.transaction() as transaction:
        transaction.add(Put(Customer(id="1"), new=True), Update(Ref(Customer, id="2"), Customer.orders.add(1)))
    assert [str(each) for each in caught.value.reasons] == [
        "PutItem of Ref(Customer, id='1'): there is one already",
        "UpdateItem of Ref(Customer, id='2'): there is none",
    ]


def test_what_is_outside_of_the_with_block_is_refused_since_it_would_be_lost(store: Store) -> None:
    transaction = store.transaction()
    refusal = r"^PutItem of Ref\(Customer, id='1'\) is outside of its transaction's with block"
    with pytest.raises(PlanRefused, match=refusal):
        transaction.put(Customer(id="1"))
    with transaction:
        transaction.put(Customer(id="2"))
    with pytest.raises(PlanRefused, match=refusal):
        transaction.add(Put(Customer(id="1")))
    assert (store.get(Customer, id="1"), store.get(Customer, id="2")) == (None, Customer(id="2"))


def test_other_errors_are_the_clients() -> None:
    with (
        pytest.raises(ServiceError, match="ThrottlingException"),
        Store(shop, Transactional(ServiceError("ThrottlingException"))).transaction() as transaction,
    ):
        transaction.put(Customer(id="1"))


def test_a_transaction_does_one_thing_with_each_item_and_not_too_many() -> None:
    transaction = Store(shop, Transactional()).transaction().__enter__()
    transaction.put(Customer(id="1"))
    with pytest.raises(
        PlanRefused, match=r"^A transaction does one thing with each item, and Ref\(Customer, id='1'\) is in it twice$"
    ):
        transaction.delete(Ref(Customer, id="1"))
    for number in range(99):
        transaction.put(order(number))
    with pytest.raises(PlanRefused, match=r"^A transaction has 100 actions at most$"):
        transaction.put(Customer(id="2"))
