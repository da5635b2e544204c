"""`torusdb model export`, `import`, `infer` and `create`, as a person calls them."""

from __future__ import annotations

import builtins
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.modeling.design.workbench_models import SINGLE_TABLE, model
from tests.processes import torusdb
from torusdb.cli.main import main
from torusdb.cli.model.endpoint import Progress

MODEL = """
from datetime import datetime
from torusdb.modeling import *

by_mail = GlobalIndex("by-mail", partition_key="mail_pk")
shop = Table("shop", partition_key="pk", sort_key="sk", indexes=[by_mail])

class Customer(Entity, table=shop):
    key = Key("CUSTOMER#{id}", "PROFILE")
    by_mail = Key("MAIL#{mail}", index=by_mail)
    id: Attr[str]
    mail: Attr[str]
    until: Attr[datetime | None] = ttl(default=None)

log = Table("log", partition_key="id")
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop_of_tables.py"  # of one name in all tests: they are told apart by their paths
    path.write_text(MODEL)
    return path


@pytest.fixture
def client(torusdb_endpoint: str) -> Any:
    """Of a server, which the environment leads to."""
    boto3 = pytest.importorskip("boto3", reason="the commands ask by boto3")
    return boto3.client("dynamodb")


def run(*arguments: object) -> int:
    return main(["model", *map(str, arguments)])


# export


@pytest.mark.parametrize(
    ("form", "beginning"),
    [
        ("cloudformation", 'AWSTemplateFormatVersion: "2010-09-09"\nResources:\n  ShopTable:'),
        ("cloudformation-json", '{\n  "AWSTemplateFormatVersion": "2010-09-09",'),
        ("terraform", 'resource "aws_dynamodb_table" "shop" {'),
        ("workbench", '{\n  "ModelName": "shop_of_tables",'),
    ],
)
def test_export_writes_what_is_asked_for(
    file: Path, capsys: pytest.CaptureFixture[str], form: str, beginning: str
) -> None:
    assert run("export", file, "--to", form) == 0
    told = capsys.readouterr()
    assert told.out.startswith(beginning)
    assert "log" in told.out
    assert ("that until is its time to live" in told.err) == (form == "workbench")


def test_export_of_one_table_into_a_file(file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    output = tmp_path / "log.tf"
    arguments = ("export", file, "--to", "terraform", "--table", "log", "-o", output)
    assert run(*arguments) == 0
    assert capsys.readouterr().err == f"Written to {output}\n"
    assert "shop" not in output.read_text()

    assert run(*arguments) == 1
    assert capsys.readouterr().err == f"torusdb: {output} is there already: give another name, or --force\n"
    output.write_text("mine")
    assert run(*arguments, "--force") == 0
    assert output.read_text() != "mine"

    assert run("export", file, "--to", "terraform", "--table", "none") == 1
    assert "There is no table none in it, only shop, log" in capsys.readouterr().err
    assert run("export", file, "--to", "terraform", "-o", tmp_path / "nowhere" / "x.tf") == 1
    assert "cannot be written: No such file or directory" in capsys.readouterr().err


# import


def test_import_writes_a_model_that_check_and_export_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "books.json", tmp_path / "books_imported.py"
    source.write_text("\ufeff" + model(SINGLE_TABLE), encoding="utf-8")
    assert run("import", source, "-o", output) == 0
    assert "Bookshop: 3 of 3 items are given back as they were" in capsys.readouterr().err
    assert run("check", output) == 0
    capsys.readouterr()
    assert run("export", output, "--to", "workbench") == 0
    rows = json.loads(capsys.readouterr().out)["DataModel"][0]["TableData"]
    assert len(rows) == 3


def test_import_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("import", tmp_path / "none.json") == 1
    assert "none.json cannot be read" in capsys.readouterr().err
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    assert run("import", tmp_path / "bytes.json") == 1
    assert "bytes.json cannot be read" in capsys.readouterr().err


# create


def test_create_makes_what_is_missing_and_tells_what_differs(
    file: Path, client: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("create", file, "--dry-run") == 1
    assert capsys.readouterr().out == "shop: not there [would be made]\nlog: not there [would be made]\n"
    assert client.list_tables()["TableNames"] == []

    assert run("create", file, "--table", "shop") == 0
    assert capsys.readouterr().out == "shop: made\n"
    assert client.describe_time_to_live(TableName="shop")["TimeToLiveDescription"]["AttributeName"] == "until"
    assert run("create", file) == 0
    assert capsys.readouterr().out == "shop: as declared\nlog: made\n"


def test_create_changes_only_what_it_is_told_to(
    file: Path, client: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run("create", file) == 0
    other = tmp_path / "other_of_tables.py"
    other.write_text(
        MODEL.replace('"by-mail"', '"by-post"').replace(
            "indexes=[by_mail]", 'indexes=[by_mail], options=TableOptions(stream="NEW_IMAGE")'
        )
    )
    capsys.readouterr()
    stream = "shop: its stream: declared NEW_IMAGE, there none"
    gone = "shop: the index by-mail: declared none, there mail_pk (S), all attributes"
    come = "shop: the index by-post: declared mail_pk (S), all attributes, there none"
    last = "log: as declared"

    def told(*options: str) -> tuple[int, list[str]]:
        return run("create", other, *options), capsys.readouterr().out.splitlines()

    indexes = "[--apply --delete-indexes changes it]"
    assert told() == (1, [f"{stream} [--apply changes it]", f"{gone} {indexes}", f"{come} [--apply changes it]", last])
    dry = [f"{stream} [would be changed]", f"{gone} [would be changed]", f"{come} [would be changed]", last]
    assert told("--apply", "--delete-indexes", "--dry-run") == (1, dry)
    assert told("--apply") == (1, [f"{stream} [changed]", f"{gone} {indexes}", f"{come} [changed]", last])
    assert told("--apply", "--delete-indexes") == (0, [f"{gone} [changed]", last])
    assert told() == (0, ["shop: as declared", last])
    indexes_there = client.describe_table(TableName="shop")["Table"]["GlobalSecondaryIndexes"]
    assert [each["IndexName"] for each in indexes_there] == ["by-post"]


def test_create_goes_on_with_what_a_change_brings_out(
    file: Path, client: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The maximum of an index can be compared only once its table is paid for in the same way."""
    before = "indexes=[by_mail], options=TableOptions(provisioned=Throughput(5, 5))"
    file.write_text(MODEL.replace("indexes=[by_mail]", before))
    assert run("create", file, "--table", "shop") == 0
    after = tmp_path / "most_of_tables.py"
    own = 'partition_key="mail_pk", throughput=Throughput(7, 7)'
    after.write_text(MODEL.replace('partition_key="mail_pk"', own))
    capsys.readouterr()
    assert run("create", after, "--table", "shop", "--apply") == 0
    assert [line.split(": declared")[0] for line in capsys.readouterr().out.splitlines()] == [
        "shop: how it is paid for",
        "shop: the throughput of the index by-mail",
    ]
    assert run("create", after, "--table", "shop") == 0


def test_create_says_what_cannot_be(file: Path, client: Any, capsys: pytest.CaptureFixture[str]) -> None:
    client.create_table(
        TableName="log",
        AttributeDefinitions=[{"AttributeName": "other", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "other", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    assert run("create", file, "--table", "log", "--apply") == 1
    assert capsys.readouterr().out == (
        "log: the key: declared id (S), there other (S) (a table's key cannot be changed: a new table has to be made, "
        "and its items converted into it) [cannot be changed]\n"
    )
    with pytest.raises(SystemExit):
        run("create", file, "--delete-indexes")
    assert "--delete-indexes goes with --apply" in capsys.readouterr().err


def test_create_where_a_change_is_refused(file: Path, client: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """TorusDB has no backups yet."""
    file.write_text(
        MODEL.replace('partition_key="id"', 'partition_key="id", options=TableOptions(point_in_time_recovery=True)')
    )
    assert run("create", file, "--table", "log") == 1
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "Not done, or not to its end: log: the table: declared id (S), there none"
    assert told[1].startswith("torusdb: An error occurred (UnknownOperationException)")


# infer


def test_infer_writes_a_model_of_a_table(
    file: Path, client: Any, torusdb_endpoint: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run("create", file, "--table", "shop") == 0
    for number in range(30):
        mail = f"m{number}@example.com"
        values = {"pk": f"CUSTOMER#{number}", "sk": "PROFILE", "mail_pk": f"MAIL#{mail}", "mail": mail}
        client.put_item(TableName="shop", Item={name: {"S": value} for name, value in values.items()})
    output = tmp_path / "found_of_tables.py"
    capsys.readouterr()
    assert run("infer", "shop", "--endpoint-url", torusdb_endpoint, "--items-max", 20, "-o", output) == 0
    assert "shop: 20 of 20 items are given back as they were" in capsys.readouterr().err
    source = output.read_text()
    assert source.startswith('"""The table shop: a proposal, made from 20 of its items. Look through it."""')
    assert 'by_mail = Key("MAIL#{mail}", index=shop_by_mail)' in source
    assert "# The table's time to live is until, which none of these items has: it is not in the model." in source
    assert run("create", output) == 1
    assert capsys.readouterr().out == "shop: time to live: declared none, there until [--apply changes it]\n"


def test_infer_says_what_is_wrong(client: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("infer", "none") == 1
    assert capsys.readouterr().err == "torusdb: There is no table none there\n"
    assert run("infer", "none", "--endpoint-url", "http://127.0.0.1:1") == 1
    assert "torusdb: Could not connect to the endpoint URL" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run("infer", "none", "--items-max", 0)
    assert "0 is not above 0" in capsys.readouterr().err


def test_without_boto3_it_says_what_to_install(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "boto3":
            raise ImportError("No module named 'boto3'")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    assert run("create", file) == 1
    assert capsys.readouterr().err == (
        "torusdb: To ask an endpoint, boto3 is needed: pip install 'torusdb[aws]' (No module named 'boto3')\n"
    )


def test_help_has_examples() -> None:
    for command in ("export", "import", "infer", "create"):
        told = torusdb("model", command, "--help")
        assert told.returncode == 0
        assert f"examples:\n  torusdb model {command} " in told.stdout


def test_progress_is_for_people_who_watch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    progress("nobody sees it")
    progress.end()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress("long text")
    progress("short")
    progress.end()
    assert capsys.readouterr().err == "\rlong text\rshort    \r     \r"
