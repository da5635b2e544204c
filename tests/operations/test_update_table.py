"""UpdateTable: what changes, and what the answer tells of it, which is not the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.jobs.by_hand import NOON, ByHand
from tests.operations.conftest import IndexSpec, table_request

Params = dict[str, Any]
LABEL = "2027-01-15T12:{:02}:00.000"


def units(read: int, write: int) -> Params:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def create(hand: ByHand, indexes: dict[str, IndexSpec] | None = None, **more: Any) -> None:
    hand.call("CreateTable", **table_request("pk:S", "Things", indexes or {}, {}, more))


def create_provisioned(hand: ByHand, read: int, write: int, *index_names: str) -> None:
    throughput = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(read, write)}
    request = table_request("pk:S", "Things", dict.fromkeys(index_names, ("owner:S", "ALL")), {}, throughput)
    for index in request.get("GlobalSecondaryIndexes", []):
        index["ProvisionedThroughput"] = units(read, write)
    hand.call("CreateTable", **request)


def update(hand: ByHand, **params: Any) -> Params:
    """A minute later."""
    hand.clock += 60
    told: Params = hand.call("UpdateTable", TableName="Things", **params)
    return told


def describe(hand: ByHand) -> Params:
    described: Params = hand.call("DescribeTable", TableName="Things")
    return described


def index_of(described: Params, name: str) -> Params:
    index: Params = next(index for index in described["GlobalSecondaryIndexes"] if index["IndexName"] == name)
    return index


def index_update(kind: str, name: str, **more: Any) -> Params:
    return {"GlobalSecondaryIndexUpdates": [{kind: {"IndexName": name, **more}}]}


def new_index(name: str, *attributes: str) -> Params:
    schema = [{"AttributeName": attribute, "KeyType": "HASH"} for attribute in attributes]
    created = index_update("Create", name, KeySchema=schema, Projection={"ProjectionType": "ALL"})
    defined = [{"AttributeName": attribute, "AttributeType": "S"} for attribute in attributes]
    return {**created, "AttributeDefinitions": defined}


# Throughput and billing mode.


@pytest.mark.parametrize(
    ("wanted", "dates"),
    [
        (units(6, 5), {"LastIncreaseDateTime"}),
        (units(5, 4), {"LastDecreaseDateTime"}),
        (units(9, 1), {"LastIncreaseDateTime", "LastDecreaseDateTime"}),
    ],
    ids=["more", "less", "more and less"],
)
def test_a_new_throughput_is_told_as_the_old_one_with_new_dates(hand: ByHand, wanted: Params, dates: set[str]) -> None:
    create_provisioned(hand, 5, 5)
    told = update(hand, ProvisionedThroughput=wanted)
    assert told["TableStatus"] == "UPDATING"
    moments = dict.fromkeys(dates, NOON + 60)
    assert told["ProvisionedThroughput"] == {**units(5, 5), "NumberOfDecreasesToday": 0, **moments}

    decreases = int("LastDecreaseDateTime" in dates)
    described = describe(hand)
    assert described["TableStatus"] == "ACTIVE"
    assert described["ProvisionedThroughput"] == {**wanted, "NumberOfDecreasesToday": decreases, **moments}


def test_decreases_are_counted_by_utc_day(hand: ByHand) -> None:
    create_provisioned(hand, 9, 9)
    for read in (8, 7):
        update(hand, ProvisionedThroughput=units(read, 9))
    assert describe(hand)["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 2
    hand.clock = NOON + 12 * 3600 - 1
    assert describe(hand)["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 2
    hand.clock += 1
    assert describe(hand)["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 0
    update(hand, ProvisionedThroughput=units(6, 9))
    assert describe(hand)["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 1


def test_a_table_stays_as_warm_as_it_ever_was(hand: ByHand) -> None:
    create_provisioned(hand, 1, 1)
    for read, write in ((2, 1), (3, 9), (1, 1)):
        update(hand, ProvisionedThroughput=units(read, write))
    assert describe(hand)["WarmThroughput"] == {"ReadUnitsPerSecond": 3, "WriteUnitsPerSecond": 9, "Status": "ACTIVE"}
    update(hand, BillingMode="PAY_PER_REQUEST")
    update(hand, BillingMode="PROVISIONED", ProvisionedThroughput=units(1, 1))
    warm = {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000, "Status": "ACTIVE"}
    assert describe(hand)["WarmThroughput"] == warm


def test_a_switch_to_on_demand_is_dated_once_it_is_done(hand: ByHand) -> None:
    create_provisioned(hand, 5, 5, "by_owner")
    told = update(hand, BillingMode="PAY_PER_REQUEST")
    assert told["TableStatus"] == "UPDATING"
    assert told["BillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST"}
    assert told["TableThroughputModeSummary"] == {"TableThroughputMode": "PAY_PER_REQUEST"}
    assert told["ProvisionedThroughput"] == {
        **units(0, 0),
        "NumberOfDecreasesToday": 0,
        "LastDecreaseDateTime": NOON + 60,
    }

    described = describe(hand)
    assert described["BillingModeSummary"] == {
        "BillingMode": "PAY_PER_REQUEST",
        "LastUpdateToPayPerRequestDateTime": NOON + 60,
    }
    assert described["ProvisionedThroughput"] == {**units(0, 0), "NumberOfDecreasesToday": 0}
    assert index_of(described, "by_owner")["ProvisionedThroughput"] == {**units(0, 0), "NumberOfDecreasesToday": 0}


def test_a_switch_to_provisioned_is_told_with_the_new_throughput(hand: ByHand) -> None:
    create(hand, {"by_owner": ("owner:S", "ALL")}, OnDemandThroughput={"MaxReadRequestUnits": 9})
    told = update(
        hand,
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units(5, 6),
        **index_update("Update", "by_owner", ProvisionedThroughput=units(7, 8)),
    )
    for description, status in ((told, "UPDATING"), (describe(hand), "ACTIVE")):
        assert description["TableStatus"] == status
        assert description["BillingModeSummary"] == {
            "BillingMode": "PROVISIONED",
            "LastUpdateToPayPerRequestDateTime": NOON,
        }
        assert description["ProvisionedThroughput"] == {**units(5, 6), "NumberOfDecreasesToday": 0}
        index = index_of(description, "by_owner")
        assert index["IndexStatus"] == status
        assert index["ProvisionedThroughput"] == {**units(7, 8), "NumberOfDecreasesToday": 0}
        assert "OnDemandThroughput" not in description


def test_ceilings_go_when_a_table_leaves_the_on_demand_mode(hand: ByHand) -> None:
    create(hand, {"by_owner": ("owner:S", "ALL")}, OnDemandThroughput={"MaxReadRequestUnits": 9})
    update(hand, **index_update("Update", "by_owner", OnDemandThroughput={"MaxReadRequestUnits": 5}))
    provisioned = index_update("Update", "by_owner", ProvisionedThroughput=units(1, 1))
    update(hand, BillingMode="PROVISIONED", ProvisionedThroughput=units(1, 1), **provisioned)
    update(hand, BillingMode="PAY_PER_REQUEST")
    assert "OnDemandThroughput" not in describe(hand)
    assert "OnDemandThroughput" not in index_of(describe(hand), "by_owner")


@pytest.mark.parametrize("params", [{"BillingMode": "PAY_PER_REQUEST"}, {"TableClass": "STANDARD"}], ids=str)
def test_some_changes_to_what_is_already_so_are_told_as_changes(hand: ByHand, params: Params) -> None:
    create(hand)
    before = describe(hand)
    told = update(hand, **params)
    assert told == {**before, "TableStatus": "UPDATING"}
    assert describe(hand) == before


# Ceilings and warm throughput.


def test_ceilings_change_one_by_one_and_are_removed_by_minus_one(hand: ByHand) -> None:
    create(hand)
    for given, told, described in (
        ((1000, 500), (1000, 500), (1000, 500)),
        ((2000, None), (2000, 500), (2000, 500)),
        ((-1, None), (-1, 500), (None, 500)),
        ((None, -1), (None, -1), (None, None)),
        ((-1, -1), (-1, -1), (None, None)),
        ((None, 700), (None, 700), (None, 700)),
        ((None, 700), (None, 700), (None, 700)),
    ):
        answer = update(hand, OnDemandThroughput=ceilings(*given))
        assert answer["TableStatus"] == "ACTIVE"
        assert answer["OnDemandThroughput"] == ceilings(*told)
        assert describe(hand).get("OnDemandThroughput", {}) == ceilings(*described)


def ceilings(read: int | None, write: int | None) -> Params:
    pairs = (("MaxReadRequestUnits", read), ("MaxWriteRequestUnits", write))
    return {name: limit for name, limit in pairs if limit is not None}


def test_ceilings_of_an_index_change_that_index_alone(hand: ByHand) -> None:
    create(hand, {"by_owner": ("owner:S", "ALL"), "by_date": ("date:S", "ALL")})
    told = update(hand, **index_update("Update", "by_owner", OnDemandThroughput=ceilings(5, 6)))
    assert told["TableStatus"] == "ACTIVE"
    assert index_of(told, "by_owner")["IndexStatus"] == "UPDATING"
    assert index_of(told, "by_owner")["OnDemandThroughput"] == ceilings(5, 6)
    assert index_of(told, "by_date")["IndexStatus"] == "ACTIVE"
    update(hand, **index_update("Update", "by_owner", OnDemandThroughput=ceilings(7, None)))
    index = index_of(describe(hand), "by_owner")
    assert (index["IndexStatus"], index["OnDemandThroughput"]) == ("ACTIVE", ceilings(7, 6))
    assert "OnDemandThroughput" not in describe(hand)


def warm(read: int, write: int, status: str) -> Params:
    return {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write, "Status": status}


def test_warming_is_told_with_the_old_figures(hand: ByHand) -> None:
    create(hand, {"by_owner": ("owner:S", "ALL")})
    told = update(hand, WarmThroughput={"ReadUnitsPerSecond": 12001})
    assert (told["TableStatus"], told["WarmThroughput"]) == ("ACTIVE", warm(12000, 4000, "UPDATING"))
    assert describe(hand)["WarmThroughput"] == warm(12001, 4000, "ACTIVE")

    told = update(hand, **index_update("Update", "by_owner", WarmThroughput={"WriteUnitsPerSecond": 4001}))
    index = index_of(told, "by_owner")
    assert (told["TableStatus"], index["IndexStatus"]) == ("ACTIVE", "ACTIVE")
    assert index["WarmThroughput"] == warm(12000, 4000, "UPDATING")
    assert index_of(describe(hand), "by_owner")["WarmThroughput"] == warm(12000, 4001, "ACTIVE")
    assert describe(hand)["WarmThroughput"] == warm(12001, 4000, "ACTIVE")


# Streams, encryption, class, protection.


def test_a_stream_is_told_at_once_and_its_label_outlives_it(hand: ByHand) -> None:
    create(hand)
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    told = update(hand, StreamSpecification=stream)
    for description, status in ((told, "UPDATING"), (describe(hand), "ACTIVE")):
        assert description["TableStatus"] == status
        assert description["StreamSpecification"] == stream
        assert description["LatestStreamLabel"] == LABEL.format(1)
        assert description["LatestStreamArn"] == f"{description['TableArn']}/stream/{LABEL.format(1)}"

    told = update(hand, StreamSpecification={"StreamEnabled": False})
    assert told["TableStatus"] == "UPDATING"
    assert "StreamSpecification" not in describe(hand)
    assert describe(hand)["LatestStreamLabel"] == LABEL.format(1)

    update(hand, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    assert describe(hand)["LatestStreamLabel"] == LABEL.format(3)


def test_encryption_is_told_as_under_way(hand: ByHand) -> None:
    create(hand)
    told = update(hand, SSESpecification={"Enabled": True})
    assert (told["TableStatus"], told["SSEDescription"]) == ("ACTIVE", {"Status": "UPDATING"})
    managed = describe(hand)["SSEDescription"]
    assert (managed["Status"], managed["SSEType"]) == ("ENABLED", "KMS")

    key = "arn:aws:kms:eu-west-2:000000000000:key/mine"
    told = update(hand, SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": key})
    assert told["SSEDescription"] == {**managed, "Status": "UPDATING"}
    assert describe(hand)["SSEDescription"] == {**managed, "KMSMasterKeyArn": key}

    told = update(hand, SSESpecification={"Enabled": False})
    assert told["SSEDescription"] == {"Status": "UPDATING"}
    assert "SSEDescription" not in describe(hand)


def test_a_class_is_told_and_dated_once_it_is_there(hand: ByHand) -> None:
    create(hand)
    told = update(hand, TableClass="STANDARD_INFREQUENT_ACCESS")
    assert told["TableStatus"] == "UPDATING"
    assert "TableClassSummary" not in told
    summary = {"TableClass": "STANDARD_INFREQUENT_ACCESS", "LastUpdateDateTime": NOON + 60}
    assert describe(hand)["TableClassSummary"] == summary
    assert update(hand, TableClass="STANDARD")["TableClassSummary"] == summary
    assert describe(hand)["TableClassSummary"] == {"TableClass": "STANDARD", "LastUpdateDateTime": NOON + 120}


def test_deletion_protection_changes_at_once(hand: ByHand) -> None:
    create(hand)
    for protected in (True, True, False):
        told = update(hand, DeletionProtectionEnabled=protected)
        assert (told["TableStatus"], told["DeletionProtectionEnabled"]) == ("ACTIVE", protected)
        assert describe(hand) == told


# Indexes.


def test_a_new_index_brings_its_attributes_and_takes_them_along(hand: ByHand) -> None:
    create(hand, {"by_owner": ("owner:S", "ALL")})
    update(hand, **new_index("by_place", "country", "city"))
    hand.run_jobs()
    described = describe(hand)
    names = [one["AttributeName"] for one in described["AttributeDefinitions"]]
    assert names == ["city", "country", "owner", "pk"]
    assert [index["IndexName"] for index in described["GlobalSecondaryIndexes"]] == ["by_owner", "by_place"]

    told = update(hand, **index_update("Delete", "by_place"))
    assert told["TableStatus"] == "UPDATING"
    assert index_of(told, "by_place")["IndexStatus"] == "DELETING"
    described = describe(hand)
    assert [one["AttributeName"] for one in described["AttributeDefinitions"]] == ["owner", "pk"]
    update(hand, **index_update("Delete", "by_owner"))
    assert "GlobalSecondaryIndexes" not in describe(hand)


def test_an_attribute_stays_while_another_key_uses_it(hand: ByHand) -> None:
    create(hand, {"one": ("owner:S", "ALL"), "two": ("pk:S owner:S", "ALL")})
    update(hand, **index_update("Delete", "one"))
    assert [one["AttributeName"] for one in describe(hand)["AttributeDefinitions"]] == ["owner", "pk"]


def test_only_a_new_index_looks_at_attribute_definitions(hand: ByHand) -> None:
    create(hand)
    before = describe(hand)
    wrong = [{"AttributeName": "pk", "AttributeType": "N"}, {"AttributeName": "unused", "AttributeType": "S"}]
    update(hand, DeletionProtectionEnabled=False, AttributeDefinitions=wrong)
    assert describe(hand) == before
    update(hand, **{**new_index("by_pk", "pk"), "AttributeDefinitions": wrong})
    assert describe(hand)["AttributeDefinitions"] == [{"AttributeName": "pk", "AttributeType": "S"}]


def test_throughput_of_indexes_changes_without_the_table(hand: ByHand) -> None:
    create_provisioned(hand, 1, 1, "one", "two")
    wanted = {"one": units(2, 2), "two": units(2, 1)}
    updates = [{"Update": {"IndexName": name, "ProvisionedThroughput": each}} for name, each in wanted.items()]
    told = update(hand, GlobalSecondaryIndexUpdates=updates)
    assert told["TableStatus"] == "ACTIVE"
    for name in ("one", "two"):
        index = index_of(told, name)
        assert index["IndexStatus"] == "UPDATING"
        assert index["ProvisionedThroughput"] == {
            **units(1, 1),
            "NumberOfDecreasesToday": 0,
            "LastIncreaseDateTime": NOON + 60,
        }
    described = describe(hand)
    assert index_of(described, "one")["IndexStatus"] == "ACTIVE"
    assert index_of(described, "one")["ProvisionedThroughput"]["WriteCapacityUnits"] == 2
    assert index_of(described, "two")["ProvisionedThroughput"]["WriteCapacityUnits"] == 1
    assert described["ProvisionedThroughput"] == {**units(1, 1), "NumberOfDecreasesToday": 0}


def test_an_index_may_come_with_a_switch_and_with_an_update_of_another(hand: ByHand) -> None:
    create_provisioned(hand, 1, 1, "one")
    creation = new_index("two", "date")
    creation["GlobalSecondaryIndexUpdates"][0]["Create"]["ProvisionedThroughput"] = units(1, 1)
    creation["GlobalSecondaryIndexUpdates"] += [{"Update": {"IndexName": "one", "ProvisionedThroughput": units(3, 3)}}]
    update(hand, **creation)
    hand.run_jobs()
    assert index_of(describe(hand), "one")["ProvisionedThroughput"]["ReadCapacityUnits"] == 3
    update(hand, BillingMode="PAY_PER_REQUEST", **new_index("three", "city"))
    hand.run_jobs()
    described = describe(hand)
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert [index["IndexStatus"] for index in described["GlobalSecondaryIndexes"]] == ["ACTIVE"] * 3


def test_protection_does_not_protect_indexes(hand: ByHand) -> None:
    create(hand, {"by_owner": ("owner:S", "ALL")}, DeletionProtectionEnabled=True)
    update(hand, **index_update("Delete", "by_owner"))
    assert "GlobalSecondaryIndexes" not in describe(hand)


def test_an_index_can_be_made_again_otherwise(hand: ByHand) -> None:
    create(hand, {"by_owner": ("owner:S", "KEYS_ONLY")})
    item = {"pk": {"S": "1"}, "owner": {"S": "ann"}, "note": {"S": "n"}}
    hand.call("PutItem", TableName="Things", Item=item)
    update(hand, **index_update("Delete", "by_owner"))
    update(hand, **new_index("by_owner", "note"))
    hand.run_jobs()
    assert hand.call("Scan", TableName="Things", IndexName="by_owner")["Items"] == [item]


def test_an_update_survives_a_crash(hand: ByHand) -> None:
    create_provisioned(hand, 1, 1, "one")
    update(hand, ProvisionedThroughput=units(5, 5))
    update(hand, **index_update("Update", "one", ProvisionedThroughput=units(7, 7)))
    before = describe(hand)
    hand.reopen()
    assert describe(hand) == before


def test_a_table_may_be_named_by_its_arn(hand: ByHand) -> None:
    create(hand)
    arn = describe(hand)["TableArn"]
    told = hand.call("UpdateTable", TableName=arn, DeletionProtectionEnabled=True)
    assert told["TableName"] == "Things"
