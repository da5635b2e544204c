"""Models in the form in which NoSQL Workbench exports them, written for these tests."""

from __future__ import annotations

import json
from typing import Any


def model(*tables: dict[str, Any], version: str = "3.0") -> str:
    document = {
        "ModelName": "Bookshop",
        "ModelMetadata": {
            "Author": "",
            "DateCreated": "Jan 02, 2024, 10:00 AM",
            "DateLastModified": "Jan 03, 2024, 11:00 AM",
            "Description": "Books, and who reads them.\n* by reader",
            "AWSService": "Amazon DynamoDB",
            "Version": version,
        },
        "DataModel": list(tables),
    }
    return json.dumps(document)


def keys(partition: str, sort: str | None = None, kind: str = "S") -> dict[str, Any]:
    found = {"PartitionKey": {"AttributeName": partition, "AttributeType": kind}}
    if sort:
        found["SortKey"] = {"AttributeName": sort, "AttributeType": "S"}
    return found


def attributes(**kinds: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in kinds.items()]


CAPACITY = {
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 7},
    "AutoScalingRead": {
        "ScalableTargetRequest": {"MinCapacity": 1, "MaxCapacity": 10, "ServiceRole": "AWSServiceRole"},
        "ScalingPolicyConfiguration": {"TargetValue": 70},
    },
}

SINGLE_TABLE: dict[str, Any] = {
    "TableName": "Bookshop",
    "KeyAttributes": keys("PK", "SK"),
    "NonKeyAttributes": attributes(GSI1PK="S", EntityType="S", Title="S", Price="N", Since="S", Shelf="M", Notes="L"),
    "TableFacets": [
        {
            "FacetName": "Readers",
            "KeyAttributeAlias": {"PartitionKeyAlias": "Reader", "SortKeyAlias": "Reader"},
            "NonKeyAttributes": ["EntityType", "Since"],
        }
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "GSI1",
            "KeyAttributes": keys("GSI1PK", "SK"),
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["Title"]},
        }
    ],
    "TableData": [
        {
            "PK": {"S": "READER#ann"},
            "SK": {"S": "READER#ann"},
            "EntityType": {"S": "Reader"},
            "Since": {"S": "2024-01-01"},
        },
        {
            "PK": {"S": "READER#bob"},
            "SK": {"S": "READER#bob"},
            "EntityType": {"S": "Reader"},
            "Since": {"S": "2023-01-01"},
        },
        {
            "PK": {"S": "READER#ann"},
            "SK": {"S": "LOAN#2024-02-03"},
            "GSI1PK": {"S": "BOOK#7"},
            "EntityType": {"S": "Loan"},
            "Title": {"S": "Emma"},
            "Price": {"N": "7.50"},
            "Shelf": {"M": {"room": {"N": "3"}, "lit": True, "kind": "high"}},
        },
        {"PK": {"S": "READER#none"}, "EntityType": {"S": "Reader"}},
    ],
    "DataAccess": {"MySql": {}},
    "BillingMode": "PROVISIONED",
    "ProvisionedCapacitySettings": CAPACITY,
}

FACETS_WITH_ROWS: dict[str, Any] = {
    "TableName": "Shelves",
    "KeyAttributes": keys("PK", "SK"),
    "NonKeyAttributes": attributes(Name="S", Count="N", Image="B", Open="BOOL", Tags="SS"),
    "TableFacets": [
        {
            "FacetName": "room",
            "KeyAttributeAlias": {"PartitionKeyAlias": "PK", "SortKeyAlias": "SK"},
            "TableData": [
                {
                    "PK": {"S": f"r#{number}"},
                    "SK": {"S": f"r#{number}"},
                    "Name": {"S": "Hall"},
                    "Open": {"BOOL": "true"},
                }
                for number in (12, 34)
            ],
            "NonKeyAttributes": ["Name", "Open"],
            "DataAccess": {"MySql": {}},
        },
        {
            "FacetName": "shelf",
            "KeyAttributeAlias": {"PartitionKeyAlias": "PK", "SortKeyAlias": "SK"},
            "TableData": [
                {
                    "PK": {"S": "r#12"},
                    "SK": {"S": "s#1"},
                    "Count": {"N": "5"},
                    "Image": {"B": "AAE="},
                    "Tags": {"SS": ["a"]},
                }
            ],
            "NonKeyAttributes": ["Count", "Image", "Tags"],
            "DataAccess": {"MySql": {}},
        },
    ],
    "DataAccess": {"MySql": {}},
}

WITHOUT_ROWS: dict[str, Any] = {
    "TableName": "Reviews",
    "KeyAttributes": keys("ReviewId", kind="N"),
    "NonKeyAttributes": attributes(Text="S", Stars="N", Tags="SS", Extra="M", Sent="BOOL"),
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-stars",
            "KeyAttributes": keys("Stars", "Text", "N"),
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "DataAccess": {"MySql": {}},
    "BillingMode": "PAY_PER_REQUEST",
}
