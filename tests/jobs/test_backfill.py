"""A global index that is added to a table with items: whatever happens meanwhile, it ends with exactly the entries of
the items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.jobs.by_hand import ByHand, JobRun
from torusdb.jobs import tables
from torusdb.jobs.tables import backfill, clear_leftovers, end_phases

ITEMS = 7
ITEMS_A_STEP = 2


@pytest.fixture(autouse=True)
def _short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BACKFILL_ITEMS_MAX", ITEMS_A_STEP)


def make_table(hand: ByHand, name: str = "orders") -> None:
    hand.call(
        "CreateTable",
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
    )


def add_index(hand: ByHand, index: str = "by-owner", projection: dict[str, Any] | None = None) -> Any:
    return hand.call(
        "UpdateTable",
        TableName="orders",
        AttributeDefinitions=[{"AttributeName": "owner", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": index,
                    "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
                    "Projection": projection or {"ProjectionType": "ALL"},
                }
            }
        ],
    )


def delete_index(hand: ByHand, index: str = "by-owner") -> None:
    hand.call("UpdateTable", TableName="orders", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": index}}])


def put(hand: ByHand, number: int, owner: str | None = "ann", **more: Any) -> None:
    item = {"pk": {"S": f"order {number}"}, **more}
    if owner is not None:
        item["owner"] = {"S": owner}
    hand.call("PutItem", TableName="orders", Item=item)


def delete(hand: ByHand, number: int) -> None:
    hand.call("DeleteItem", TableName="orders", Key={"pk": {"S": f"order {number}"}})


def fill(hand: ByHand, index: str = "by-owner") -> dict[str, Any]:
    hand.run_jobs()
    described = hand.call("DescribeTable", TableName="orders")
    return next(one for one in described["GlobalSecondaryIndexes"] if one["IndexName"] == index)


def require_exact(hand: ByHand, index: str = "by-owner") -> None:
    entries = hand.entries("orders", index)
    assert entries == hand.entries_of_items("orders", index)
    items, size = hand.counted("orders", index)
    assert items == len(entries)
    assert (size > 0) == (items > 0)


@pytest.fixture
def orders(hand: ByHand) -> ByHand:
    """Seven orders, all of one owner: several steps of a back-fill."""
    make_table(hand)
    for number in range(ITEMS):
        put(hand, number)
    return hand


def test_an_index_is_active_once_all_items_have_their_entries(orders: ByHand) -> None:
    told = add_index(orders)
    assert (told["TableStatus"], told["GlobalSecondaryIndexes"][0]["IndexStatus"]) == ("UPDATING", "CREATING")
    assert told["GlobalSecondaryIndexes"][0]["Backfilling"] is False

    described = orders.call("DescribeTable", TableName="orders")
    assert described["TableStatus"] == "ACTIVE"
    assert described["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
    assert described["GlobalSecondaryIndexes"][0]["Backfilling"] is True

    index = fill(orders)
    assert index["IndexStatus"] == "ACTIVE"
    assert "Backfilling" not in index
    assert index["ItemCount"] == ITEMS
    require_exact(orders)


def test_it_cannot_be_read_from_before(orders: ByHand) -> None:
    add_index(orders)
    query = {"TableName": "orders", "IndexName": "by-owner"}
    refusal = ("ValidationException", "Cannot read from backfilling global secondary index: by-owner")
    assert orders.refused("Scan", **query) == refusal
    fill(orders)
    assert orders.call("Scan", **query)["Count"] == ITEMS


def test_its_progress_shows_in_its_count(orders: ByHand) -> None:
    add_index(orders)
    run = JobRun(orders, backfill)
    run.step()
    counts = []
    while run.step():
        described = orders.call("DescribeTable", TableName="orders")
        counts.append(described["GlobalSecondaryIndexes"][0]["ItemCount"])
    assert counts == [2, 4, 6, 7, 7]


def test_an_index_on_an_empty_table_is_soon_there(hand: ByHand) -> None:
    make_table(hand)
    add_index(hand)
    assert fill(hand)["IndexStatus"] == "ACTIVE"
    require_exact(hand)


@pytest.mark.parametrize(
    "owner",
    [{"N": "5"}, {"S": ""}, {"L": [{"S": "ann"}]}, {"NULL": True}, None],
    ids=["a number", "empty", "a list", "null", "missing"],
)
def test_items_whose_attribute_cannot_be_a_key_are_skipped(orders: ByHand, owner: dict[str, Any] | None) -> None:
    item = {"pk": {"S": "order 3"}} | ({} if owner is None else {"owner": owner})
    orders.call("PutItem", TableName="orders", Item=item)
    add_index(orders)
    assert fill(orders)["ItemCount"] == ITEMS - 1
    require_exact(orders)
    # Nor are they in the way of what happens to them later.
    put(orders, 3, "bob")
    assert len(orders.entries("orders", "by-owner")) == ITEMS
    require_exact(orders)


@pytest.mark.parametrize(
    "projection",
    [{"ProjectionType": "KEYS_ONLY"}, {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["note"]}],
    ids=["keys", "some"],
)
def test_only_what_the_index_projects_is_stored(orders: ByHand, projection: dict[str, Any]) -> None:
    put(orders, 3, "ann", note={"S": "n"}, more={"S": "m"})
    add_index(orders, projection=projection)
    fill(orders)
    require_exact(orders)
    assert all("more" not in item for item in orders.entries("orders", "by-owner").values())


def test_two_indexes_are_filled_one_after_the_other(orders: ByHand) -> None:
    add_index(orders, "first")
    limit = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
    with pytest.raises(Exception, match=limit):
        add_index(orders, "second")
    fill(orders, "first")
    add_index(orders, "second")
    fill(orders, "second")
    require_exact(orders, "first")
    require_exact(orders, "second")


# Cut off, dropped, replaced.


def test_it_goes_on_after_a_crash_wherever_it_was(orders: ByHand) -> None:
    add_index(orders)
    steps = 0
    while orders.table("orders").index_by_name["by-owner"].status == "CREATING":
        run = JobRun(orders, backfill)
        for _ in range(3):
            steps += run.step()
        orders.reopen()
    require_exact(orders)
    # It never began again from the start: a wait and two steps each time, for four pages and the end.
    assert steps <= 3 * 5


def test_a_crash_at_every_step_loses_nothing(hand: ByHand) -> None:
    for cut_after in range(9):
        name = f"orders-{cut_after}"
        make_table(hand, name)
        for number in range(ITEMS):
            item = {"pk": {"S": f"order {number}"}, "owner": {"S": "ann"}}
            hand.call("PutItem", TableName=name, Item=item)
        create = {
            "IndexName": "by-owner",
            "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
        hand.call(
            "UpdateTable",
            TableName=name,
            AttributeDefinitions=[{"AttributeName": "owner", "AttributeType": "S"}],
            GlobalSecondaryIndexUpdates=[{"Create": create}],
        )
        run = JobRun(hand, backfill)
        for _ in range(cut_after):
            run.step()
        hand.reopen()
        hand.run_jobs()
        assert hand.table(name).index_by_name["by-owner"].status == "ACTIVE"
        assert hand.entries(name, "by-owner") == hand.entries_of_items(name, "by-owner")
        assert hand.counted(name, "by-owner")[0] == ITEMS


def test_an_index_may_be_deleted_while_it_is_filled(orders: ByHand) -> None:
    before = orders.stored()
    add_index(orders)
    run = JobRun(orders, backfill)
    run.step()
    run.step()
    delete_index(orders)
    run.finish()
    orders.run_jobs()
    assert "GlobalSecondaryIndexes" not in orders.call("DescribeTable", TableName="orders")
    # The catalog's record is another one; all else is as it was.
    assert [key for key, _ in orders.stored()] == [key for key, _ in before]


def test_a_back_fill_does_not_end_an_index_that_came_in_place_of_its_own(orders: ByHand) -> None:
    add_index(orders)
    run = JobRun(orders, backfill)
    for _ in range(5):
        assert run.step()
    # All entries are there, and only the last step is missing.
    require_exact(orders)
    delete_index(orders)
    add_index(orders)
    run.finish()
    assert orders.table("orders").index_by_name["by-owner"].status == "CREATING"
    fill(orders)
    require_exact(orders)


def test_a_back_fill_does_not_end_an_index_that_a_change_of_the_table_kept_it_from() -> None:
    hand = ByHand(table_delay_seconds=10)
    make_table(hand)
    hand.advance(10)
    for number in range(ITEMS):
        put(hand, number)
    add_index(hand)
    hand.clock += 10
    JobRun(hand, end_phases).finish()
    hand.clock += 10

    run = JobRun(hand, backfill)
    run.step()
    run.step()
    hand.call(
        "UpdateTable",
        TableName="orders",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )
    run.step()
    hand.clock += 10
    JobRun(hand, end_phases).finish()
    run.finish()
    assert hand.table("orders").index_by_name["by-owner"].status == "CREATING"
    hand.advance(10)
    assert hand.table("orders").index_by_name["by-owner"].status == "ACTIVE"
    require_exact(hand)
    hand.close()


# Writes meanwhile.


def writes(hand: ByHand, number: int) -> Iterator[None]:
    """Every way to change an item, one after another."""
    put(hand, number, "bob")
    yield
    put(hand, number, "bob", note={"S": "a change in place"})
    yield
    put(hand, number, None)
    yield
    put(hand, number, "carl")
    yield
    delete(hand, number)
    yield
    put(hand, number, "dora")
    yield


@pytest.mark.parametrize("steps_before", range(6))
@pytest.mark.parametrize("writes_done", range(1, 7))
@pytest.mark.parametrize("number", [0, 3, 6])
def test_writes_between_its_steps_leave_no_entry_too_many_or_too_few(
    orders: ByHand, number: int, writes_done: int, steps_before: int
) -> None:
    add_index(orders)
    run = JobRun(orders, backfill)
    for _ in range(steps_before):
        run.step()
    for _ in zip(range(writes_done), writes(orders, number), strict=False):
        pass
    run.finish()
    assert orders.table("orders").index_by_name["by-owner"].status == "ACTIVE"
    require_exact(orders)


Action = tuple[str, int, str]

ACTIONS = st.lists(
    st.tuples(st.sampled_from(["put", "delete", "update", "batch", "step", "step", "reopen"]), st.integers(0, 9),
              st.sampled_from(["ann", "bob", ""])),
    max_size=40,
)  # fmt: skip


def act(hand: ByHand, run: JobRun, action: Action) -> JobRun:
    kind, number, owner = action
    key = {"pk": {"S": f"order {number}"}}
    match kind:
        case "put":
            put(hand, number, owner or None, note={"S": owner})
        case "delete":
            delete(hand, number)
        case "update":
            expression = "SET #o = :o" if owner else "REMOVE #o"
            values = {"ExpressionAttributeValues": {":o": {"S": owner}}} if owner else {}
            names = {"#o": "owner"}
            hand.call(
                "UpdateItem",
                TableName="orders", Key=key, UpdateExpression=expression, ExpressionAttributeNames=names, **values,
            )  # fmt: skip
        case "batch":
            item = {**key, "owner": {"S": owner or "eve"}}
            other = {"pk": {"S": f"order {(number + 1) % 10}"}}
            requests = [{"PutRequest": {"Item": item}}, {"DeleteRequest": {"Key": other}}]
            hand.call("BatchWriteItem", RequestItems={"orders": requests})
        case "step":
            run.step()
        case "reopen":
            hand.reopen()
            return JobRun(hand, backfill)
    return run


@settings(max_examples=150)
@given(before=ACTIONS, during=ACTIONS)
def test_any_interleaving_ends_with_exactly_the_entries_of_the_items(
    before: list[Action], during: list[Action]
) -> None:
    hand = ByHand()
    make_table(hand)
    run = JobRun(hand, backfill)
    for action in before:
        run = act(hand, run, action)
    add_index(hand)
    run = JobRun(hand, backfill)
    for action in during:
        run = act(hand, run, action)
        items, size = hand.counted("orders", "by-owner")
        assert items == len(hand.entries("orders", "by-owner"))
        assert size >= 0
    hand.run_jobs()
    assert hand.table("orders").index_by_name["by-owner"].status == "ACTIVE"
    require_exact(hand)
    hand.close()


# Clearing.


def test_a_dropped_table_leaves_no_byte_behind(hand: ByHand) -> None:
    make_table(hand, "other")
    before = [key for key, _ in hand.stored()]
    make_table(hand)
    for number in range(ITEMS):
        put(hand, number)
    add_index(hand)
    hand.run_jobs()
    hand.call("DeleteTable", TableName="orders")
    assert len(hand.stored()) > len(before)
    hand.run_jobs()
    assert [key for key, _ in hand.stored()] == before


def test_clearing_that_was_cut_off_is_done_after_reopening(orders: ByHand) -> None:
    table_id = orders.table("orders").table_id
    orders.call("DeleteTable", TableName="orders")
    JobRun(orders, clear_leftovers).step()
    orders.reopen()
    assert [leftover.table_id for leftover in orders.ctx.catalog.leftovers.values()] == [table_id]
    orders.run_jobs()
    assert len(orders.stored()) == 1  # the counter of table ids
    assert not orders.ctx.catalog.leftovers


def test_a_table_of_the_same_name_can_be_made_and_filled_before_the_old_one_is_cleared(orders: ByHand) -> None:
    orders.call("DeleteTable", TableName="orders")
    make_table(orders)
    put(orders, 99)
    orders.run_jobs()
    scanned = orders.call("Scan", TableName="orders")
    assert [item["pk"]["S"] for item in scanned["Items"]] == ["order 99"]
    assert orders.call("DescribeTable", TableName="orders")["ItemCount"] == 1


def test_a_dropped_index_leaves_no_byte_behind_and_the_others_alone(orders: ByHand) -> None:
    add_index(orders, "kept")
    orders.run_jobs()
    before = [key for key, _ in orders.stored()]
    add_index(orders)
    orders.run_jobs()
    delete_index(orders)
    orders.run_jobs()
    assert [key for key, _ in orders.stored()] == before
    require_exact(orders, "kept")
