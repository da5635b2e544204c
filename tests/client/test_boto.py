"""What is particular to boto3 objects without a socket. What they share with boto3 over HTTP is in tests/clients."""

from __future__ import annotations

import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError

import torusdb
from torusdb import Database, database
from torusdb.client import boto
from torusdb.operations.catalog import Catalog
from torusdb.server.listen import ServerThread
from torusdb.storage.driver import Outcome, Paused
from torusdb.storage.embedded import EmbeddedEngine
from torusdb.storage.failures import StorageFailed

TABLE: dict[str, Any] = {
    "TableName": "Things",
    "KeySchema": [{"AttributeName": "Id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "Id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
ONE = {"Id": {"S": "1"}}


def python(code: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a process of its own, where nothing has been imported yet."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


# No socket, no configuration


def test_no_socket_is_made(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    client, resource = db.client(), db.resource()

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a socket was made")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    client.create_table(**TABLE)
    resource.Table("Things").put_item(Item={"Id": "1"})
    assert client.scan(TableName="Things")["Items"] == [ONE]


@pytest.mark.parametrize("made", [Database.client, Database.resource])
def test_neither_credentials_nor_a_region_nor_a_profile_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, made: Any
) -> None:
    broken = tmp_path / "config"
    broken.write_text("[profile")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_PROFILE", "absent")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(broken))
    boto._session.cache_clear()
    with torusdb.open(region="eu-west-2") as db:
        client = made(db) if made is Database.client else made(db).meta.client
        table = client.create_table(**TABLE)["TableDescription"]
    assert client.meta.region_name == "eu-west-2"
    assert table["TableArn"] == "arn:aws:dynamodb:eu-west-2:000000000000:table/Things"


def test_options_are_those_of_boto3(db: Database) -> None:
    config = Config(retries={"mode": "standard", "total_max_attempts": 2}, user_agent_extra="ours")
    client = db.client(region_name="eu-west-2", config=config)
    assert client.meta.region_name == "eu-west-2"
    assert client.meta.config.user_agent_extra == "ours"
    assert client.meta.config.retries["total_max_attempts"] == 2
    assert client.list_tables()["TableNames"] == []


def test_importing_torusdb_imports_no_boto3() -> None:
    run = python("import sys, torusdb; torusdb.open().close(); assert 'boto3' not in sys.modules")
    assert run.stderr == ""


# Other clients


@pytest.fixture
def nobody() -> Any:
    """A URL where nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


@pytest.mark.parametrize(("service", "operation"), [("s3", "list_buckets"), ("dynamodb", "list_tables")])
def test_other_clients_go_where_they_always_went(db: Database, nobody: str, service: str, operation: str) -> None:
    options: dict[str, Any] = {
        "endpoint_url": nobody,
        "region_name": "us-east-1",
        "aws_access_key_id": "any",
        "aws_secret_access_key": "any",
        "config": Config(retries={"total_max_attempts": 1}),
    }
    before = boto3.client(service, **options)
    assert db.client().list_tables()["TableNames"] == []
    after = boto3.client(service, **options)
    for client in (before, after):
        with pytest.raises(EndpointConnectionError):
            getattr(client, operation)()


def test_a_database_can_be_served_and_used_in_the_process_at_once(db: Database) -> None:
    options = {"region_name": "us-east-1", "aws_access_key_id": "any", "aws_secret_access_key": "any"}
    with ServerThread(db) as endpoint:
        outside = boto3.client("dynamodb", endpoint_url=endpoint, **options)
        outside.create_table(**TABLE)
        db.client().put_item(TableName="Things", Item=ONE)
        assert outside.get_item(TableName="Things", Key=ONE)["Item"] == ONE
        outside.close()


# Credentials


def test_by_credentials_clients_see_the_tables_of_their_account_and_region() -> None:
    def client(key: str, region: str) -> Any:
        return db.client(aws_access_key_id=key, aws_secret_access_key="any", region_name=region)

    with torusdb.open(by_credentials=True) as db:
        here, there, theirs = (
            client("1" * 12, "eu-west-2"),
            client("1" * 12, "us-east-1"),
            client("2" * 12, "eu-west-2"),
        )
        made = here.create_table(**TABLE)["TableDescription"]
        assert made["TableArn"] == "arn:aws:dynamodb:eu-west-2:111111111111:table/Things"
        assert here.list_tables()["TableNames"] == ["Things"]
        assert there.list_tables()["TableNames"] == theirs.list_tables()["TableNames"] == []
        assert db.client().list_tables()["TableNames"] == []


def test_two_threads_that_meet_in_a_new_account_share_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    with torusdb.open(by_credentials=True) as db, ThreadPoolExecutor(1) as other:
        client = db.client(aws_access_key_id="1" * 12, aws_secret_access_key="any")

        def overtaken(*of: str) -> Catalog:
            """While one thread is about to make the account's catalog, the other does so and makes a table."""
            monkeypatch.undo()
            other.submit(client.create_table, **TABLE).result()
            return Catalog(*of)

        monkeypatch.setattr(database, "Catalog", overtaken)
        assert client.list_tables()["TableNames"] == ["Things"]


def test_clients_are_made_in_many_threads_at_once(db: Database) -> None:
    boto._session.cache_clear()
    together = Barrier(8)

    def make(_: int) -> list[str]:
        together.wait(20)
        names: list[str] = db.client().list_tables()["TableNames"]
        return names

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(make, range(8))) == [[]] * 8


# Failures


def test_a_closed_database_says_so_and_is_not_tried_again(db: Database) -> None:
    client, resource = db.client(), db.resource()
    client.create_table(**TABLE)
    tries: list[Any] = []
    client.meta.events.register("request-created.dynamodb", lambda request, **_: tries.append(request))
    db.close()
    for ask in (client.list_tables, lambda: client.get_item(TableName="Things", Key=ONE)):
        with pytest.raises(StorageFailed, match=r"^The database is closed\.$"):
            ask()
    assert len(tries) == 2
    with pytest.raises(StorageFailed, match=r"^The database is closed\.$"):
        resource.Table("Things").put_item(Item={"Id": "1"})


class FailsOnce(Database):
    """Its disk is full for the first write of an item."""

    failed = False

    def begin(self, operation: str, body: bytes, scope: Any) -> Outcome | Paused:
        if operation == "PutItem" and not self.failed:
            self.failed = True
            raise StorageFailed("The disk is full.")
        return super().begin(operation, body, scope)


def test_a_failed_write_is_an_internal_error_and_tried_again_by_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda seconds: None)
    with FailsOnce(EmbeddedEngine.open(None)) as db:
        db.client().create_table(**TABLE)
        answer = db.client().put_item(TableName="Things", Item=ONE)
        assert answer["ResponseMetadata"]["RetryAttempts"] == 1
        db.failed = False
        once = db.client(config=Config(retries={"total_max_attempts": 1}))
        with pytest.raises(once.exceptions.InternalServerError, match=r"The disk is full\."):
            once.put_item(TableName="Things", Item=ONE)


@pytest.mark.parametrize("kind", ["client", "resource"])
def test_without_boto3_one_is_told_what_to_install(kind: str) -> None:
    run = python(
        "import sys; sys.modules['boto3'] = sys.modules['botocore'] = None\n"
        "import torusdb\n"
        "with torusdb.open() as db:\n"
        "    assert db.call('ListTables') == {'TableNames': []}\n"
        f"    db.{kind}()\n"
    )
    told = "ModuleNotFoundError: A client or a resource is boto3's, and boto3 is not installed: pip install boto3"
    assert run.stderr.splitlines()[-1] == told


def test_a_boto3_that_is_broken_itself_is_not_said_to_be_missing() -> None:
    run = python("import sys; sys.modules['jmespath'] = None\nimport torusdb; torusdb.open().client()")
    assert run.stderr.splitlines()[-1].startswith("ModuleNotFoundError: import of jmespath halted")


# On disk, and long answers


def test_data_is_there_again_in_the_next_process_that_opens_the_directory(tmp_path: Path) -> None:
    with torusdb.open(tmp_path / "data") as db:
        db.client().create_table(**TABLE)
        db.client().put_item(TableName="Things", Item=ONE)
    run = python(
        "import torusdb\n"
        f"with torusdb.open({str(tmp_path / 'data')!r}) as db:\n"
        "    print(db.client().scan(TableName='Things')['Items'])\n"
    )
    assert (run.stdout, run.stderr) == (f"{[ONE]}\n", "")


def test_a_scan_that_pauses_goes_on(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """On disk these items are ten times the size that counts for a page, so that it takes many chunks. After a few
    a server would let others go first; here nobody waits."""
    client = db.client()
    client.create_table(**TABLE)
    items = [{"Id": {"S": str(number)}, "Flags": {"L": [{"BOOL": True}] * 5000}} for number in range(25)]
    client.batch_write_item(RequestItems={"Things": [{"PutRequest": {"Item": item}} for item in items]})
    pauses: list[Paused] = []
    resume = Paused.resume
    monkeypatch.setattr(Paused, "resume", lambda paused: pauses.append(paused) or resume(paused))
    answer = client.scan(TableName="Things")
    assert sorted(answer["Items"], key=lambda item: int(item["Id"]["S"])) == items
    assert len(pauses) == 1
