from __future__ import annotations

import msgspec
import pytest

from torusdb.model import keys
from torusdb.model.keys import KeyAttribute
from torusdb.model.schema import Index, Table, Throughput

PK, SK = KeyAttribute("pk", "S"), KeyAttribute("sk", "N")
LOCAL = Index(
    name="by-date", index_id=1, is_global=False, hash_keys=[PK], range_keys=[KeyAttribute("date", "S")],
    projection="KEYS_ONLY",
)  # fmt: skip
GLOBAL = Index(
    name="by-place",
    index_id=2,
    is_global=True,
    hash_keys=[KeyAttribute("country", "S"), KeyAttribute("city", "S")],
    range_keys=[KeyAttribute("date", "S"), SK],
    projection="INCLUDE",
    non_key_attributes=["note"],
    throughput=Throughput(5, 6, last_increase=1.5),
    on_demand={"MaxReadRequestUnits": 7},
)
EVERYTHING = Index(
    name="all",
    index_id=3,
    is_global=True,
    hash_keys=[KeyAttribute("city", "S")],
    range_keys=[],
    projection="ALL",
)
TABLE = Table(
    name="orders",
    table_id=9,
    uuid="0d5f4cde-6c2a-4a8b-9b5f-0a4e6f9d4c11",
    arn="arn:aws:dynamodb:eu-west-2:000000000000:table/orders",
    hash_key=PK,
    range_key=SK,
    attribute_types={"pk": "S", "sk": "N", "date": "S", "country": "S", "city": "S"},
    created=1_700_000_000.5,
    indexes=[LOCAL, GLOBAL, EVERYTHING],
    next_index_id=4,
    tags={"team": "ü"},
    stream={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
)
ITEM = {
    "note": {"S": "n"},
    "pk": {"S": "p"},
    "sk": {"N": "1"},
    "date": {"S": "2024"},
    "country": {"S": "NZ"},
    "city": {"S": "Napier"},
    "more": {"S": "m"},
}


@pytest.mark.parametrize("range_key", [SK, None])
def test_a_table_survives_the_catalog(range_key: KeyAttribute | None) -> None:
    table = msgspec.structs.replace(TABLE, range_key=range_key)
    table.key_of(ITEM)  # what has been worked out and kept is no part of the value
    again = msgspec.json.decode(msgspec.json.encode(table), type=Table)
    assert again == table
    assert again.key_of(ITEM) == table.key_of(ITEM)


def test_a_changed_table_works_out_its_keys_anew() -> None:
    before = TABLE.key_of(ITEM)
    changed = msgspec.structs.replace(TABLE, table_id=10, range_key=None)
    assert changed.key_of(ITEM) == keys.item_key(keys.index_partition(10, 0), ITEM, PK, None)
    assert TABLE.key_of(ITEM) == before


def test_keys_of_items_lie_in_their_partition() -> None:
    key = TABLE.key_of(ITEM)
    assert key == keys.item_key(TABLE.base_partition, ITEM, PK, SK)
    assert key == TABLE.partition_prefix("p") + keys.encode_key_value("N", "1")
    ((start, stop),) = TABLE.spaces()
    assert start <= key < stop


@pytest.mark.parametrize(("index", "values"), [(LOCAL, ["p"]), (GLOBAL, ["NZ", "Napier"]), (EVERYTHING, ["Napier"])])
def test_entries_lie_in_their_indexs_partition(index: Index, values: list[str]) -> None:
    key = TABLE.entry_key(index, ITEM)
    assert key is not None
    assert key.startswith(TABLE.index_partition(index))
    assert key.startswith(TABLE.index_partition_prefix(index, values))
    assert key.endswith(keys.encode_key_value("S", "p") + keys.encode_key_value("N", "1"))
    ((start, stop),) = TABLE.spaces()
    assert start <= key < stop


def test_an_item_without_an_indexs_key_is_not_in_it() -> None:
    without_city = {name: value for name, value in ITEM.items() if name != "city"}
    assert [TABLE.entry_key(index, without_city) is None for index in TABLE.indexes] == [False, True, True]


def test_key_items() -> None:
    assert TABLE.key_item(ITEM) == {"pk": {"S": "p"}, "sk": {"N": "1"}}
    assert TABLE.index_key_item(None, ITEM) == TABLE.key_item(ITEM)
    assert set(TABLE.index_key_item(LOCAL, ITEM)) == {"pk", "sk", "date"}
    assert set(TABLE.index_key_item(GLOBAL, ITEM)) == {"pk", "sk", "country", "city", "date"}


def test_projections() -> None:
    assert set(TABLE.project(LOCAL, ITEM)) == {"pk", "sk", "date"}
    assert set(TABLE.project(GLOBAL, ITEM)) == {"pk", "sk", "country", "city", "date", "note"}
    assert TABLE.project(EVERYTHING, ITEM) == ITEM


def test_indexes_by_kind_and_name() -> None:
    assert TABLE.local_indexes == [LOCAL]
    assert TABLE.global_indexes == [GLOBAL, EVERYTHING]
    assert TABLE.index_by_name["by-place"] is GLOBAL


def test_each_tally_has_its_key() -> None:
    tallies = [TABLE.tally_key(index) for index in (None, LOCAL, GLOBAL)]
    assert tallies == [keys.tally_key(9, 0), keys.tally_key(9, 1), keys.tally_key(9, 2)]
    assert len(set(tallies)) == 3


def test_a_table_is_a_value() -> None:
    with pytest.raises(AttributeError):
        TABLE.name = "other"  # type: ignore[misc]
