"""DescribeLimits and DescribeEndpoints."""

from __future__ import annotations

import torusdb
from torusdb import Database


def test_limits_are_the_default_quotas_of_an_account(db: Database) -> None:
    assert db.call("DescribeLimits") == {
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    }


def test_the_endpoint_is_the_services_in_the_region() -> None:
    with torusdb.open(region="eu-west-2") as db:
        endpoint = {"Address": "dynamodb.eu-west-2.amazonaws.com", "CachePeriodInMinutes": 1440}
        assert db.call("DescribeEndpoints") == {"Endpoints": [endpoint]}
