"""Batches: chunks, order, and what the service leaves undone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.modeling.conftest import Recorder
from tests.modeling.shop import Customer, Order, Product, order, shop
from torusdb.modeling import BatchGet, BatchIncomplete, Delete, PlanRefused, Put, Ref, Store, Table


def people(count: int) -> list[Customer]:
    return [Customer(id=f"{number:04}") for number in range(count)]


def test_batches_are_cut_into_chunks(store: Store, client: Recorder) -> None:
    everyone = people(120)
    client.requests.clear()
    store.put_many(everyone)
    assert [len(each["RequestItems"]["shop"]) for _, each in client.requests] == [25, 25, 25, 25, 20]
    client.requests.clear()
    refs = [Ref(Customer, id=each.id) for each in everyone]
    assert store.get_many(refs) == everyone
    assert [len(each["RequestItems"]["shop"]["Keys"]) for _, each in client.requests] == [100, 20]
    store.delete_many(refs[:100])
    assert store.get_many(refs, consistent=True) == [None] * 100 + everyone[100:]
    assert client.requests[-1][1]["RequestItems"]["shop"]["ConsistentRead"] is True


def test_answers_are_in_the_order_of_the_keys(store: Store) -> None:
    store.put_many([*people(3), order(1)])
    refs: list[Ref[Any]] = [Ref(Customer, id="0002"), Ref(Order, customer="1", number=1), Ref(Customer, id="none")]
    assert store.get_many([*refs, refs[0]]) == [people(3)[2], order(1), None, people(3)[2]]
    assert store.run(BatchGet(refs[:1])) == [people(3)[2]]
    assert store.get_many([]) == []
    assert BatchGet(refs).explain().reads == "3 of Customer and Order by key"


def test_the_last_of_several_writes_of_an_item_is_done(store: Store) -> None:
    store.write_many(
        [
            Put(Customer(id="1", name="a")),
            Put(Customer(id="1", name="b")),
            Put(Customer(id="2")),
            Delete(Ref(Customer, id="2")),
        ]
    )
    assert store.get(Customer, id="1") == Customer(id="1", name="b")
    assert store.get(Customer, id="2") is None


class Grudging:
    """A client that does a part of each batch only: of the first items, as many as `does` says next."""

    def __init__(self, client: Any, does: list[int]) -> None:
        self.client = client
        self.does = does
        self.asked: list[int] = []

    def batch_write_item(self, **parameters: Any) -> Any:
        (items,) = parameters["RequestItems"].values()
        self.asked.append(len(items))
        done = self.does.pop(0)
        if items[:done]:
            self.client.batch_write_item(RequestItems={"shop": items[:done]})
        return {"UnprocessedItems": {"shop": items[done:]} if items[done:] else {}}

    def batch_get_item(self, **parameters: Any) -> Any:
        keys = parameters["RequestItems"]["shop"]["Keys"]
        self.asked.append(len(keys))
        done = self.does.pop(0)
        found = self.client.batch_get_item(RequestItems={"shop": {"Keys": keys[:done]}})["Responses"] if done else {}
        return {"Responses": found, "UnprocessedKeys": {"shop": {"Keys": keys[done:]}} if keys[done:] else {}}


def grudging(client: Any, does: list[int]) -> tuple[Store, Grudging, list[float]]:
    made, pauses = Grudging(client, does), list[float]()
    return Store(shop, made, sleep=pauses.append, random=lambda: 0.5), made, pauses


def test_what_was_left_is_sent_again_after_longer_and_longer_pauses(store: Store, client: Recorder) -> None:
    slow, asked, pauses = grudging(client, [4, 0, 0, 2, 0, 4])
    slow.put_many(people(10))
    assert asked.asked == [10, 6, 6, 6, 4, 4]
    assert pauses == pytest.approx([0.025, 0.05, 0.1, 0.025, 0.05])
    slow, asked, pauses = grudging(client, [4, 0, 6])
    assert slow.get_many([Ref(Customer, id=each.id) for each in people(10)]) == people(10)
    assert asked.asked == [10, 6, 6]
    assert pauses == pytest.approx([0.025, 0.05])


def test_a_batch_that_does_not_get_on_tells_what_is_left(store: Store, client: Recorder) -> None:
    slow, _, pauses = grudging(client, [1, *[0] * 20])
    with pytest.raises(BatchIncomplete, match=r"^2 of 3 were not written, in 10 attempts$") as caught:
        slow.put_many(people(3))
    assert [each.entity for each in caught.value.left] == people(3)[1:]
    assert store.get(Customer, id="0000") is not None
    assert max(pauses) <= 5
    slow, _, _ = grudging(client, [1, *[0] * 20])
    with pytest.raises(BatchIncomplete, match=r"^2 of 3 were not read, in 10 attempts$") as caught:
        slow.get_many([Ref(Customer, id=each.id) for each in people(3)])
    assert [each.values["id"] for each in caught.value.left] == ["0001", "0002"]


def test_what_a_batch_cannot_do_is_refused(store: Store, client: Recorder) -> None:
    client.requests.clear()
    with pytest.raises(PlanRefused, match=r"^A batch takes no conditions, and Ref\(Customer, id='1'\) has one: "):
        store.write_many([Put(Customer(id="1"), Customer.id.missing())])
    with pytest.raises(PlanRefused, match=r"^A batch takes no conditions, and Product has a version: "):
        store.put_many([Product(code="b", name="B", shelf=1)])
    with pytest.raises(PlanRefused, match=r"^This is of the table shop, and the store is of other$"):
        Store(Table("other", partition_key="pk"), client).put_many(people(1))
    assert client.requests == []
