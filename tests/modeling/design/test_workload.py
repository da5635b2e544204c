"""Expectations that cannot be meant are refused, and several workloads are one."""

from __future__ import annotations

import pytest

from tests.modeling.design.faults import (
    shop_by_status,
    things_with,
)
from torusdb.modeling import (
    ModelError,
)
from torusdb.modeling.design import Accepted, Rate, Volume, Workload
from torusdb.modeling.design.workload import joined


def test_expectations_are_checked() -> None:
    shop = shop_by_status()
    order, other = shop.order, things_with(int)[1]
    for make, told in (
        (lambda: Volume(order, items=float("nan")), "Volume(Order): items is nan, which is no number to plan with"),
        (lambda: Volume(order, items=1, in_index={order.key: 1}), "Order.key is the key of the table"),
        (lambda: Volume(order, items=1, index_writes={order.by_status: 3}), "a write of the entity causes 0 to 2"),
        (lambda: Volume(other, items=1, in_index={order.by_status: 1}), "Order.by_status is no key of Thing"),
        (
            lambda: Volume(order, items=1, hottest_writes={order.by_status: 2}),
            "hottest_writes of Order.by_status is a part",
        ),
        (lambda: Volume(order, items=1, in_transactions=2), "in_transactions is a part, from 0 up to 1, not 2"),
        (lambda: Volume(order, items=1, sample=Volume), "is no Order"),
        (lambda: Rate(shop.of_status, per_second=1, items={order: -1}), "items is -1, and cannot be below 0"),
        (lambda: Workload(average_load=0), "average_load is a part, above 0 and up to 1, not 0"),
        (
            lambda: joined([Workload(average_load=0.1), Workload(average_load=0.2)]),
            "2 different values of average_load",
        ),
    ):
        with pytest.raises(ModelError) as caught:
            make()  # type: ignore[no-untyped-call]
        assert told in str(caught.value)


def test_workloads_are_joined_with_all_they_say() -> None:
    shop = shop_by_status()
    accepted = Accepted("hot-keys", shop.order.by_status, "why not")
    made = joined([Workload(accepted, average_load=0.5), Workload(stream_reads_per_second=4)])
    assert (made.accepted, made.average_load, made.stream_reads_per_second) == ([accepted], 0.5, 4)
