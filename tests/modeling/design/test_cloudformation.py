"""CloudFormation: all that a table is declared with, in the service's own words."""

from __future__ import annotations

import json
from typing import Any

from tests.modeling.conftest import Recorder
from tests.modeling.design.designs import design_from
from tests.modeling.shop import shop
from torusdb.modeling import Table
from torusdb.modeling.design.cloudformation import as_json, as_yaml, cloudformation

FULL = """
from datetime import datetime
several = GlobalIndex("several", partition_key=["a", number_key("b")], sort_key=["c"], include=["x"])
sessions = Table("my-sessions", partition_key="pk", indexes=[several], options=TableOptions(
    provisioned=Throughput(5, 6), stream="NEW_IMAGE", table_class="STANDARD_INFREQUENT_ACCESS",
    deletion_protection=True, point_in_time_recovery=True, kms_key="alias/mine", tags={"cost": "7: \\"x\\" # yes"},
))
class Session(Entity, table=sessions):
    key = Key("S#{id}")
    id: Attr[str]
    ends: Attr[datetime] = ttl()
other = Table("my.sessions", partition_key="pk")
"""


def test_a_template_of_everything() -> None:
    template = cloudformation(design_from(FULL).tables)
    assert template["AWSTemplateFormatVersion"] == "2010-09-09"
    first, second = template["Resources"].values()
    assert list(template["Resources"]) == ["MySessionsTable", "MySessionsTable2"]
    assert second == {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "TableName": "my.sessions",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    }
    assert (first["DeletionPolicy"], first["UpdateReplacePolicy"]) == ("Retain", "Retain")
    properties = first["Properties"]
    assert properties.pop("GlobalSecondaryIndexes") == [
        {
            "IndexName": "several",
            "KeySchema": [
                {"AttributeName": "a", "KeyType": "HASH"},
                {"AttributeName": "b", "KeyType": "HASH"},
                {"AttributeName": "c", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]},
            "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
        }
    ]
    for name in ("TableName", "AttributeDefinitions", "KeySchema"):
        del properties[name]
    assert properties == {
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
        "TableClass": "STANDARD_INFREQUENT_ACCESS",
        "DeletionProtectionEnabled": True,
        "Tags": [{"Key": "cost", "Value": '7: "x" # yes'}],
        "StreamSpecification": {"StreamViewType": "NEW_IMAGE"},
        "SSESpecification": {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/mine"},
        "TimeToLiveSpecification": {"AttributeName": "ends", "Enabled": True},
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
    }


def test_what_it_says_of_keys_and_indexes_makes_the_table(client: Recorder) -> None:
    (resource,) = cloudformation([shop])["Resources"].values()
    client.create_table(**resource["Properties"])
    described = client.describe_table(TableName="shop")["Table"]
    assert {each["IndexName"] for each in described["GlobalSecondaryIndexes"]} == {"emails", "gsi1", "gsi2"}
    assert [each["IndexName"] for each in described["LocalSecondaryIndexes"]] == ["lsi1"]


YAML = """\
AWSTemplateFormatVersion: "2010-09-09"
Resources:
  SimpleTable:
    Type: "AWS::DynamoDB::Table"
    Properties:
      TableName: "simple"
      AttributeDefinitions:
        - AttributeName: "on"
          AttributeType: "S"
        - AttributeName: "n"
          AttributeType: "N"
      KeySchema:
        - AttributeName: "on"
          KeyType: "HASH"
      BillingMode: "PROVISIONED"
      ProvisionedThroughput:
        ReadCapacityUnits: 5
        WriteCapacityUnits: 1
      DeletionProtectionEnabled: true
      Tags:
        - Key: "k"
          Value: "a \\u00e9 \\"b\\"\\n- c: d"
      GlobalSecondaryIndexes:
        - IndexName: "some"
          KeySchema:
            - AttributeName: "n"
              KeyType: "HASH"
          Projection:
            ProjectionType: "INCLUDE"
            NonKeyAttributes:
              - "x"
              - "no"
          ProvisionedThroughput:
            ReadCapacityUnits: 5
            WriteCapacityUnits: 1
"""


def simple() -> list[Table]:
    return design_from("""
some = GlobalIndex("some", partition_key=number_key("n"), include=["x", "no"])
options = TableOptions(provisioned=Throughput(5, 1), deletion_protection=True, tags={"k": "a é \\"b\\"\\n- c: d"})
simple = Table("simple", partition_key="on", indexes=[some], options=options)
""").tables


def test_yaml_says_what_json_says() -> None:
    template = cloudformation(simple())
    del template["Resources"]["SimpleTable"]["DeletionPolicy"]
    del template["Resources"]["SimpleTable"]["UpdateReplacePolicy"]
    assert as_yaml(template) == YAML
    assert _read(iter(YAML.splitlines())) == template
    assert json.loads(as_json(template)) == template


def _read(lines: Any) -> Any:
    """YAML of the form that is written: mappings and sequences by indentation, scalars as JSON has them."""
    rows = []
    for line in lines:
        text = line.lstrip(" ")
        depth = len(line) - len(text)
        while text.startswith("- "):
            rows.append((depth, "-", ""))
            text, depth = text[2:], depth + 2
        name, _, value = text.partition(": ") if not text.startswith('"') else ("", "", text)
        rows.append((depth, name.rstrip(":"), value))
    return _block(rows)


def _block(rows: list[tuple[int, str, str]]) -> Any:
    """Takes what is at least as deep as the first row."""
    depth, name, value = rows[0]
    if name == "":
        rows.pop(0)
        return json.loads(value)
    found: Any = [] if name == "-" else {}
    while rows and rows[0][0] == depth and (rows[0][1] == "-") == isinstance(found, list):
        _, name, value = rows.pop(0)
        if isinstance(found, list):
            found.append(_block(rows))
        else:
            found[name] = json.loads(value) if value else _block(rows)
    return found
