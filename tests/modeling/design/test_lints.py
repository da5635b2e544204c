"""Findings: their order, what is accepted of them, and that each rule is documented and tested."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.modeling.design.faults import (
    design,
    gsi,
    one,
    shop_and_customers,
    shop_by_status,
    table,
    things_with,
)
from torusdb.modeling import (
    ModelError,
    Scan,
)
from torusdb.modeling.design import Accepted, Volume, Workload, lint
from torusdb.modeling.design.lints import NOTHING_ACCEPTED, RULES
from torusdb.modeling.updates import Place

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "modeling" / "capacity.md"


def test_what_is_accepted_has_its_reason() -> None:
    shop = shop_by_status()
    accepted = Workload(Accepted("low-cardinality", shop.order.by_status, "a dozen orders a day"))
    findings = lint(design(shop.table, workload=accepted))
    assert findings[-1].rule == "low-cardinality"
    assert findings[-1].accepted == "a dozen orders a day"
    assert str(findings[-1]).endswith("[low-cardinality] (accepted: a dozen orders a day)")
    assert [each.rule for each in findings if each.accepted is None and each.rule == "low-cardinality"] == []


def test_an_entity_a_pattern_an_index_and_an_attribute_can_be_accepted() -> None:
    shop = shop_and_customers(lambda customer, order: Scan(customer), allow_scan=True)
    accepted = Workload(
        Accepted("unread-entities", shop.order, "written for another team"), Accepted("scans", shop.of_status, "small")
    )
    findings = lint(design(shop.table, workload=accepted))
    assert {each.rule for each in findings if each.accepted} == {"unread-entities", "scans"}
    index = gsi()
    accepted = Workload(Accepted("unused-indexes", index, "soon"))
    assert one("unused-indexes", table(index), workload=accepted).accepted == "soon"
    things, thing = things_with(list[str])
    values: Place[Any] = thing.values
    accepted = Workload(Accepted("item-growth", values, "ten at most"))
    assert one("item-growth", things, workload=accepted).accepted == "ten at most"


def test_accepting_what_is_not_found_is_told() -> None:
    shop = shop_and_customers()
    accepted = Workload(Accepted("scans", shop.of_status, "small"))
    finding = one(NOTHING_ACCEPTED, shop.table, workload=accepted)
    assert (finding.severity, finding.subject) == ("note", "read")


def test_only_rules_that_exist_can_be_accepted_and_with_a_reason() -> None:
    shop = shop_and_customers()
    with pytest.raises(ModelError, match="there is no such rule; there are low-cardinality, "):
        lint(design(shop.table, workload=Workload(Accepted("scan", shop.of_status, "small"))))
    with pytest.raises(ModelError, match="has no reason"):
        Accepted("scans", shop.of_status, " ")


def test_the_worst_comes_first() -> None:
    shop = shop_by_status()
    volume = Volume(shop.order, items=10**6, item_bytes=200, writes_per_second=5000)
    severities = [each.severity for each in lint(design(shop.table, workload=Workload(volume)))]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert severities[0] == "error"


def test_each_rule_is_documented_and_tested() -> None:
    guide = GUIDE.read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \|", guide, re.MULTILINE)
    assert [name for name in RULES if name not in rows] == []
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_lints*.py"))
    assert [name for name in RULES if f"def test_{name.replace('-', '_')}(" not in tests] == []
