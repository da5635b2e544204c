"""Where the service's answers differ from its published model: each entry with its evidence.

`SHAPES` changes a shape wherever it is used, `MEMBERS` one member of one structure, `ORDER` the order in which the
members of a structure are checked. What is not named here is as the model has it. "Measured" means: answers of the
service that were recorded and published by others; where records differ, the newest (eu-west-2, 2026) counts.
"""

from __future__ import annotations

from typing import Any

NAME_PATTERN = "[a-zA-Z0-9_.-]+"
ARN_PATTERN = "arn:aws[a-z-]*:dynamodb:[^:]*:[^:]*:table/[a-zA-Z0-9_.-]{3,255}"

DATA_TABLE_NAME = {"names": "data", "accepts": f"[a-zA-Z0-9_.-]{{1,255}}|{ARN_PATTERN}"}
"""Operations on items take 1 to 255 characters, or an ARN (measured)."""

CONTROL_TABLE_NAME = {"names": "control", "accepts": f"[a-zA-Z0-9_.-]{{3,255}}|{ARN_PATTERN}"}
"""Operations on tables say so in words of their own when a name is missing or has the wrong length (measured)."""

SHAPES: dict[str, dict[str, Any]] = {
    # The value sets are listed in the service's own order, which is not the model's (measured).
    "ScalarAttributeType": {"enum": ["B", "N", "S"]},
    "ProjectionType": {"enum": ["ALL", "INCLUDE", "KEYS_ONLY"]},
    "ReturnValue": {"enum": ["ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"]},
    "ConditionalOperator": {"enum": ["OR", "AND"]},
    "Select": {"enum": ["SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"]},
    "ComparisonOperator": {
        "enum": [
            *["IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT", "NOT_NULL"],
            *["NE", "LE", "BEGINS_WITH", "GE", "CONTAINS"],
        ]
    },
}

MEMBERS: dict[str, dict[str, Any]] = {
    # A name only, no ARN: the table has none yet. Whatever is wrong with it is reported alone (measured).
    "CreateTableInput.TableName": {"names": "create", "min": 3, "max": 255, "pattern": NAME_PATTERN},
    # The model lists neither as required since a table can be made from a global one; their absence is still
    # "Member must not be null" (measured).
    "CreateTableInput.AttributeDefinitions": {"required": True},
    # A table's own key stays at two attributes; only global indexes take more (measured; developer guide).
    "CreateTableInput.KeySchema": {"required": True, "max": 2},
    "DescribeTableInput.TableName": CONTROL_TABLE_NAME,
    "UpdateTableInput.TableName": CONTROL_TABLE_NAME,
    "DeleteTableInput.TableName": CONTROL_TABLE_NAME,
    "PutItemInput.TableName": {**DATA_TABLE_NAME, "names": "alone"},
    "UpdateItemInput.TableName": {**DATA_TABLE_NAME, "names": "alone"},
    "GetItemInput.TableName": DATA_TABLE_NAME,
    "DeleteItemInput.TableName": DATA_TABLE_NAME,
    "QueryInput.TableName": DATA_TABLE_NAME,
    "ScanInput.TableName": DATA_TABLE_NAME,
}

ORDER: dict[str, list[str]] = {}
