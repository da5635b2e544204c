"""Bills are made of the prices, by hand where figures are round; prices can be one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from torusdb.modeling import ModelError
from torusdb.modeling.design.cost import (
    AUTO_SCALED,
    INFREQUENT_ACCESS,
    ON_DEMAND,
    PROVISIONED,
    SECONDS_A_MONTH,
    STANDARD,
    US_EAST_1,
    Bill,
    Demand,
    bills,
    break_even_load,
    prices_from,
    provisioned_units,
    read_prices,
    stream_bill,
)

DEMANDS = [Demand(700, 140, 90e9), Demand(70, 35, 10e9)]


def bill(mode: str, table_class: str = STANDARD, **options: Any) -> Bill:
    settings = {"utilisation": 0.7, "average_load": 0.25, **options}
    found = bills(DEMANDS, US_EAST_1, **settings)
    (made,) = [each for each in found if (each.mode, each.table_class) == (mode, table_class)]
    return made


def test_on_demand_is_paid_by_what_is_used() -> None:
    made = bill(ON_DEMAND)
    assert made.reads == pytest.approx(770 * 0.25 * SECONDS_A_MONTH * 0.125e-6)
    assert made.writes == pytest.approx(175 * 0.25 * SECONDS_A_MONTH * 0.625e-6)
    assert made.storage == pytest.approx(100 * 0.25)
    assert made.total == pytest.approx(made.reads + made.writes + 25)


def test_without_an_average_the_busiest_time_lasts_all_month() -> None:
    assert bill(ON_DEMAND, average_load=None).reads == pytest.approx(4 * bill(ON_DEMAND).reads)
    modes = {each.mode for each in bills(DEMANDS, US_EAST_1, utilisation=0.7, average_load=None)}
    assert AUTO_SCALED not in modes, "there is nothing to follow"


def test_provisioned_capacity_is_paid_by_the_hour_for_the_busiest_time() -> None:
    made = bill(PROVISIONED)
    assert made.reads == pytest.approx((1000 + 100) * 0.00013 * 730)
    assert made.writes == pytest.approx((200 + 50) * 0.00065 * 730)
    assert bill(PROVISIONED, average_load=1.0).reads == made.reads
    assert bill(PROVISIONED, utilisation=1.0).reads == pytest.approx(770 * 0.00013 * 730)


def test_auto_scaling_follows_the_load() -> None:
    assert bill(AUTO_SCALED).reads == pytest.approx((250 + 25) * 0.00013 * 730)


def test_capacity_is_in_whole_units_and_one_at_least() -> None:
    assert [provisioned_units(units, 0.7) for units in (0, 0.1, 0.7, 0.71, 7)] == [1, 1, 1, 2, 10]


def test_lots_of_a_hundred_units_are_reserved() -> None:
    made = bill("provisioned, reserved 1 year")
    assert made.reads == pytest.approx(11 * (30 / 12 + 0.0025 * 730))
    assert made.writes == pytest.approx(2 * (150 / 12 + 0.0128 * 730) + 50 * 0.00065 * 730)
    longer = bill("provisioned, reserved 3 years")
    assert longer.reads == pytest.approx(11 * (36 / 36 + 0.0016 * 730))


def test_reservations_save_what_the_service_says() -> None:
    """54 % in one year and 77 % in three ("DynamoDB reserved capacity", developer guide): the prices agree with it."""
    full = bills([Demand(7000, 7000, 0)], US_EAST_1, utilisation=1.0, average_load=None)
    totals = {each.mode: each.total for each in full if each.table_class == STANDARD}
    saved = {mode: 1 - total / totals[PROVISIONED] for mode, total in totals.items() if "reserved" in mode}
    assert [round(part, 2) for part in saved.values()] == [0.54, 0.77]


def test_infrequent_access_stores_for_less_and_reads_for_more() -> None:
    standard, infrequent = bill(ON_DEMAND), bill(ON_DEMAND, INFREQUENT_ACCESS)
    assert infrequent.storage == pytest.approx(10)
    assert infrequent.reads / standard.reads == pytest.approx(0.155 / 0.125)
    assert infrequent.writes / standard.writes == pytest.approx(0.78 / 0.625)
    reserved = {
        each.table_class for each in bills(DEMANDS, US_EAST_1, utilisation=1, average_load=1) if "res" in each.mode
    }
    assert reserved == {STANDARD}, "it is not sold for the other class"


def test_streams_are_paid_beyond_what_is_free() -> None:
    assert stream_bill(US_EAST_1, 0.9) == 0
    calls = 10 * SECONDS_A_MONTH
    assert stream_bill(US_EAST_1, 10) == pytest.approx((calls - 2_500_000) / 1e6 * 0.20)


def test_from_the_break_even_on_provisioned_costs_less() -> None:
    load = break_even_load(DEMANDS, US_EAST_1, 0.7)
    assert load is not None
    assert bill(ON_DEMAND, average_load=load).capacity == pytest.approx(bill(PROVISIONED).capacity)
    assert break_even_load([Demand(0.01, 0.01, 0)], US_EAST_1, 0.7) is None, "one unit is more than what is used"
    assert break_even_load([Demand(0, 0, 0)], US_EAST_1, 0.7) is None


# -- prices


def test_prices_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(
        json.dumps({"region": "eu-central-1", "standard": {"storage_gb_month": 0.306}, "reserved": [], "date": "today"})
    )
    prices = read_prices(path)
    assert (prices.region, prices.date, prices.standard.storage_gb_month) == ("eu-central-1", "today", 0.306)
    assert prices.standard.read_requests == US_EAST_1.standard.read_requests
    assert prices.reserved == ()
    made = bills(DEMANDS, prices, utilisation=0.7, average_load=None)
    assert [each for each in made if "reserved" in each.mode] == []


def test_reserved_prices_of_ones_own() -> None:
    lot = {"years": 2, "read_upfront": 1, "read_hour": 2, "write_upfront": 3, "write_hour": 4}
    (reserved,) = prices_from({"reserved": [lot]}, "p").reserved
    assert (reserved.years, reserved.write_hour) == (2, 4)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "p are no JSON object"),
        ({"standart": {}}, "have 'standart', which is none of region, date, "),
        ({"standard": {"reads": 1}}, "p, standard have 'reads', which is none of read_requests, "),
        ({"standard": 5}, "p, standard are no JSON object"),
        ({"standard": {"read_requests": -1}}, "p, standard, read_requests are -1, which is no price"),
        ({"standard": {"read_requests": True}}, "are True, which is no price"),
        ({"standard": {"read_requests": float("nan")}}, "are nan, which is no price"),
        ({"standard": {"read_requests": "1"}}, "are '1', which is no price"),
        ({"region": 5}, "p, region are 5, which is no text"),
        ({"reserved": 5}, "a reserved that is no list"),
        ({"reserved": [{"years": 1}]}, "needs years, read_upfront, "),
        (
            {"reserved": [{"years": 0, "read_upfront": 1, "read_hour": 2, "write_upfront": 3, "write_hour": 4}]},
            "of 0 years",
        ),
    ],
)
def test_wrong_prices_are_refused_in_a_sentence(given: Any, told: str) -> None:
    with pytest.raises(ModelError) as caught:
        prices_from(given, "p")
    assert told in str(caught.value)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        read_prices(tmp_path / "none.json")
    (tmp_path / "half.json").write_text("{")
    with pytest.raises(ModelError, match=r"half\.json cannot be read: Expecting"):
        read_prices(tmp_path / "half.json")
