"""One model on several tables: every request, answer, cursor and explanation has the name that the store has."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from tests.modeling.conftest import Recorder
from tests.modeling.shop import Customer, Order, Product, Status, order, orders_by_status, shop
from tests.modeling.test_batches import Grudging
from torusdb.modeling import (
    BatchGet,
    BatchIncomplete,
    CursorRefused,
    Get,
    PlanRefused,
    Put,
    Ref,
    Scan,
    Store,
    Table,
    TransactionFailed,
)

STAGES = ["shop-test", "shop-prod"]


@pytest.fixture
def stages(client: Recorder) -> list[Store]:
    """Two stages, beside each other, and nothing that is called as the model is."""
    made = [Store(shop, client, table_name=name) for name in STAGES]
    for store in made:
        store.create_table()
    return made


def names_in(request: Any) -> set[str]:
    """All names of tables, wherever they stand in a request."""
    if isinstance(request, dict):
        own = {request["TableName"]} if "TableName" in request else set(request.get("RequestItems", ()))
        return own.union(*(names_in(each) for each in request.values()))
    return set().union(*map(names_in, request)) if isinstance(request, list) else set()


def test_all_that_a_store_does_is_done_in_its_table(stages: list[Store], client: Recorder) -> None:
    test, prod = stages
    test.put(Customer(id="1", name="Tess"))
    book = Product(code="b", name="Book", shelf=3, stock=2)
    with prod.transaction() as transaction:
        transaction.insert(Customer(id="1", name="Pia"))
        transaction.put(book)
    prod.put_many([order(number) for number in range(30)])
    book = prod.update(book, Product.stock.add(1))
    prod.delete(order(0))
    assert len(prod.run(orders_by_status(Status.OPEN, date(2024, 3, 1), date(2024, 3, 9)).page_size(4)).all()) == 29
    assert prod.run(Order.all_by_day.query().count()) == 29
    assert len(prod.run(Scan(Order).segments(2)).all()) == 29
    assert prod.get_many([Ref(Customer, id="1"), Ref(Product, code="b")]) == [Customer(id="1", name="Pia"), book]
    assert test.get(Customer, id="1") == Customer(id="1", name="Tess")
    assert test.run(Scan(Order)).all() == []
    assert set().union(*(names_in(parameters) for _, parameters in client.requests)) == set(STAGES)
    with pytest.raises(TransactionFailed), test.transaction() as transaction:
        transaction.insert(Customer(id="1"))


def test_what_a_batch_left_undone_is_told_by_its_plans(stages: list[Store]) -> None:
    class Refusing(Grudging):
        def batch_write_item(self, **parameters: Any) -> Any:
            return {"UnprocessedItems": parameters["RequestItems"]}

        def batch_get_item(self, **parameters: Any) -> Any:
            return {"Responses": {}, "UnprocessedKeys": parameters["RequestItems"]}

    store = Store(shop, Refusing(None, []), table_name="shop-prod", sleep=lambda _: None)
    writes, refs = [Put(Customer(id="1"))], [Ref(Customer, id="1")]
    with pytest.raises(BatchIncomplete) as caught:
        store.write_many(writes)
    assert caught.value.left == writes
    with pytest.raises(BatchIncomplete) as caught:
        store.run(BatchGet(refs))
    assert caught.value.left == refs


def test_a_cursor_is_of_one_stage(stages: list[Store]) -> None:
    query = Order.key.query(Order.customer == "1")
    for store in stages:
        store.put_many([order(number) for number in range(5)])
    results = stages[0].run(query.limit(2))
    seen = [each.number for each in results]
    rest = [each.number for each in stages[0].run(query.after(results.cursor))]
    assert seen + rest == [4, 3, 2, 1, 0]
    with pytest.raises(CursorRefused, match=r"^This cursor is of another query$"):
        stages[1].run(query.after(results.cursor))


def test_a_store_explains_plans_as_it_runs_them(stages: list[Store]) -> None:
    query = Order.key.query(Order.customer == "1")
    plans = [query, query.count(), Get(Customer, id="1"), Put(Customer(id="1")), BatchGet([]), Scan(Order)]
    assert {stages[1].explain(plan).table for plan in plans} == {"shop-prod"}
    assert str(stages[1].explain(query)).startswith("Query of shop-prod\n")
    assert query.explain().table == "shop"


def test_a_table_of_another_model_is_refused_before_anything_is_sent(stages: list[Store], client: Recorder) -> None:
    other = Store(Table("other", partition_key="pk"), client, table_name="other-prod")
    client.requests.clear()
    refusal = r"^This is of the table shop, and the store is of other-prod$"
    with pytest.raises(PlanRefused, match=refusal):
        other.write_many([Put(Customer(id="1"))])
    with pytest.raises(PlanRefused, match=refusal), other.transaction() as transaction:
        transaction.put(Customer(id="1"))
    for plan in (Put(Customer(id="1")), Scan(Customer)):
        with pytest.raises(PlanRefused, match=refusal):
            other.explain(plan)
    assert json.dumps(client.requests) == "[]"
