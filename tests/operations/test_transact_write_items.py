"""TransactWriteItems: what it changes, and what cancels it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.operations.conftest import MakeTable
from tests.operations.shorthand import SS, L, M, N, S
from tests.operations.transacting import FAILED, NONE, cancelled, check, delete, key, put, stored, update, write
from torusdb import Database

ITEM_BYTES_MAX = 400 * 1024


@pytest.fixture
def tables(make_table: MakeTable) -> tuple[str, str]:
    return make_table("pk:S", "First"), make_table("pk:S", "Second")


# What it changes.


def test_all_four_actions_in_several_tables(db: Database, tables: tuple[str, str]) -> None:
    first, second = tables
    write(db, put(first, "gone", x=N(1)), put(first, "seen", x=N(1)), put(second, "changed", x=N(1)))
    answer = write(
        db,
        put(first, "new", x=N(2)),
        update(second, "changed", "ADD x :one", {":one": N(1)}),
        delete(first, "gone", ConditionExpression="attribute_exists(x)"),
        check(first, "seen", "x = :one", ExpressionAttributeValues={":one": N(1)}),
        update(second, "made", "SET x = :one", {":one": N(1)}),
    )
    assert answer == {}
    assert stored(db, first, "new") == {"pk": S("new"), "x": N(2)}
    assert stored(db, second, "changed") == {"pk": S("changed"), "x": N(2)}
    assert stored(db, first, "gone") is None
    assert stored(db, first, "seen") == {"pk": S("seen"), "x": N(1)}
    assert stored(db, second, "made") == {"pk": S("made"), "x": N(1)}


def test_a_hundred_items_land_together(db: Database, tables: tuple[str, str]) -> None:
    first, second = tables
    write(db, *(put(first, str(n)) for n in range(50)), *(put(second, str(n)) for n in range(50)))
    for table in tables:
        assert db.call("Scan", {"TableName": table})["Count"] == 50
    write(db, *(delete(first, str(n)) for n in range(100)))
    assert db.call("Scan", {"TableName": first})["Count"] == 0


def test_tables_may_be_named_by_their_arns(db: Database, table: str) -> None:
    arn = db.call("DescribeTable", {"TableName": table})["Table"]["TableArn"]
    write(db, put(arn, "a"), check(table, "b", "attribute_not_exists(pk)"))
    assert stored(db, table, "a") == key("a")


def test_indexes_and_counts_follow(db: Database, make_table: MakeTable) -> None:
    table = make_table("pk:S", globally={"by_x": ("x:N", "KEYS_ONLY")})
    write(db, put(table, "a", x=N(1)), put(table, "b", x=N(1), y=N(1)), put(table, "c"))
    write(
        db,
        delete(table, "a"),
        update(table, "c", "SET x = :x", {":x": N(1)}),
        update(table, "b", "REMOVE y"),
    )
    query = {
        "TableName": table,
        "IndexName": "by_x",
        "KeyConditionExpression": "x = :x",
        "ExpressionAttributeValues": {":x": N(1)},
    }
    assert sorted(item["pk"]["S"] for item in db.call("Query", query)["Items"]) == ["b", "c"]
    described = db.call("DescribeTable", {"TableName": table})["Table"]
    assert described["ItemCount"] == 2
    assert described["GlobalSecondaryIndexes"][0]["ItemCount"] == 2


def test_values_are_stored_in_their_canonical_form(db: Database, table: str) -> None:
    write(
        db,
        put(table, "a", n=N("1.50"), s=SS("b", "a")),
        update(table, "b", "SET n = :n", {":n": N("1E2")}),
    )
    assert stored(db, table, "a")["n"] == N("1.5")
    assert stored(db, table, "b")["n"] == N(100)


def test_conditions_look_at_what_was_before_the_transaction(db: Database, table: str) -> None:
    """Two of its members swap what they hold, each on condition of what the other one held."""
    write(db, put(table, "a", x=N(1)), put(table, "b", x=N(2)))
    swap = [
        update(table, "a", "SET x = :new", {":new": N(2), ":old": N(1)}, ConditionExpression="x = :old"),
        update(table, "b", "SET x = :new", {":new": N(1), ":old": N(2)}, ConditionExpression="x = :old"),
    ]
    write(db, *swap)
    assert [stored(db, table, pk)["x"] for pk in "ab"] == [N(2), N(1)]
    assert cancelled(db, *swap) == [FAILED, FAILED]


def test_an_update_that_only_takes_away_makes_no_item(db: Database, table: str) -> None:
    write(db, update(table, "a", "REMOVE x"))
    assert stored(db, table, "a") is None


def test_a_transaction_of_checks_changes_nothing(db: Database, table: str) -> None:
    assert write(db, check(table, "a", "attribute_not_exists(pk)")) == {}
    assert cancelled(db, check(table, "a", "attribute_exists(pk)")) == [FAILED]
    assert db.call("Scan", {"TableName": table})["Count"] == 0


def test_names_and_values_without_an_expression_are_let_pass(db: Database, table: str) -> None:
    unused: Any = {"ExpressionAttributeNames": {"#x": "x"}, "ExpressionAttributeValues": {":x": N(1)}}
    write(db, put(table, "a", **unused), delete(table, "b", **unused))
    assert stored(db, table, "a") == key("a")


# What cancels it: conditions.


def test_one_failed_condition_cancels_all(db: Database, tables: tuple[str, str]) -> None:
    first, second = tables
    write(db, put(first, "a", x=N(1)))
    assert cancelled(
        db,
        put(second, "b"),
        put(first, "a", x=N(2), ConditionExpression="attribute_not_exists(pk)"),
        delete(first, "c"),
    ) == [NONE, FAILED, NONE]
    assert stored(db, second, "b") is None
    assert stored(db, first, "a") == {"pk": S("a"), "x": N(1)}


def test_every_failed_condition_is_among_the_reasons(db: Database, table: str) -> None:
    missing = {"ConditionExpression": "attribute_exists(pk)"}
    assert cancelled(
        db,
        check(table, "a", "attribute_exists(pk)"),
        put(table, "b", **missing),
        put(table, "c"),
        update(table, "d", "SET x = :x", {":x": N(1)}, **missing),
        delete(table, "e", **missing),
    ) == [FAILED, FAILED, NONE, FAILED, FAILED]


def test_a_failed_condition_shows_the_item_to_members_that_ask(db: Database, table: str) -> None:
    client = db.client()
    item = {"pk": S("a"), "raw": {"B": b"\xff"}, "n": N(1)}
    client.put_item(TableName=table, Item=item)
    client.put_item(TableName=table, Item={**item, "pk": S("b")})
    shown: Any = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    with pytest.raises(client.exceptions.TransactionCanceledException) as failed:
        client.transact_write_items(
            TransactItems=[
                check(table, "a", "attribute_not_exists(pk)", **shown),
                check(table, "b", "attribute_not_exists(pk)"),
                check(table, "missing", "attribute_exists(pk)", **shown),
                put(table, "c", **shown),
            ]
        )
    reason = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
    assert failed.value.response["CancellationReasons"] == [
        {**reason, "Item": item},
        reason,
        reason,
        {"Code": "None"},
    ]
    message = (
        "Transaction cancelled, please refer cancellation reasons for specific reasons "
        "[ConditionalCheckFailed, ConditionalCheckFailed, ConditionalCheckFailed, None]"
    )
    assert failed.value.response["Error"] == {"Code": "TransactionCanceledException", "Message": message}
    assert failed.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


# What cancels it: updates that cannot be made of what is there.


@pytest.mark.parametrize(
    ("expression", "value", "message"),
    [
        ("SET y = absent", None, "The provided expression refers to an attribute that does not exist in the item"),
        ("SET y = x + :v", N(1), "An operand in the update expression has an incorrect data type"),
        ("ADD x :v", N(1), "An operand in the update expression has an incorrect data type"),
        ("SET x.y = :v", N(1), "The document path provided in the update expression is invalid for update"),
    ],
)
def test_an_update_that_does_not_fit_the_item_is_a_reason(
    db: Database, table: str, expression: str, value: Any, message: str
) -> None:
    write(db, put(table, "a", x=S("text")))
    values = None if value is None else {":v": value}
    assert cancelled(db, put(table, "b"), update(table, "a", expression, values)) == [
        NONE,
        ("ValidationError", message),
    ]
    assert stored(db, table, "b") is None


def test_a_number_that_grows_too_large_is_a_reason(db: Database, table: str) -> None:
    write(db, put(table, "a", n=N("9E125")))
    (reason,) = cancelled(db, update(table, "a", "ADD n :n", {":n": N("9E125")}))
    assert reason[0] == "ValidationError"
    assert "Number overflow" in str(reason[1])


def test_an_item_that_grows_too_large_is_a_reason(db: Database, table: str) -> None:
    write(db, put(table, "a", x=S("x" * (ITEM_BYTES_MAX - 100))))
    assert cancelled(db, put(table, "b"), update(table, "a", "SET y = :y", {":y": S("y" * 100)})) == [
        NONE,
        ("ValidationError", "Item size to update has exceeded the maximum allowed size"),
    ]


def test_an_update_may_fill_an_item_to_the_last_byte(db: Database, table: str) -> None:
    """UpdateItem counts more than the item."""
    room = ITEM_BYTES_MAX - len("pk" + "a" + "x")
    full = {":x": S("x" * room)}
    write(db, update(table, "a", "SET x = :x", full))
    assert len(stored(db, table, "a")["x"]["S"]) == room
    assert cancelled(db, update(table, "a", "SET x = :x", {":x": S("x" * (room + 1))})) == [
        ("ValidationError", "Item size to update has exceeded the maximum allowed size")
    ]


def test_reasons_of_all_kinds_stand_in_order(db: Database, table: str) -> None:
    write(db, put(table, "a", x=S("text")))
    assert cancelled(
        db,
        update(table, "a", "ADD x :v", {":v": N(1)}),
        put(table, "b"),
        check(table, "c", "attribute_exists(pk)"),
    ) == [
        ("ValidationError", "An operand in the update expression has an incorrect data type"),
        NONE,
        FAILED,
    ]


def test_a_condition_is_looked_at_before_the_update(db: Database, table: str) -> None:
    write(db, put(table, "a", x=S("text")))
    failing = update(table, "a", "ADD x :v", {":v": N(1)}, ConditionExpression="attribute_exists(y)")
    assert cancelled(db, failing) == [FAILED]


# What cancels it: keys that don't fit their tables. Only the first is told.


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            lambda table: put(table, N(1)),
            "One or more parameter values were invalid: Type mismatch for key pk expected: S actual: N",
        ),
        (
            lambda table: {"Put": {"TableName": table, "Item": {"x": N(1)}}},
            "One or more parameter values were invalid: Missing the key pk in the item",
        ),
        (
            lambda table: put(table, M(a=N(1))),
            "One or more parameter values were invalid: Type mismatch for key pk expected: S actual: M",
        ),
        (
            lambda table: put(table, "a" * 2049),
            "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 "
            "bytes",
        ),
        (
            lambda table: put(table, "a", g=N(1)),
            "One or more parameter values were invalid: Type mismatch for Index Key g Expected: S Actual: N "
            "IndexName: by_g",
        ),
        (lambda table: delete(table, N(1)), "The provided key element does not match the schema"),
        (lambda table: delete(table, L()), "The provided key element does not match the schema"),
        (lambda table: check(table, N(1), "x = y"), "The provided key element does not match the schema"),
        (
            lambda table: update(table, N(1), "REMOVE x"),
            "The provided key element does not match the schema",
        ),
        (
            lambda table: {"Delete": {"TableName": table, "Key": {**key("a"), "sk": S("b")}}},
            "The provided key element does not match the schema",
        ),
        (
            lambda table: update(table, "a", "SET pk = :x", {":x": S("b")}),
            "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key",
        ),
        (
            lambda table: update(table, "a", "SET g = :x", {":x": N(1)}),
            "One or more parameter values were invalid: Type mismatch for Index Key g Expected: S Actual: N "
            "IndexName: by_g",
        ),
    ],
)
def test_the_first_key_that_does_not_fit_is_the_reason(
    db: Database, make_table: MakeTable, action: Any, message: str
) -> None:
    table = make_table(globally={"by_g": ("g:S", "ALL")})
    assert cancelled(db, put(table, "good"), action(table), delete(table, N(2))) == [
        NONE,
        ("ValidationError", message),
        NONE,
    ]
    assert stored(db, table, "good") is None


def test_keys_are_looked_at_before_conditions_and_items_named_twice(db: Database, table: str) -> None:
    mismatch = ("ValidationError", "The provided key element does not match the schema")
    failing = check(table, "a", "attribute_exists(pk)")
    assert cancelled(db, failing, delete(table, N(1))) == [NONE, mismatch]
    assert cancelled(db, failing, failing, delete(table, N(1))) == [NONE, NONE, mismatch]


def test_an_index_key_that_only_the_new_item_shows_to_be_wrong_is_a_reason(db: Database, make_table: MakeTable) -> None:
    table = make_table(globally={"by_g": ("g:S", "ALL")})
    write(db, put(table, "a", x=N(1), wide=S("l" * 2049)))
    prefix = "The update expression attempted to update the secondary index key"
    assert cancelled(db, update(table, "a", "SET g = x")) == [("ValidationError", f"{prefix} to unsupported type")]
    assert cancelled(db, update(table, "a", "SET g = wide")) == [
        ("ValidationError", f"{prefix} beyond allowed size limits")
    ]


def test_a_value_too_deep_for_an_update_is_a_reason(db: Database, table: str) -> None:
    deep: Any = S("x")
    for _ in range(32):
        deep = L(deep)
    (none, reason) = cancelled(db, put(table, "b"), update(table, "a", "SET x = :x", {":x": deep}))
    assert none == NONE
    assert reason[0] == "ValidationError"
    assert str(reason[1]).startswith("Nesting Levels have exceeded supported limits")


def test_a_collection_that_would_outgrow_its_limit_is_a_reason(
    db: Database, make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torusdb.operations.writes.COLLECTION_BYTES_MAX", 3000)
    table = make_table("pk:S sk:S", locally={"by_l": ("pk:S l:S", "KEYS_ONLY")})

    def big(pk: str, sk: str) -> Any:
        return put(table, pk, sk=S(sk), x=S("x" * 1000))

    write(db, big("a", "1"), big("a", "2"), big("b", "1"))
    size_exceeded = ("ItemCollectionSizeLimitExceeded", "Collection size exceeded.")
    assert cancelled(db, big("a", "3"), big("b", "2")) == [size_exceeded, NONE]
    # Together two of a collection may be too many, where each alone would do.
    assert cancelled(db, big("b", "2"), big("b", "3"), big("c", "1")) == [size_exceeded, size_exceeded, NONE]
    write(db, big("b", "2"), big("c", "1"))


# Through boto3.


def test_boto3_resources_write_transactions(db: Database, table: str) -> None:
    resource = db.resource()
    client = resource.meta.client
    client.transact_write_items(
        TransactItems=[{"Put": {"TableName": table, "Item": {"pk": "a", "tags": {"x"}, "n": 3}}}]
    )
    answer = client.transact_get_items(TransactItems=[{"Get": {"TableName": table, "Key": {"pk": "a"}}}])
    assert answer["Responses"] == [{"Item": {"pk": "a", "tags": {"x"}, "n": 3}}]
