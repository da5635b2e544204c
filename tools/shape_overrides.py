"""Where the service's answers differ from its published model: each entry with its evidence.

`SHAPES` changes a shape wherever it is used, `MEMBERS` one member of one structure, `ORDER` the order in
which the members of a structure are reported. None takes a rule away. What is not named here is as the model
has it. "Measured" means: answers of the service that were recorded and published by others; where records
differ, the newest (eu-west-2, 2026) counts.
"""

from __future__ import annotations

from typing import Any

DATA_TABLE_NAME = {"names": "data"}
"""Operations on items take a name or an ARN. For each kind of name see `torusdb.api.names`."""

LONE_TABLE_NAME = {"names": "alone"}
"""PutItem and UpdateItem report a wrong table name before they look at anything else (measured)."""

CONTROL_TABLE_NAME = {"names": "control"}
"""Operations on tables have words of their own for a name that is missing or of a wrong length (measured)."""

MEMBER_TABLE_NAME = {"names": "member"}
"""Members of transactions name their tables as operations on items do."""
RESOURCE_ARN = {"names": "arn"}
"""Operations on resources of any kind have words of their own for an ARN that is missing (dynalite, dynoxide)."""

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
    # 64 KB: beyond the limits of expressions and keys, which have words of their own; checked with the item.
    "AttributeName": {"max": None},
    # Too long a tag is told in words of its own (measured).
    "TagKeyString": {"max": None},
    "TagValueString": {"max": None},
}

ELEMENTS_MAX = 20_000
"""Of lists and maps of structures for which the model has no limit, such as Expected or AttributeDefinitions, and of
those in `ALSO_LIMITED`. An invention of ours: the service's own bound, if it has one, is not known. 16 MB hold a
million of them, or five million empty ones, which would hold up all other requests for seconds; no request that is
meant comes near (a table's keys and indexes have fewer than 200 attributes, a condition names a handful)."""

ALSO_LIMITED = ["AttributeNameList", "AttributeValueList"]
"""AttributesToGet, and the values of the conditions that came before expressions: IN takes 100 in an expression."""

MEMBERS: dict[str, dict[str, Any]] = {
    # A name only, no ARN: the table has none yet. What is wrong with it is reported alone (measured).
    "CreateTableInput.TableName": {"names": "create"},
    # Not required by the model, since a table can be made from a global one; still reported if null
    # (measured).
    "CreateTableInput.AttributeDefinitions": {"required": True},
    # Keys of tables and of local indexes stay at two attributes; only those of global ones take more (measured;
    # developer guide).
    "CreateTableInput.KeySchema": {"required": True, "max": 2},
    "LocalSecondaryIndex.KeySchema": {"max": 2},
    "DescribeTableInput.TableName": CONTROL_TABLE_NAME,
    "UpdateTableInput.TableName": CONTROL_TABLE_NAME,
    "DeleteTableInput.TableName": CONTROL_TABLE_NAME,
    "DescribeTimeToLiveInput.TableName": CONTROL_TABLE_NAME,
    "UpdateTimeToLiveInput.TableName": CONTROL_TABLE_NAME,
    "TagResourceInput.ResourceArn": RESOURCE_ARN,
    "UntagResourceInput.ResourceArn": RESOURCE_ARN,
    "ListTagsOfResourceInput.ResourceArn": RESOURCE_ARN,
    "PutResourcePolicyInput.ResourceArn": RESOURCE_ARN,
    "GetResourcePolicyInput.ResourceArn": RESOURCE_ARN,
    "DeleteResourcePolicyInput.ResourceArn": RESOURCE_ARN,
    "PutItemInput.TableName": LONE_TABLE_NAME,
    "UpdateItemInput.TableName": LONE_TABLE_NAME,
    "GetItemInput.TableName": DATA_TABLE_NAME,
    "DeleteItemInput.TableName": DATA_TABLE_NAME,
    "QueryInput.TableName": DATA_TABLE_NAME,
    "ScanInput.TableName": DATA_TABLE_NAME,
    "ConditionCheck.TableName": MEMBER_TABLE_NAME,
    "Put.TableName": MEMBER_TABLE_NAME,
    "Delete.TableName": MEMBER_TABLE_NAME,
    "Update.TableName": MEMBER_TABLE_NAME,
    "Get.TableName": MEMBER_TABLE_NAME,
    # Query leaves out the value and writes the name as the wire does; Scan does neither (measured).
    "QueryInput.Limit": {"says_min": "Value at 'Limit' failed to satisfy constraint: {rule}"},
    # Likewise for too many keys of one table (measured).
    "KeysAndAttributes.Keys": {
        "says_max": "Value at 'RequestItems.{key}.member.Keys' failed to satisfy constraint: {rule}"
    },
    # The model tells these upper limits in its text only; the words are those of every other limit.
    "StreamsListStreamsInput.Limit": {"max": 100},
    "StreamsDescribeStreamInput.Limit": {"max": 100},
    "StreamsGetRecordsInput.Limit": {"max": 1000},
    # An empty map is reported in words of its own and without the usual prefix (measured).
    "BatchGetItemInput.RequestItems": {
        "says_empty": "The requestItems parameter is required for BatchGetItem",
        "key_names": "data",
    },
    "BatchWriteItemInput.RequestItems": {
        "says_empty": "The requestItems parameter is required for BatchWriteItem",
        "key_names": "data",
    },
}

ORDER: dict[str, list[str]] = {
    # Measured, as far as requests with several violations have been published; the rest is in model order.
    "CreateTableInput": [
        *["TableName", "BillingMode", "ProvisionedThroughput", "KeySchema", "AttributeDefinitions"],
        *["LocalSecondaryIndexes", "GlobalSecondaryIndexes"],
    ],
    "UpdateTableInput": ["TableName", "ProvisionedThroughput", "BillingMode", "GlobalSecondaryIndexUpdates"],
    "ProvisionedThroughput": ["WriteCapacityUnits", "ReadCapacityUnits"],
    "GlobalSecondaryIndex": ["KeySchema", "Projection", "IndexName", "ProvisionedThroughput"],
    "CreateGlobalSecondaryIndexAction": ["Projection", "IndexName", "ProvisionedThroughput", "KeySchema"],
    "PutItemInput": [
        "TableName",
        "Item",
        "ReturnConsumedCapacity",
        "ReturnValues",
        "ReturnItemCollectionMetrics",
    ],
    "GetItemInput": ["Key", "TableName", "ReturnConsumedCapacity", "AttributesToGet"],
    "UpdateItemInput": [
        *["TableName", "Key", "ReturnValues", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics"],
    ],
    "DeleteItemInput": [
        *["TableName", "Key", "ReturnConsumedCapacity", "ReturnValues", "ReturnItemCollectionMetrics"],
    ],
    "QueryInput": ["TableName", "ReturnConsumedCapacity", "Select", "Limit"],
    "ScanInput": ["TableName", "ReturnConsumedCapacity", "Select", "Limit", "Segment"],
}

FIRST_ONLY: dict[str, list[str]] = {
    # UpdateItem stops at the first of these, where PutItem and DeleteItem list them all (measured).
    "UpdateItemInput": ["ReturnValues", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics"],
}
