"""PartiQL by boto3, over HTTP and in the process."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from tests.clients.conftest import NINA
from tests.clients.test_boto3_client import EVERY_TYPE, put_songs


def test_an_item_of_every_type_goes_in_and_comes_back(client: BaseClient) -> None:
    members = ", ".join(f"'{name}': ?" for name in EVERY_TYPE)
    client.execute_statement(
        Statement=f"INSERT INTO Music VALUE {{'Artist': 'Nina Simone', 'Song': 'Sinnerman', {members}}}",
        Parameters=list(EVERY_TYPE.values()),
    )
    [found] = client.execute_statement(
        Statement="SELECT * FROM \"Music\" WHERE Artist = ? AND Song = ? AND B = ? AND SS = <<'b', 'a'>>",
        Parameters=[NINA["Artist"], NINA["Song"], EVERY_TYPE["B"]],
    )["Items"]
    assert found == {**NINA, **EVERY_TYPE}


def test_pages(client: BaseClient) -> None:
    put_songs(client, 7)
    request: dict[str, Any] = {"Statement": "SELECT Song FROM Music WHERE Artist = 'Nina Simone'", "Limit": 3}
    pages = [client.execute_statement(**request)]
    while "NextToken" in pages[-1]:
        pages.append(client.execute_statement(**request, NextToken=pages[-1]["NextToken"]))
    assert [[item["Song"]["S"] for item in page["Items"]] for page in pages] == [
        ["0000", "0001", "0002"],
        ["0003", "0004", "0005"],
        ["0006"],
    ]


def test_errors_are_the_client_s_exceptions(client: BaseClient) -> None:
    insert = "INSERT INTO Music VALUE {'Artist': 'Nina Simone', 'Song': 'Sinnerman'}"
    client.execute_statement(Statement=insert)
    with pytest.raises(client.exceptions.DuplicateItemException) as duplicate:
        client.execute_statement(Statement=insert)
    assert duplicate.value.response["Error"]["Message"] == "Duplicate primary key exists in table"
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as failed:
        client.execute_statement(
            Statement="DELETE FROM Music WHERE Artist = 'Nina Simone' AND Song = 'Sinnerman' AND Live = true",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert failed.value.response["Item"] == NINA
    with pytest.raises(ClientError) as malformed:
        client.execute_statement(Statement="SELECT * FROM Music WHERE Artist = 'Nina")
    assert malformed.value.response["Error"] == {
        "Code": "ValidationException",
        "Message": "Statement wasn't well formed, can't be processed: ",
    }


def test_batches_and_transactions(client: BaseClient) -> None:
    """boto3 gives each transaction a token of its own."""
    insert = "INSERT INTO Music VALUE {'Artist': 'Nina Simone', 'Song': ?}"
    statements = [{"Statement": insert, "Parameters": [{"S": str(number)}]} for number in range(3)]
    answer = client.execute_transaction(TransactStatements=statements)
    assert answer["Responses"] == [{}, {}, {}]
    select = "SELECT Song FROM Music WHERE Artist = 'Nina Simone' AND Song = ?"
    reads = [{"Statement": select, "Parameters": [{"S": text}]} for text in ("2", "x", "0")]
    assert client.execute_transaction(TransactStatements=reads)["Responses"] == [
        {"Item": {"Song": {"S": "2"}}},
        {},
        {"Item": {"Song": {"S": "0"}}},
    ]
    assert client.batch_execute_statement(Statements=reads)["Responses"] == [
        {"TableName": "Music", "Item": {"Song": {"S": "2"}}},
        {"TableName": "Music"},
        {"TableName": "Music", "Item": {"Song": {"S": "0"}}},
    ]
    with pytest.raises(client.exceptions.TransactionCanceledException) as cancelled:
        client.execute_transaction(
            TransactStatements=[{"Statement": insert, "Parameters": [{"S": "new"}]}, statements[0]]
        )
    reasons = cancelled.value.response["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["None", "DuplicateItem"]
    assert client.scan(TableName="Music", Select="COUNT")["Count"] == 3


def test_a_large_item_by_parameter(client: BaseClient) -> None:
    client.execute_statement(
        Statement="INSERT INTO Music VALUE {'Artist': 'Nina Simone', 'Song': 'Sinnerman', 'Score': ?}",
        Parameters=[{"B": b"\x00\xff" * 150_000}],
    )
    [found] = client.execute_statement(Statement="SELECT Score FROM Music")["Items"]
    assert found == {"Score": {"B": b"\x00\xff" * 150_000}}
