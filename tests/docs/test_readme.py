"""The README says what is true, and its code runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.processes import serving, torusdb
from torusdb.operations.registry import OPERATIONS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PYTHON_BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_table_of_operations_is_that_of_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    write_operations = __import__("write_operations")
    assert write_operations.with_table(README) == README, "run tools/write_operations.py"


def test_the_tour_runs_on_a_server(torusdb_endpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("boto3", reason="the tour is in boto3")
    (tour,) = [block for block in PYTHON_BLOCKS if "127.0.0.1:8000" in block]
    exec(tour.replace("http://127.0.0.1:8000", torusdb_endpoint), {})
    assert "Sinnerman" in capsys.readouterr().out


def test_the_code_without_a_server_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("boto3", reason="db.client() is boto3's")
    (code,) = [block for block in PYTHON_BLOCKS if "torusdb.open" in block]
    exec(code, {})
    assert capsys.readouterr().out == "{'Id': {'S': '1'}}\n"


def test_the_commands_of_access_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the README's own policy; a certificate and a port are what a test cannot take from it."""
    boto3 = pytest.importorskip("boto3", reason="the request is boto3's")
    monkeypatch.chdir(tmp_path)
    section = README.partition("## Access")[2].partition("\n## ")[0]
    (policy,) = re.findall(r"```json\n(.*?)```", section, re.DOTALL)
    (tmp_path / "app.json").write_text(policy)
    *adding, serve = re.findall(r"^torusdb (.*)$", section, re.MULTILINE)
    made = [torusdb(*command.split()).stdout for command in adding]
    assert [out.split("]")[0] for out in made] == ["[admin", "[app"]
    options = serve.replace(" --tls-cert cert.pem --tls-key key.pem", "").split()[1:]
    assert options != serve.split()[1:]
    with serving(*options, "--in-memory") as server:
        clients = []
        for out in made:
            key = dict(line.split(" = ", 1) for line in out.splitlines()[1:])
            where = {"endpoint_url": f"http://127.0.0.1:{server.port}", "region_name": "us-east-1"}
            clients.append(boto3.client("dynamodb", **where, **key))
        admin, app = clients
        admin.create_table(
            TableName="Music",
            KeySchema=[{"AttributeName": "Artist", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "Artist", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        app.put_item(TableName="Music", Item={"Artist": {"S": "app"}})
        with pytest.raises(app.exceptions.ClientError, match="no identity-based policy allows"):
            app.put_item(TableName="Music", Item={"Artist": {"S": "admin"}})
        for client in clients:
            client.close()


def test_no_block_of_python_is_left_out() -> None:
    assert len(PYTHON_BLOCKS) == 2


PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_between_files_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize(
    ("row", "operation"),
    [
        ("transactions", "TransactWriteItems"),
        ("streams", "GetRecords"),
        ("expired items go (TTL)", "UpdateTimeToLive"),
        ("tags", "TagResource"),
        ("backups", "CreateBackup"),
    ],
)
def test_what_is_not_built_is_not_in_the_comparison_either(row: str, operation: str) -> None:
    comparison = README.partition("| | TorusDB |")[2]
    (told,) = re.findall(rf"^\| {re.escape(row)} \| ([^|]+) \|", comparison, re.MULTILINE)
    assert (told == "not yet") == (operation not in OPERATIONS)


def test_the_fixtures_of_the_plugin_are_all_named() -> None:
    import torusdb.testing.plugin  # noqa: F401 - pytest has loaded it before

    source = Path(sys.modules["torusdb.testing.plugin"].__file__ or "").read_text()
    fixtures = re.findall(r"@pytest\.fixture\ndef (\w+)\(", source)
    assert fixtures
    assert [name for name in fixtures if f"`{name}`" not in README] == []
