"""The AWS CLI, command by command. Run by `test_other_clients.py` with the CLI's own Python; AWS names the command."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

AWS = os.environ["AWS"]
TABLE = "Orders"
FOLDER = Path(tempfile.mkdtemp())


class CommandFailed(Exception):
    """The CLI ended with an error."""


def aws(command: str, *options: str, **parameters: Any) -> Any:
    """A command of `aws dynamodb`; parameters are JSON, in a file where they are large."""
    arguments = [AWS, "dynamodb", "--output", "json", *command.split(), *options]
    for name, value in parameters.items():
        text = value if isinstance(value, str) else json.dumps(value)
        if len(text) > 100_000:
            file = FOLDER / f"{name}.json"
            file.write_text(text)
            text = f"file://{file}"
        arguments += [f"--{name.replace('_', '-')}", text]
    endpoint = {**os.environ, "AWS_ENDPOINT_URL_DYNAMODB": os.environ["ENDPOINT"]}
    ended = subprocess.run(arguments, capture_output=True, text=True, env=endpoint, check=False)
    if ended.returncode:
        raise CommandFailed(ended.stderr.strip())
    return json.loads(ended.stdout) if ended.stdout.strip() else {}


def failure(command: str, *options: str, **parameters: Any) -> str:
    try:
        aws(command, *options, **parameters)
    except CommandFailed as error:
        return str(error)
    raise AssertionError(f"aws dynamodb {command} went through")


def key(customer: str, number: int) -> dict[str, Any]:
    return {"Customer": {"S": customer}, "Number": {"N": str(number)}}


def order(number: int, **more: Any) -> dict[str, Any]:
    return {**key("ann", number), "State": {"S": "open" if number % 2 else "paid"}, **more}


def tables() -> None:
    aws(
        "create-table --billing-mode PAY_PER_REQUEST --key-schema AttributeName=Customer,KeyType=HASH "
        "AttributeName=Number,KeyType=RANGE --attribute-definitions AttributeName=Customer,AttributeType=S "
        "AttributeName=Number,AttributeType=N AttributeName=State,AttributeType=S",
        "--global-secondary-indexes",
        "IndexName=ByState,KeySchema=[{AttributeName=State,KeyType=HASH},{AttributeName=Number,KeyType=RANGE}],"
        "Projection={ProjectionType=KEYS_ONLY}",
        table_name=TABLE,
    )
    aws("wait table-exists", table_name=TABLE)
    table = aws("describe-table", table_name=TABLE)["Table"]
    assert (table["TableStatus"], table["GlobalSecondaryIndexes"][0]["IndexName"]) == ("ACTIVE", "ByState")


def values() -> None:
    item = {
        **key("types", 1),
        "S": {"S": "é\n\u2028\U0001f40d"},
        "B": {"B": "text"},
        "SS": {"SS": ["a", "b"]},
        "NS": {"NS": ["1", "2"]},
        "BS": {"BS": ["x", "y"]},
        "BOOL": {"BOOL": False},
        "NULL": {"NULL": True},
        "L": {"L": [{"S": ""}, {"L": []}, {"N": "-1.25"}]},
        "M": {"M": {"inner": {"M": {}}}},
    }
    aws("put-item", table_name=TABLE, item=item)
    found = aws("get-item --consistent-read", table_name=TABLE, key=key("types", 1))["Item"]
    for name in ("SS", "NS", "BS"):
        found[name][name].sort()
    # The CLI's first version takes binary values as text, and gives them in base64.
    assert found == {**item, "B": {"B": "dGV4dA=="}, "BS": {"BS": ["eA==", "eQ=="]}}, found
    assert aws("get-item", table_name=TABLE, key=key("types", 2)) == {}


def conditions() -> None:
    once = {"table_name": TABLE, "item": order(1), "condition_expression": "attribute_not_exists(Customer)"}
    aws("put-item", **once)
    told = failure("put-item", **once)
    assert "(ConditionalCheckFailedException) when calling the PutItem operation" in told, told
    updated = aws(
        "update-item --return-values UPDATED_NEW",
        table_name=TABLE,
        key=key("ann", 1),
        update_expression="SET #s = :paid ADD Cents :one",
        condition_expression="#s = :open",
        expression_attribute_names={"#s": "State"},
        expression_attribute_values={":paid": {"S": "paid"}, ":open": {"S": "open"}, ":one": {"N": "1"}},
    )
    assert updated["Attributes"] == {"State": {"S": "paid"}, "Cents": {"N": "1"}}, updated


def errors() -> None:
    told = failure("get-item", table_name="Absent", key=key("ann", 1))
    assert "(ResourceNotFoundException)" in told and "Requested resource not found" in told, told
    told = failure("get-item", table_name=TABLE, key={"Customer": {"S": "ann"}})
    assert "(ValidationException)" in told and "The provided key element does not match the schema" in told, told
    told = failure("create-table", "--cli-input-json", json.dumps({"TableName": TABLE, **SMALL_TABLE}))
    assert f"(ResourceInUseException) when calling the CreateTable operation: Table already exists: {TABLE}" in told


SMALL_TABLE = {
    "KeySchema": [{"AttributeName": "Id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "Id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def batches() -> None:
    pad = {"Pad": {"S": "x" * 380_000}}
    for start in (1, 26):
        left = {TABLE: [{"PutRequest": {"Item": order(number, **pad)}} for number in range(start, start + 25)]}
        while left:
            left = aws("batch-write-item", request_items=left)["UnprocessedItems"]
    wanted: dict[str, Any] = {TABLE: {"Keys": [key("ann", number) for number in range(1, 51)]}}
    found = rounds = 0
    while wanted:
        answer = aws("batch-get-item", request_items=wanted)
        found += len(answer["Responses"].get(TABLE, []))
        wanted = answer["UnprocessedKeys"]
        rounds += 1
    assert (found, rounds > 1) == (50, True), "an answer ends at 16 MB"


def pages() -> None:
    query = {
        "table_name": TABLE,
        "index_name": "ByState",
        "key_condition_expression": "#s = :open",
        "expression_attribute_names": {"#s": "State"},
        "expression_attribute_values": {":open": {"S": "open"}},
    }
    all_at_once = aws("query --page-size 4 --no-scan-index-forward", **query)
    assert [int(item["Number"]["N"]) for item in all_at_once["Items"]] == list(range(49, 0, -2))
    numbers: list[int] = []
    token: list[str] = []
    while True:
        part = aws("query --max-items 10", *token, **query)
        numbers += [int(item["Number"]["N"]) for item in part["Items"]]
        if "NextToken" not in part:
            break
        token = ["--starting-token", part["NextToken"]]
    assert numbers == list(range(1, 51, 2)), numbers
    assert aws("scan --select COUNT", table_name=TABLE)["Count"] == 51, "over all pages of 1 MB"
    text = aws("scan", "--query", "length(Items)", table_name=TABLE, projection_expression="Customer")
    assert text == 51, text


def deletion() -> None:
    gone = aws("delete-item --return-values ALL_OLD", table_name=TABLE, key=key("types", 1))
    assert gone["Attributes"]["BOOL"] == {"BOOL": False}
    assert aws("delete-table", table_name=TABLE)["TableDescription"]["TableName"] == TABLE
    aws("wait table-not-exists", table_name=TABLE)
    assert aws("list-tables")["TableNames"] == []


for step in (tables, values, conditions, errors, batches, pages, deletion):
    step()
    print(step.__name__, flush=True)
