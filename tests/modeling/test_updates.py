"""Updates: what they do to an item, what follows from them, what is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.modeling.conftest import Recorder
from tests.modeling.shop import MIDNIGHT, Address, Customer, Order, Product, Status, order
from torusdb.modeling import (
    Action,
    Attr,
    ConditionFailed,
    Entity,
    GlobalIndex,
    InvalidValue,
    Key,
    PlanRefused,
    Put,
    Ref,
    Store,
    Table,
    Update,
    Upsert,
    attr,
    computed,
)

ANN = Ref(Customer, id="1")

folders = GlobalIndex("folders", partition_key="gpk")
notebook = Table("notebook", partition_key="pk", indexes=[folders])


class Note(Entity, table=notebook):
    key = Key("N#{id}")
    by_folder = Key("{folder}#{title}#", index=folders)
    id: Attr[str]
    folder: Attr[str]
    title: Attr[str]


@pytest.mark.parametrize(
    ("action", "changed"),
    [
        (Customer.name.set("Bob"), {"name": "Bob"}),
        (Customer.name.set_if_missing("Bob"), {"name": "Ann"}),
        (Customer.orders.add(5), {"orders": 8}),
        (Customer.orders.set(Customer.orders), {"orders": 3}),
        (Customer.notes.append(["c", "d"]), {"notes": ["a", "b", "c", "d"]}),
        (Customer.notes.prepend(["c"]), {"notes": ["c", "a", "b"]}),
        (Customer.notes[0].set("z"), {"notes": ["z", "b"]}),
        (Customer.notes[1].remove(), {"notes": ["a"]}),
        (Customer.tags.add_to({"y", "z"}), {"tags": {"x", "y", "z"}}),
        (Customer.tags.delete_from({"x", "q"}), {"tags": {"y"}}),
        (Customer.tags.delete_from({"x", "y"}), {"tags": set()}),
        (Customer.tags.set(set()), {"tags": set()}),
        (Customer.tags.remove(), {"tags": set()}),
        (Customer.address.city.set("York"), {"address": Address("High St", "York")}),
        (Customer.address["zip_code"].set("Y1"), {"address": Address("High St", "Bath", "Y1")}),
        (Customer.address.set(None), {"address": None}),
        (Customer.email.remove(), {"email": None}),
    ],
)
def test_what_an_action_does(store: Store, action: Action, changed: dict[str, Any]) -> None:
    values: dict[str, Any] = {
        "id": "1",
        "name": "Ann",
        "email": "ann@example.com",
        "address": Address("High St", "Bath"),
        "tags": {"x", "y"},
        "notes": ["a", "b"],
        "orders": 3,
    }
    store.put(Customer(**values))
    expected = Customer(**(values | changed))
    assert store.update(ANN, action) == expected
    assert store.get(Customer, id="1") == expected


def test_adding_begins_where_nothing_is_stored_with_the_default(store: Store, client: Recorder) -> None:
    store.put(Product(code="b", name="Book", shelf=3))
    client.update_item(
        TableName="shop", Key=Ref(Product, code="b").key, UpdateExpression="REMOVE n", ReturnValues="NONE"
    )
    assert store.update(Ref(Product, code="b"), Product.stock.add(-4)).stock == 6
    store.put(Customer(id="1"))
    assert store.update(ANN, Customer.notes.append(["a"])).notes == ["a"]


lists = GlobalIndex("lists", partition_key="gpk")
defaults = Table("defaults", partition_key="pk", indexes=[lists])


class Task(Entity, table=defaults):
    key = Key("T#{id}")
    in_list = Key("LIST#{name}#{mark}", index=lists)
    id: Attr[str]
    name: Attr[str] = attr(default="inbox")
    mark: Attr[str | None] = attr(default="new")
    made_by: Attr[str] = attr(default_factory=lambda: "chance")
    shown: Attr[str] = computed(lambda task: f"{task.name} {task.made_by}", needs=["name", "made_by"])


@pytest.mark.parametrize("do", ["update", "upsert"])
@pytest.mark.parametrize(
    ("actions", "values"),
    [
        ([Task.mark.set(None), Task.name.set("a"), Task.made_by.set("me")], {"mark": None, "name": "a"}),
        ([Task.mark.remove(), Task.name.set("a"), Task.made_by.set("me")], {"mark": "new", "name": "a"}),
        ([Task.mark.set("b"), Task.name.remove(), Task.made_by.set("me")], {"mark": "b", "name": "inbox"}),
    ],
)
def test_none_is_kept_where_a_default_is_something_else(
    do: str, actions: list[Action], values: dict[str, Any], client: Recorder
) -> None:
    """And what is removed is read as its default, in the keys of indexes too."""
    tasks = Store(defaults, client)
    tasks.create_table()
    tasks.put(Task(id="1", name="z", mark="z", made_by="z"))
    expected = Task(id="1", made_by="me", **values)
    assert getattr(tasks, do)(Ref(Task, id="1"), *actions) == expected
    assert tasks.get(Task, id="1") == expected
    item = client.get_item(TableName="defaults", Key=Ref(Task, id="1").key)["Item"]
    assert item.get("gpk") == Put(expected).item.get("gpk")
    assert item["shown"] == Put(expected).item["shown"]


def test_what_is_another_default_each_time_is_not_removed_from_a_key() -> None:
    for plan in (Update, Upsert):
        with pytest.raises(PlanRefused, match=r"^Task\.made_by\.remove\(\) changes Task\.shown, which needs to know"):
            plan(Ref(Task, id="1"), Task.made_by.remove(), Task.name.set("a"))


def test_several_actions_are_one_request(store: Store, client: Recorder) -> None:
    store.put(Customer(id="1"))
    store.update(ANN, Customer.name.set("Bob"), Customer.orders.add(1), Customer.tags.add_to({"x"}))
    assert client.requests[-1] == (
        "update_item",
        {
            "TableName": "shop",
            "Key": {"pk": {"S": "CUSTOMER#1"}, "sk": {"S": "PROFILE"}},
            "UpdateExpression": "SET #n0 = :v0 ADD #n1 :v1, #n2 :v2",
            "ConditionExpression": "attribute_exists(#n3)",
            "ExpressionAttributeNames": {"#n0": "name", "#n1": "orders", "#n2": "tags", "#n3": "pk"},
            "ExpressionAttributeValues": {":v0": {"S": "Bob"}, ":v1": {"N": "1"}, ":v2": {"SS": ["x"]}},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            "ReturnValues": "ALL_NEW",
        },
    )


def test_what_is_not_there_is_not_updated(store: Store) -> None:
    with pytest.raises(ConditionFailed, match=r"^UpdateItem of Ref\(Customer, id='1'\): there is none$"):
        store.update(ANN, Customer.orders.add(1))
    assert store.get(Customer, id="1") is None


def test_an_update_under_a_condition(store: Store) -> None:
    store.put(Customer(id="1", orders=3))
    store.update(ANN, Customer.orders.add(1), when=Customer.orders < 4)
    with pytest.raises(ConditionFailed) as caught:
        store.update(ANN, Customer.orders.add(1), when=Customer.orders < 4)
    assert caught.value.entity == Customer(id="1", orders=4)


def test_the_keys_of_indexes_follow(store: Store) -> None:
    first = order(1)
    store.put(first)
    store.update(first, Order.status.set(Status.SENT))
    assert store.run(Order.by_status.query(Order.status == Status.OPEN)).all() == []
    assert [each.number for each in store.run(Order.by_status.query(Order.status == Status.SENT))] == [1]
    store.update(Ref(Order, customer="1", number=1), Order.total.set(Decimal(7)), Order.status.set(Status.PAID))
    assert [
        each.total for each in store.run(Order.by_total.query(Order.customer == "1", Order.total > Decimal(6)))
    ] == [7]
    moved = store.update(first, Order.placed.set(MIDNIGHT))
    assert store.run(Order.all_by_day.query(Order.placed <= MIDNIGHT)).all() == [moved]


def test_an_entity_enters_and_leaves_a_sparse_index(store: Store) -> None:
    store.put(Customer(id="1"))
    store.update(ANN, Customer.email.set("a@example.com"))
    query = Customer.by_email.query(Customer.email == "a@example.com")
    assert [each.id for each in store.run(query)] == ["1"]
    store.update(ANN, Customer.email.set(None))
    assert store.run(query).all() == []


def test_what_a_key_needs_besides_must_be_known_and_still_hold(store: Store, client: Recorder) -> None:
    with pytest.raises(PlanRefused) as caught:
        Update(Ref(Product, code="b"), Product.shelf.set(4))
    assert str(caught.value) == (
        "Product.label changes with this, and needs Product.name as well: "
        "set that too, or give the entity itself instead of a Ref"
    )
    book = Product(code="b", name="Book", shelf=3)
    store.put(book)
    assert store.update(book, Product.shelf.set(4)).label == "Book (4)"
    query = Product.by_shelf.query(Product.shelf == 4, Product.label == "Book (4)")
    assert store.run(query).first() is not None


def test_what_is_taken_from_the_object_must_still_be_stored_so(store: Store, client: Recorder) -> None:
    notes = Store(notebook, client)
    notes.create_table()
    notes.put(Note(id="1", folder="a", title="x"))
    stale = notes.get(Note, id="1")
    assert stale is not None
    notes.update(Ref(Note, id="1"), Note.folder.set("b"), Note.title.set("x"))
    with pytest.raises(ConditionFailed):
        notes.update(stale, Note.title.set("y"))
    fresh = notes.get(Note, id="1")
    assert fresh is not None
    assert notes.update(fresh, Note.title.set("y")).title == "y"
    assert client.requests[-1][1]["ConditionExpression"] == "attribute_exists(#n2) AND #n3 = :v2"
    assert notes.run(Note.by_folder.query(Note.folder == "b", Note.title == "y")).all() == [
        Note(id="1", folder="b", title="y")
    ]


@pytest.mark.parametrize(
    ("target", "actions", "refusal"),
    [
        (ANN, [], "An update of Customer needs at least one action"),
        (
            ANN,
            [Customer.id.set("2")],
            "Customer.id is in the key of Customer, which cannot be updated: delete it and put another",
        ),
        (ANN, [Order.total.set(Decimal(1))], "Order.total is no attribute of Customer"),
        (ANN, [Customer.name.set("a"), Customer.name.set("b")], "Customer.name is changed twice in one update"),
        (
            Ref(Product, code="b"),
            [Product.code.set("c")],
            "Product.code is in the key of Product, which cannot be updated: delete it and put another",
        ),
        (Ref(Product, code="b"), [Product.label.set("c")], "Product.label is read-only"),
        (Ref(Product, code="b"), [Product.revision.add(1)], "Product.revision is the version, which counts by itself"),
        (Ref(Product, code="b"), [Product.name.remove()], "Product.name cannot be removed: a Product needs it"),
        (
            Ref(Product, code="b"),
            [Product.name.set("x")],
            "Product.label changes with this, and needs Product.shelf as well: "
            "set that too, or give the entity itself instead of a Ref",
        ),
        (
            order(1),
            [Order.number.add(1)],
            "Order.number is in the key of Order, which cannot be updated: delete it and put another",
        ),
        (
            Product(code="b", name="B", shelf=1),
            [Product.shelf.add(1)],
            "Product.shelf.add(1) changes Product.label, which needs to know what becomes of it: "
            "use .set(value), on condition that it is as it was read",
        ),
    ],
)
def test_what_is_refused(target: Any, actions: list[Action], refusal: str) -> None:
    with pytest.raises(PlanRefused) as caught:
        Update(target, *actions)
    assert str(caught.value) == refusal


@pytest.mark.parametrize(
    ("action", "kind", "refusal"),
    [
        (
            lambda: Customer.name.add(1),
            PlanRefused,
            "Customer.name is of the type str, and only to numbers can be added",
        ),  # type: ignore[misc]
        (lambda: Customer.name.append(["a"]), PlanRefused, "Customer.name is of the type str, not a list"),  # type: ignore[misc]
        (lambda: Customer.name.add_to({"a"}), PlanRefused, "Customer.name is of the type str, not a set"),  # type: ignore[misc]
        (lambda: Customer.orders.set("x"), InvalidValue, "Customer.orders: 'x' is not an int"),  # type: ignore[arg-type]
        (lambda: Customer.tags.add_to(set()), InvalidValue, "Customer.tags: set() is nothing that is stored"),
        (lambda: Customer.notes["a"].set("x"), InvalidValue, "Customer.notes has no ['a']"),
    ],
)
def test_actions_that_cannot_be(action: Any, kind: type[Exception], refusal: str) -> None:
    with pytest.raises(kind) as caught:
        Update(ANN, action()).requests()
    assert str(caught.value) == refusal


def test_versions_keep_writers_from_undoing_each_other(store: Store) -> None:
    book = Product(code="b", name="Book", shelf=3)
    store.put(book)
    assert book.revision == 1
    mine, theirs = store.get(Product, code="b"), store.get(Product, code="b")
    assert mine is not None
    assert theirs is not None
    theirs.stock = 5
    store.put(theirs)
    assert theirs.revision == 2
    mine.stock = 9
    with pytest.raises(ConditionFailed) as caught:
        store.put(mine)
    assert caught.value.entity == theirs
    assert mine.revision == 1
    with pytest.raises(ConditionFailed):
        store.update(mine, Product.stock.set(1))
    with pytest.raises(ConditionFailed):
        store.delete(mine)
    with pytest.raises(ConditionFailed):
        store.put(Product(code="b", name="New", shelf=1))
    assert store.update(theirs, Product.stock.add(1)).stock == 6
    assert theirs.revision == 3
    assert store.update(Ref(Product, code="b"), Product.stock.add(1)).revision == 4
    with pytest.raises(ConditionFailed):
        store.delete(theirs)
    store.delete(Ref(Product, code="b"))
