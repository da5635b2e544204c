"""Objects go into a table and come out as they were."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.modeling.conftest import Recorder
from tests.modeling.shop import Address, Customer, Order, Product, order, shop
from torusdb.modeling import (
    Attr,
    ConditionFailed,
    Delete,
    Entity,
    Get,
    InvalidValue,
    Key,
    PlanRefused,
    Put,
    Ref,
    Scan,
    Store,
    Table,
    TableNotFound,
    Update,
)


def test_what_is_put_is_what_is_got(store: Store) -> None:
    ann = Customer(id="1", name="Ann", email="ann@example.com", address=Address("High St", "Bath"), tags={"a", "b"})
    store.put(ann)
    assert store.get(Customer, id="1") == ann
    assert store.get(Customer, id="2") is None


def test_an_item_has_its_keys_its_entity_and_its_values_apart_from_each_other(store: Store, client: Recorder) -> None:
    store.put(order(7, total=Decimal("12.50")))
    (_, request) = client.requests[-1]
    assert request == {
        "TableName": "shop",
        "Item": {
            "_type": {"S": "Order"},
            "pk": {"S": "CUSTOMER#1"},
            "sk": {"S": "#ORDER#9999999999999992"},
            "gsi1pk": {"S": "ORDERS#open"},
            "gsi1sk": {"S": "2024-03-01T07:00:00.000000Z#00000007"},
            "gsi2pk": {"S": "ORDERS#2"},
            "gsi2sk": {"S": "2024-03-01T07:00:00.000000Z#1"},
            "lsi1sk": {"S": "TOTAL#000000012.50"},
            "customer": {"S": "1"},
            "number": {"N": "7"},
            "status": {"S": "open"},
            "placed": {"S": "2024-03-01T07:00:00.000000Z"},
            "total": {"N": "12.50"},
        },
    }


def test_an_entity_whose_index_key_lacks_a_field_is_not_in_that_index(store: Store) -> None:
    store.put_many([Customer(id="1"), Customer(id="2", email="b@example.com")])
    assert [each.id for each in store.run(Customer.by_email.query(Customer.email == "b@example.com"))] == ["2"]
    assert "email_pk" not in Put(Customer(id="1")).item


def test_put_replaces_and_insert_does_not(store: Store) -> None:
    store.insert(Customer(id="1", name="Ann"))
    store.put(Customer(id="1", name="Bob"))
    with pytest.raises(ConditionFailed, match=r"PutItem of Ref\(Customer, id='1'\): there is one already") as caught:
        store.insert(Customer(id="1", name="Cyd"))
    assert caught.value.entity == Customer(id="1", name="Bob")


def test_a_condition_that_does_not_hold_tells_what_is_stored(store: Store) -> None:
    store.put(Customer(id="1", orders=3))
    with pytest.raises(ConditionFailed) as caught:
        store.put(Customer(id="1"), when=Customer.orders == 4)
    assert caught.value.entity == Customer(id="1", orders=3)
    assert caught.value.item is not None
    store.put(Customer(id="1"), when=Customer.orders == 3)


def test_delete(store: Store) -> None:
    store.put(Customer(id="1", orders=3))
    with pytest.raises(ConditionFailed):
        store.delete(Ref(Customer, id="1"), when=Customer.orders < 3)
    store.delete(Customer(id="1"))
    store.delete(Ref(Customer, id="1"))
    assert store.get(Customer, id="1") is None
    with pytest.raises(ConditionFailed, match="there is none") as caught:
        store.delete(Ref(Customer, id="1"), when=Customer.id.exists())
    assert caught.value.entity is None


def test_a_table_that_is_not_there_is_named(store: Store) -> None:
    other = Store(shop, store._client, table_name="shop-test")
    with pytest.raises(TableNotFound) as caught:
        other.get(Customer, id="1")
    assert str(caught.value) == (
        "There is no table shop-test: make it with store.create_table(), or say with table_name= what it is called here"
    )
    assert "ResourceNotFoundException" in str(caught.value.__cause__)
    assert caught.value.response["Error"]["Code"] == "ResourceNotFoundException"
    for work in (
        lambda: other.put_many([Customer(id="1")]),
        lambda: other.transact_get(Ref(Customer, id="1")),
        lambda: other.run(Scan(Customer)).all(),
    ):
        with pytest.raises(TableNotFound, match=r"^There is no table shop-test:"):
            work()
    nowhere = Store(Table("nowhere", partition_key="pk"), store._client)

    class Note(Entity, table=nowhere.table):
        key = Key("NOTE#{id}")
        id: Attr[str]

    with (
        pytest.raises(TableNotFound, match=r"^One of the tables shop, nowhere is not there:"),
        store.transaction(others=[nowhere]) as transaction,
    ):
        transaction.add(Put(Customer(id="1")), Put(Note(id="1")))


def test_plans_can_be_run_and_say_what_they_do(store: Store) -> None:
    store.run(Put(Customer(id="1")))
    assert store.run(Get(Customer, id="1").consistent()) == Customer(id="1")
    assert store.run(Update(Ref(Customer, id="1"), Customer.orders.add(1))).orders == 1
    store.run(Delete(Ref(Customer, id="1")))
    assert store.run(Get(Customer, id="1")) is None
    explained = Get(Customer, id="1").explain()
    assert (explained.operation, explained.key_condition) == ("GetItem", "pk = 'CUSTOMER#1' AND sk = 'PROFILE'")


def test_a_consistent_get_leaves_the_plan_that_it_was_made_from_as_it_was(store: Store) -> None:
    plain = Get(Customer, id="1")
    assert plain.consistent().requests()[0].parameters["ConsistentRead"] is True
    assert "ConsistentRead" not in plain.requests()[0].parameters


@pytest.mark.parametrize("key", [{}, {"id": "1", "name": "Ann"}, {"name": "Ann"}])
def test_a_key_is_given_whole_and_with_nothing_else(key: dict[str, str]) -> None:
    with pytest.raises(PlanRefused, match=r"^The key of Customer is made of id: give these, and no others$"):
        Get(Customer, **key)


def test_a_key_has_no_none() -> None:
    with pytest.raises(PlanRefused, match=r"^Customer\.id is None, and is in the key$"):
        Ref(Customer, id=None)


def test_a_store_takes_what_is_of_its_table(store: Store) -> None:
    other = Store(Table("other", partition_key="pk"), store._client)
    with pytest.raises(PlanRefused, match=r"^This is of the table shop, and the store is of other$"):
        other.put(Customer(id="1"))
    with pytest.raises(PlanRefused, match=r"^This is of the table shop"):
        other.run(Order.key.query(Order.customer == "1"))


def test_values_of_another_type_are_refused_and_nothing_is_sent(store: Store, client: Recorder) -> None:
    with pytest.raises(InvalidValue, match=r"^Customer\.orders: 'x' is not an int$"):
        store.put(Customer(id="1", orders="x"))  # type: ignore[arg-type]
    assert client.requests == []


def test_an_item_that_is_no_such_entity_cannot_be_read(store: Store, client: Recorder) -> None:
    key = {"pk": {"S": "CUSTOMER#1"}, "sk": {"S": "PROFILE"}}
    client.put_item(TableName="shop", Item={**key, "name": {"S": "Ann"}})
    with pytest.raises(InvalidValue, match=r"^Customer\.id cannot be read: the item has no id$"):
        store.get(Customer, id="1")
    client.put_item(TableName="shop", Item={**key, "id": {"S": "1"}, "orders": {"S": "many"}})
    with pytest.raises(InvalidValue, match=r"^Customer\.orders cannot be read from \{'S': 'many'\}"):
        store.get(Customer, id="1")


def test_what_was_stored_before_an_attribute_was_declared_has_its_default(store: Store, client: Recorder) -> None:
    client.put_item(
        TableName="shop", Item={"pk": {"S": "CUSTOMER#1"}, "sk": {"S": "PROFILE"}, "id": {"S": "1"}, "gone": {"S": "x"}}
    )
    assert store.get(Customer, id="1") == Customer(id="1")


def test_computed_attributes_are_stored_and_follow_the_object(store: Store) -> None:
    book = Product(code="b", name="Book", shelf=3)
    assert book.label == "Book (3)"
    book.name = "Tome"
    assert Put(book).item["label"] == {"S": "Tome (3)"}
    assert Put(book).item["gsi1sk"] == {"S": "Tome (3)"}
    store.put(book)
    assert store.run(Product.by_shelf.query(Product.shelf == 3, Product.label.begins_with("To"))).all() == [book]


def test_read_only_attributes_can_be_given_once() -> None:
    book = Product(code="b", name="Book", shelf=3)
    with pytest.raises(AttributeError, match=r"^Product\.code is read-only$"):
        book.code = "c"
    with pytest.raises(AttributeError, match=r"^Product\.label is read-only$"):
        book.label = "c"
    assert book.code == "b"


def test_an_attribute_can_be_stored_by_another_name() -> None:
    assert Put(Product(code="b", name="Book", shelf=3)).item["n"] == {"N": "10"}


def test_scan_gives_one_kind_of_the_table(store: Store, client: Recorder) -> None:
    orders = [order(number) for number in range(20)]
    store.put_many([*orders, *(Customer(id=str(each)) for each in range(5))])
    assert sorted(store.run(Scan(Order)), key=lambda each: each.number) == orders
    assert len(store.run(Scan(Customer).segments(3)).all()) == 5
    assert [each["Segment"] for method, each in client.requests if "Segment" in each] == [0, 1, 2]
    assert "whole table" in str(Scan(Order).explain())
