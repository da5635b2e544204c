"""The fixtures that TorusDB gives to test-suites, each used in a test-suite of its own."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import boto3
import pytest

pytest_plugins = ["pytester"]

TABLE = """
TABLE = {
    "TableName": "Things",
    "KeySchema": [{"AttributeName": "Id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "Id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
"""

AROUND = """
import os
import pytest

@pytest.fixture(scope="session", autouse=True)
def the_environment_is_as_before():
    before = dict(os.environ)
    yield
    after = dict(os.environ)
    for environment in (before, after):
        environment.pop("PYTEST_CURRENT_TEST", None)
    assert after == before
"""
"""A conftest.py that fails a run which leaves the environment changed."""


class Suite:
    """A test-suite of one module."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester
        pytester.makeconftest(AROUND)

    def run(self, tests: str) -> pytest.RunResult:
        return self._pytester.runpytest_inprocess(*self._options(tests))

    def run_apart(self, tests: str, *options: str) -> pytest.RunResult:
        """In a process where nothing has been imported yet."""
        return self._pytester.runpytest_subprocess(*self._options(tests), *options)

    def _options(self, tests: str) -> list[str]:
        self._pytester.makepyfile(TABLE + dedent(tests))
        return ["-p", "no:cacheprovider", "-W", "error"]


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Suite:
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    return Suite(pytester)


FRESH = """
import pytest

@pytest.mark.parametrize("round_number", range(4))
class TestFresh:
    def test_database(self, torusdb, round_number):
        assert torusdb.call("ListTables") == {"TableNames": []}
        torusdb.call("CreateTable", TABLE)

    def test_client(self, torusdb_client, round_number):
        assert torusdb_client.list_tables()["TableNames"] == []
        torusdb_client.create_table(**TABLE)

    def test_resource(self, torusdb_resource, round_number):
        assert list(torusdb_resource.tables.all()) == []
        torusdb_resource.create_table(**TABLE)

    def test_endpoint(self, torusdb_endpoint, round_number):
        import boto3
        client = boto3.client("dynamodb")
        assert client.list_tables()["TableNames"] == []
        client.create_table(**TABLE)
        client.close()
"""


def test_every_test_begins_with_an_empty_database(suite: Suite) -> None:
    suite.run(FRESH).assert_outcomes(passed=16)


def test_workers_of_xdist_are_in_each_others_way_in_nothing(suite: Suite) -> None:
    suite.run_apart(FRESH, "-n", "2").assert_outcomes(passed=16)


def test_the_fixtures_of_a_test_share_its_database(suite: Suite) -> None:
    suite.run("""
        def test_shared(torusdb, torusdb_client, torusdb_resource, torusdb_endpoint):
            import boto3
            torusdb_client.create_table(**TABLE)
            torusdb_resource.Table("Things").put_item(Item={"Id": "1"})
            torusdb.call("PutItem", {"TableName": "Things", "Item": {"Id": {"S": "2"}}})
            outside = boto3.client("dynamodb")
            assert outside.scan(TableName="Things")["Count"] == 2
            outside.close()
    """).assert_outcomes(passed=1)


def test_the_database_ends_with_its_test(suite: Suite) -> None:
    suite.run("""
        import socket
        from urllib.parse import urlsplit
        kept = {}

        def test_use(torusdb, torusdb_endpoint):
            kept.update(torusdb=torusdb, endpoint=urlsplit(torusdb_endpoint))

        def test_after():
            assert not kept["torusdb"].ready
            with socket.socket() as probe:
                assert probe.connect_ex((kept["endpoint"].hostname, kept["endpoint"].port)) != 0
    """).assert_outcomes(passed=2)


def test_a_failing_test_leaves_nothing_behind(suite: Suite) -> None:
    suite.run("""
        import os

        def test_fails(torusdb_client, torusdb_endpoint):
            torusdb_client.create_table(**TABLE)
            os.environ["AWS_ENDPOINT_URL_DYNAMODB"]
            assert False

        def test_next(torusdb_client):
            assert torusdb_client.list_tables()["TableNames"] == []
            assert "AWS_ENDPOINT_URL_DYNAMODB" not in os.environ
    """).assert_outcomes(failed=1, passed=1)


# The environment


def test_the_environment_points_at_the_endpoint(suite: Suite) -> None:
    suite.run("""
        import os
        import socket
        from urllib.parse import urlsplit

        def test_environment(torusdb_endpoint):
            assert torusdb_endpoint.startswith("http://127.0.0.1:")
            for name in ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_DYNAMODB_STREAMS"):
                assert os.environ[name] == torusdb_endpoint
            for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
                assert os.environ[name] == "us-east-1"

        def test_after():
            assert not [name for name in os.environ if name.startswith("AWS_ENDPOINT")]
    """).assert_outcomes(passed=2)


LEADING_ELSEWHERE = {
    "another endpoint": {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:1"},
    "endpoints ignored": {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"},
    "FIPS": {"AWS_USE_FIPS_ENDPOINT": "true"},
    "dual stack": {"AWS_USE_DUALSTACK_ENDPOINT": "true"},
    "a profile": {"AWS_PROFILE": "absent"},
    "a profile by its old name": {"AWS_DEFAULT_PROFILE": "absent"},
    "a session": {"AWS_SESSION_TOKEN": "expired"},
    "a proxy": {"HTTP_PROXY": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:1"},
    "a proxy but for one": {"http_proxy": "http://127.0.0.1:1", "NO_PROXY": "internal", "no_proxy": "internal"},
}

APPLICATION = """
def test_application(torusdb, torusdb_endpoint):
    import boto3
    client = boto3.client("dynamodb")
    client.create_table(**TABLE)
    assert torusdb.call("ListTables") == {"TableNames": ["Things"]}
    assert client._request_signer._credentials.token is None
    client.close()
"""


@pytest.mark.parametrize("setting", LEADING_ELSEWHERE)
def test_no_setting_leads_an_application_elsewhere(suite: Suite, monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    for name, value in LEADING_ELSEWHERE[setting].items():
        monkeypatch.setenv(name, value)
    suite.run(APPLICATION).assert_outcomes(passed=1)


@pytest.mark.parametrize("line", ["ignore_configured_endpoint_urls = true", "use_fips_endpoint = true"])
def test_no_configuration_file_leads_an_application_elsewhere(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str
) -> None:
    config = tmp_path / "config"
    config.write_text(f"[default]\n{line}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    suite.run(APPLICATION).assert_outcomes(passed=1)


def test_what_bypassed_the_proxy_still_does(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("NO_PROXY", "internal,.example.org")
    suite.run("""
        import os

        def test_proxy(torusdb_endpoint):
            assert os.environ["NO_PROXY"] == os.environ["no_proxy"] == "127.0.0.1,internal,.example.org"
    """).assert_outcomes(passed=1)


def test_a_session_from_before_is_led_as_well(suite: Suite) -> None:
    suite.run("""
        import boto3

        def test_before(monkeypatch):
            monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-2")
            assert boto3.client("dynamodb").meta.endpoint_url == "https://dynamodb.eu-west-2.amazonaws.com"

        def test_application(torusdb_endpoint):
            client = boto3.client("dynamodb")
            assert client.meta.endpoint_url == torusdb_endpoint
            assert client.list_tables()["TableNames"] == []
            client.close()
    """).assert_outcomes(passed=2)


# boto3 is optional

WITHOUT_BOTO3 = """
import sys
sys.modules["boto3"] = sys.modules["botocore"] = None
"""


@pytest.mark.parametrize("fixture", ["torusdb_client", "torusdb_resource"])
def test_without_boto3_the_message_says_what_to_install(suite: Suite, fixture: str) -> None:
    result = suite.run_apart(f"{WITHOUT_BOTO3}\ndef test_it({fixture}): pass\n")
    result.assert_outcomes(errors=1)
    told = "A client or a resource is boto3's, and boto3 is not installed: pip install boto3"
    result.stdout.fnmatch_lines([told])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*plugin.py*")


def test_without_boto3_the_rest_works(suite: Suite) -> None:
    suite.run_apart(f"""{WITHOUT_BOTO3}
from urllib.request import urlopen

def test_it(torusdb, torusdb_endpoint):
    torusdb.call("CreateTable", TABLE)
    with urlopen(torusdb_endpoint + "/health") as answer:
        assert answer.read() == b"ok\\n"
""").assert_outcomes(passed=1)


def test_a_suite_that_uses_no_fixture_imports_nothing_for_it(suite: Suite) -> None:
    suite.run_apart("""
        import sys

        def test_it():
            assert not {"torusdb.database", "boto3", "rocksdict", "uvloop"} & set(sys.modules)
    """).assert_outcomes(passed=1)


def test_the_fixtures_say_what_they_are(suite: Suite) -> None:
    result = suite.run_apart("", "--fixtures")
    for name in ("torusdb", "torusdb_client", "torusdb_resource", "torusdb_endpoint"):
        result.stdout.re_match_lines([rf"{name} -- .*testing/plugin\.py:\d+", r" +(A|The) .*\."], consecutive=True)
