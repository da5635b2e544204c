"""NoSQL Workbench's models: written, read, and the same after a round trip."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.modeling.design.designs import design_from
from tests.modeling.design.workbench_models import (
    FACETS_WITH_ROWS,
    SINGLE_TABLE,
    WITHOUT_ROWS,
    attributes,
    keys,
    model,
)
from torusdb.modeling import ModelError
from torusdb.modeling.design import Design, samples_of
from torusdb.modeling.design.proof import Proposal, load_source, proposal
from torusdb.modeling.design.workbench import Export, workbench
from torusdb.modeling.design.workbench_reading import read_workbench, wire_of

NOW = datetime(2024, 5, 6, 15, 4, tzinfo=UTC)

SHOP = """
from datetime import date, datetime
from decimal import Decimal
from dataclasses import dataclass
gsi1 = GlobalIndex("gsi1", partition_key="gsi1pk", sort_key="gsi1sk")
gsi2 = GlobalIndex("gsi2", partition_key="gsi2pk", include=["name"])
shop = Table("shop", partition_key="pk", sort_key="sk", indexes=[gsi1, gsi2])

@dataclass
class Address:
    street: str
    city: str

class Customer(Entity, table=shop):
    key = Key("CUSTOMER#{id}", "PROFILE")
    by_mail = Key("MAIL#{mail}", index=gsi2)
    id: Attr[str]
    name: Attr[str]
    mail: Attr[str]
    address: Attr[Address]
    icon: Attr[bytes]
    tags: Attr[set[str]]

class Order(Entity, table=shop):
    key = Key("CUSTOMER#{customer}", "#ORDER#{number:newest_first}")
    by_day = Key("ORDERS#{state}", "{day}", index=gsi1)
    customer: Attr[str]
    number: Attr[int]
    state: Attr[str]
    day: Attr[date]
    total: Attr[Decimal]

samples = Samples(
    Customer(id="a1", name="Ann", mail="a@x.org", address=Address("High Street", "Bath"), icon=b"1", tags={"new"}),
    Customer(id="b2", name="Bob", mail="b@x.org", address=Address("Low Street", "Bath"), icon=b"23", tags={"old"}),
    Order(customer="a1", number=1, state="open", day=date(2024, 1, 1), total=Decimal("7.50")),
    Order(customer="a1", number=2, state="sent", day=date(2024, 2, 1), total=Decimal("8")),
    Order(customer="b2", number=3, state="sent", day=date(2024, 3, 1), total=Decimal("9")),
)
"""


def exported(design: Design) -> Export:
    return workbench(design._replace(name="shop"), samples_of(design), NOW)


def imported(text: str, *, samples: bool = True) -> Proposal:
    module, tables = read_workbench(text)
    return proposal(module, [each.rows for each in tables], samples=samples)


def test_a_design_in_workbenchs_form() -> None:
    document, left_out = exported(design_from(SHOP))
    assert left_out == []
    assert document["ModelMetadata"]["DateCreated"] == "May 06, 2024, 03:04 PM"
    (table,) = document["DataModel"]
    assert table["KeyAttributes"]["SortKey"] == {"AttributeName": "sk", "AttributeType": "S"}
    types = {each["AttributeName"]: each["AttributeType"] for each in table["NonKeyAttributes"]}
    assert types == {
        "_type": "S", "address": "M", "customer": "S", "day": "S", "gsi1pk": "S", "gsi1sk": "S", "gsi2pk": "S",
        "icon": "B", "id": "S", "mail": "S", "name": "S", "number": "N", "state": "S", "tags": "SS", "total": "N",
    }  # fmt: skip
    assert table["TableFacets"][1] == {
        "FacetName": "Order",
        "KeyAttributeAlias": {
            "PartitionKeyAlias": "CUSTOMER#{customer}",
            "SortKeyAlias": "#ORDER#{number:newest_first}",
        },
        "NonKeyAttributes": ["_type", "customer", "day", "gsi1pk", "gsi1sk", "number", "state", "total"],
    }
    assert table["GlobalSecondaryIndexes"][1] == {
        "IndexName": "gsi2",
        "KeyAttributes": {"PartitionKey": {"AttributeName": "gsi2pk", "AttributeType": "S"}},
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["name"]},
    }
    assert table["TableData"][0]["icon"] == {"B": "MQ=="}
    assert (len(table["TableData"]), table["BillingMode"]) == (5, "PAY_PER_REQUEST")
    json.dumps(document)


def test_export_import_export_is_the_same() -> None:
    first = exported(design_from(SHOP)).document
    made = imported(json.dumps(first))
    assert [(proof.exact, proof.items) for proof in made.proofs] == [(5, 5)]
    second = exported(load_source(made.source)).document
    assert second == first
    third = exported(load_source(imported(json.dumps(second)).source)).document
    assert third == second


def test_what_the_format_has_no_place_for_is_told() -> None:
    design = design_from("""
from datetime import datetime
local = LocalIndex("local", sort_key="l")
busy = GlobalIndex("busy", partition_key="b", throughput=Throughput(1, 1))
options = TableOptions(provisioned=Throughput(5, 5), stream="NEW_IMAGE", tags={"a": "b"})
shop = Table("shop", partition_key="pk", sort_key="sk", indexes=[local, busy], options=options)
class Session(Entity, table=shop):
    key = Key("S#{id}", "S")
    id: Attr[str]
    ends: Attr[datetime] = ttl()
""")
    document, left_out = exported(design)
    assert left_out == [
        "shop: the local index local",
        "shop: the throughput of the index busy",
        "shop: that ends is its time to live",
        "shop: stream",
        "shop: tags",
    ]
    settings = document["DataModel"][0]["ProvisionedCapacitySettings"]
    assert settings == {"ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}}


def test_index_keys_of_several_attributes_are_refused() -> None:
    design = design_from("""
two = GlobalIndex("two", partition_key=["a", "b"])
shop = Table("shop", partition_key="pk", indexes=[two])
""")
    with pytest.raises(
        ModelError, match=r"^The index two of the table shop has a key of several attributes, for which"
    ):
        exported(design)


def test_models_as_workbench_writes_them_become_python() -> None:
    made = imported(model(SINGLE_TABLE, FACETS_WITH_ROWS, WITHOUT_ROWS))
    assert [(proof.exact, proof.items) for proof in made.proofs] == [(3, 3), (3, 3), (0, 0)]
    bookshop, shelves, reviews = load_source(made.source).tables

    assert bookshop.type_attribute == "EntityType"
    assert bookshop.options.provisioned == (5, 7)
    assert bookshop.indexes[0].include == ["Title"]
    assert 'key = Key("READER#{reader}", "LOAN#{loan}")' in made.source
    assert "loan: Attr[date] = attr(in_key=True)" in made.source
    assert "    room: int\n    lit: bool\n    kind: str" in made.source
    assert "# Left out: the sample row 4 of DataModel[0], which has no SK" in made.source
    assert "# Declared, and in no sample row: Notes (L)" in made.source
    assert made.source.count("# Left out: its auto scaling") == 1
    assert made.source.startswith(
        '"""Bookshop, imported from NoSQL Workbench.\n\nBooks, and who reads them.\n* by reader'
    )

    assert sorted(shelves.entities) == ["Room", "Shelf_2"], "Shelf is what the maps of a loan are"
    assert 'Shelf_2(r="12", s="1", count=5, image=b\'\\x00\\x01\', tags={"a"})' in made.source

    (review,) = reviews.entities.values()
    assert list(review.keys) == ["key", "by_stars"]
    assert "stars: Attr[Decimal | None]" in made.source


def test_the_rows_may_be_left_out() -> None:
    made = imported(model(SINGLE_TABLE), samples=False)
    assert "Samples" not in made.source
    assert made.proofs[0].exact == 3


def changed(**members: Any) -> str:
    return model({**SINGLE_TABLE, **members})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "^This is no model of NoSQL Workbench, since it is no JSON: "),
        ("[]", "^This is no model of NoSQL Workbench: it is to be an object$"),
        ("{}", "^This is no model of NoSQL Workbench: it has no DataModel$"),
        (model(), "^This model of NoSQL Workbench has no tables$"),
        (changed(TableName=5), r"DataModel\[0\]\.TableName is to be a text$"),
        (changed(KeyAttributes={}), r"DataModel\[0\]\.KeyAttributes has no PartitionKey$"),
        (
            changed(KeyAttributes=keys("pk", kind="BOOL")),
            "PartitionKey has the AttributeType 'BOOL': a key is S, N or B",
        ),
        (changed(TableData=[{"PK": "x"}]), r"DataModel\[0\]\.TableData\[0\]\.PK is to be an object$"),
        (changed(TableData=[{"PK": {"S": "x", "N": "1"}}]), r"TableData\[0\]\.PK is to be a value with its type"),
        (
            changed(TableData=[{"PK": {"X": "x"}}]),
            r"TableData\[0\]\.PK has the type 'X', which DynamoDB does not have$",
        ),
        (changed(TableData=[{"PK": {"N": "x"}}]), r"TableData\[0\]\.PK has a value that is none of the type N: 'x'$"),
        (changed(GlobalSecondaryIndexes=[{}]), r"GlobalSecondaryIndexes\[0\] has no KeyAttributes$"),
        (
            changed(ProvisionedCapacitySettings={"ProvisionedThroughput": {"ReadCapacityUnits": "x"}}),
            "no whole numbers",
        ),
    ],
)
def test_what_is_no_model_says_where(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        imported(text)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"PK": {"N": "1"}, "SK": {"S": "x"}}, "whose PK is not of the type S"),
        ({"PK": {"S": ""}, "SK": {"S": "x"}}, "whose PK is empty"),
        ({"PK": {"S": "READER#ann"}, "SK": {"S": "READER#ann"}, "More": {"S": "x"}}, "whose key another has"),
        ({"PK": {"S": "x"}, "SK": {"S": "x"}, "GSI1PK": {"N": "1"}}, "whose GSI1PK is not of the type S"),
    ],
)
def test_rows_that_no_table_would_take_are_left_out_and_told(row: dict[str, Any], fault: str) -> None:
    made = imported(changed(TableData=[*SINGLE_TABLE["TableData"][:3], row]))
    assert f"# Left out: the sample row 4 of DataModel[0], {fault}" in made.source
    assert made.proofs[0].items == 3


def test_values_as_published_models_have_them() -> None:
    value = {"M": {"plain": [1, "a", None, {"S": "x"}], "map": {"deep": {"N": 5}}, "on": True}}
    assert wire_of(value, "") == {
        "M": {
            "plain": {"L": [{"N": "1"}, {"S": "a"}, {"NULL": True}, {"S": "x"}]},
            "map": {"M": {"deep": {"N": "5"}}},
            "on": {"BOOL": True},
        }
    }
    assert wire_of({"BOOL": "False"}, "") == {"BOOL": False}
    assert wire_of({"N": "1e2"}, "") == {"N": "100"}
    assert wire_of({"BS": ["AAE="]}, "") == {"BS": [b"\x00\x01"]}
    for bad in (
        {"BOOL": "perhaps"},
        {"B": "?"},
        {"N": "NaN"},
        {"N": "1e126"},
        {"N": "1" * 39},
        {"N": True},
        {"S": 1},
        {"M": []},
    ):
        with pytest.raises(ModelError, match="has a value that is none of the type"):
            wire_of(bad, "here")


def test_types_without_rows_are_as_declared() -> None:
    table = {**WITHOUT_ROWS, "NonKeyAttributes": attributes(Stars="N", Text="S", Other="?")}
    assert "other: Attr[str | None]" in imported(model(table)).source
