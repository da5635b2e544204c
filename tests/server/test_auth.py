"""A server that verifies signatures, as AWS SDKs see it, over HTTP and over TLS."""

from __future__ import annotations

import gzip
import json
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.access.conftest import ACCOUNT, ALLOW_ALL
from tests.access.signing import Sent, signed
from tests.processes import serving
from tests.server.conftest import Answer, Connect, Wire, message
from torusdb import Database
from torusdb.access.gate import RELOAD_SECONDS, Gate
from torusdb.access.keyring import Key, KeyFile, User, write_key_file
from torusdb.server.limits import Limits
from torusdb.server.listen import ListenError, ServerThread
from torusdb.server.tls import server_context

REGION = "eu-west-2"
MUSIC = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Music"
TABLE: dict[str, Any] = {
    "TableName": "Music",
    "KeySchema": [{"AttributeName": "Artist", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "Artist", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
NINA = {"Artist": {"S": "nina"}}


def only(*actions: str, **condition: Any) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": [f"dynamodb:{action}" for action in actions], "Resource": MUSIC}
    return {"Version": "2012-10-17", "Statement": [{**statement, **condition}]}


OWN = {"Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:username}"]}}}


class Guarded:
    """A guarded server, and clients of its users."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.keys = KeyFile(
            users=[
                User("admin", ACCOUNT, [ALLOW_ALL], [Key("AKIAADMIN", "secret/of+admin")]),
                User("nina", ACCOUNT, [only("GetItem", "PutItem", "Query", **OWN)], [Key("AKIANINA", "nina's")]),
                User("other", "999999999999", [ALLOW_ALL], [Key("AKIAOTHER", "other's")]),
                User("temp", ACCOUNT, [ALLOW_ALL], [Key("ASIATEMP", "temp's", session_token="to/ken=")]),
            ]
        )
        self.write()
        self.ticks = 0.0
        self.gate = Gate(path, ticks=lambda: self.ticks)
        self.endpoint = ""

    def write(self) -> None:
        write_key_file(self.path, self.keys)

    def client(self, name: str = "admin", secret: str | None = None, *, region: str = REGION, **options: Any) -> Any:
        key = next(user for user in self.keys.users if user.name == name).keys[0]
        return boto3.session.Session().client(
            "dynamodb",
            endpoint_url=self.endpoint,
            region_name=region,
            aws_access_key_id=key.access_key_id,
            aws_secret_access_key=secret or key.secret_access_key,
            aws_session_token=options.pop("token", key.session_token),
            config=Config(retries={"total_max_attempts": 1}, **options.pop("config", {})),
            **options,
        )


@pytest.fixture
def guarded(db: Database, tmp_path: Path) -> Iterator[Guarded]:
    """A server with a table, of the account of most users."""
    guarded = Guarded(tmp_path / "keys.json")
    with ServerThread(db, gate=guarded.gate) as guarded.endpoint:
        guarded.client().create_table(**TABLE)
        yield guarded


def refusal(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        call()
    error = caught.value.response["Error"]
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    return error["Code"], error["Message"]


def denied(user: str, action: str, resource: str = MUSIC) -> tuple[str, str]:
    return (
        "AccessDeniedException",
        f"User: arn:aws:iam::{ACCOUNT}:user/{user} is not authorized to perform: dynamodb:{action} on resource: "
        f"{resource} because no identity-based policy allows the dynamodb:{action} action",
    )


# Signatures


def test_a_client_with_the_secret_is_served(guarded: Guarded) -> None:
    client = guarded.client()
    client.put_item(TableName="Music", Item={**NINA, "Title": {"S": "Sinnerman – ünïcode"}})
    assert client.get_item(TableName="Music", Key=NINA)["Item"]["Title"] == {"S": "Sinnerman – ünïcode"}


def test_another_secret_is_not(guarded: Guarded) -> None:
    code, said = refusal(guarded.client(secret="wrong").list_tables)
    assert (code, said[:20]) == ("InvalidSignatureException", "The request signatur")


def test_a_session_token_goes_with_its_key(guarded: Guarded) -> None:
    assert guarded.client("temp").list_tables()["TableNames"] == ["Music"]
    for name, token in (("temp", None), ("temp", "other"), ("admin", "to/ken=")):
        assert refusal(guarded.client(name, token=token).list_tables) == (
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        )


def test_a_compressed_body_is_signed_as_it_is_sent(guarded: Guarded, connect: Connect) -> None:
    sent = resigned(guarded, gzip.compress(b"{}"), headers={"Content-Encoding": "gzip"})
    assert ask(connect(guarded.endpoint), sent).json == {"TableNames": ["Music"]}


def resigned(guarded: Guarded, body: bytes = b"{}", **options: Any) -> Sent:
    key = guarded.keys.users[0].keys[0]
    return signed(
        access_key=key.access_key_id,
        secret=key.secret_access_key,
        body=body,
        at=options.pop("at", datetime.now(UTC)),
        **options,
    )


def ask(wire: Wire, sent: Sent) -> Answer:
    headers: dict[str, str | None] = {"X-Amz-Date": None, "Authorization": None}
    headers |= {name.decode().title(): value.decode("latin-1") for name, value in sent.headers.items()}
    headers["Content-Length"] = str(len(sent.body))
    return wire.ask(message(sent.body, headers, target=sent.target.decode()))


def test_a_presigned_request_is_let_in(guarded: Guarded, connect: Connect) -> None:
    wire = connect(guarded.endpoint)
    assert ask(wire, resigned(guarded, presigned=True)).json == {"TableNames": ["Music"]}
    late = ask(wire, resigned(guarded, presigned=True, at=datetime.now(UTC) - timedelta(minutes=16)))
    assert (late.status, late.error) == (400, "com.amazon.coral.service#InvalidSignatureException")
    assert late.json["message"].startswith("Signature expired: ")


def test_an_operation_cannot_be_swapped_for_another(guarded: Guarded, connect: Connect) -> None:
    sent = resigned(guarded).having(x_amz_target="DynamoDB_20120810.DescribeLimits")
    assert ask(connect(guarded.endpoint), sent).error.endswith("#InvalidSignatureException")


def test_what_is_wrong_before_the_signature_is_told_before_it(guarded: Guarded, connect: Connect) -> None:
    wire = connect(guarded.endpoint)
    unknown = resigned(guarded).having(x_amz_target="DynamoDB_20120810.Nothing")
    assert ask(wire, unknown).error.endswith("#UnknownOperationException")
    anonymous = wire.ask(message(headers={"Authorization": None}))
    assert anonymous.error.endswith("#MissingAuthenticationTokenException")
    assert wire.ask(message(b"{", {"Authorization": None})).error.endswith("#SerializationException")
    assert wire.ask(message(method="GET", target="/health", headers={"Authorization": None})).body == b"ok\n"


def test_a_repeated_header_is_signed_as_one(guarded: Guarded, connect: Connect) -> None:
    """SigV4 joins the values of a repeated header with commas."""
    sent = resigned(guarded, headers={"x-words": "one,two"})
    head = {name: value for name, value in sent.headers.items() if name not in (b"x-words", b"content-length")}
    lines = [b"POST / HTTP/1.1", *(b"%b: %b" % pair for pair in head.items()), b"X-Words: one", b"x-words: two"]
    wire = connect(guarded.endpoint)
    request = b"\r\n".join([*lines, b"Content-Length: 2", b"", b"{}"])
    assert wire.ask(request).json == {"TableNames": ["Music"]}
    assert wire.ask(request.replace(b"X-Words: one\r\n", b"")).error.endswith("#InvalidSignatureException")
    swapped = request.replace(b": one", b": three").replace(b": two", b": one").replace(b": three", b": two")
    assert wire.ask(swapped).error.endswith("#InvalidSignatureException")


# Accounts


def test_the_account_is_the_keys_and_the_region_is_that_of_the_signature(guarded: Guarded) -> None:
    assert guarded.client().describe_table(TableName="Music")["Table"]["TableArn"] == MUSIC
    assert guarded.client(region="us-east-1").list_tables()["TableNames"] == []
    other = guarded.client("other")
    assert other.list_tables()["TableNames"] == []
    assert other.create_table(**TABLE)["TableDescription"]["TableArn"] == MUSIC.replace(ACCOUNT, "999999999999")
    assert refusal(lambda: other.get_item(TableName=MUSIC, Key=NINA))[0] == "ResourceNotFoundException"


# Policies


def test_a_user_may_do_what_its_policy_allows_and_no_more(guarded: Guarded) -> None:
    nina = guarded.client("nina")
    nina.put_item(TableName="Music", Item=NINA)
    assert nina.get_item(TableName="Music", Key=NINA)["Item"] == NINA
    values = {":a": {"S": "nina"}}
    found = nina.query(TableName="Music", KeyConditionExpression="Artist = :a", ExpressionAttributeValues=values)
    assert found["Items"] == [NINA]
    key = {"Artist": {"S": "ella"}}
    assert refusal(lambda: nina.get_item(TableName="Music", Key=key)) == denied("nina", "GetItem")
    assert refusal(lambda: nina.put_item(TableName="Music", Item=key)) == denied("nina", "PutItem")
    assert refusal(lambda: nina.delete_item(TableName="Music", Key=NINA)) == denied("nina", "DeleteItem")
    assert refusal(nina.list_tables) == denied("nina", "ListTables", MUSIC.replace("Music", "*"))
    assert guarded.client().scan(TableName="Music")["Items"] == [NINA]


def test_a_refusal_is_the_services_on_the_wire(guarded: Guarded, connect: Connect) -> None:
    key = guarded.keys.users[1].keys[0]
    sent = signed(access_key=key.access_key_id, secret=key.secret_access_key, at=datetime.now(UTC))
    answer = ask(connect(guarded.endpoint), sent)
    answer.require_checksum()
    assert (answer.status, set(answer.json)) == (400, {"__type", "Message"})
    assert answer.error == "com.amazon.coral.service#AccessDeniedException"


def test_the_form_of_a_request_is_checked_before_what_it_may_do(guarded: Guarded) -> None:
    code, _ = refusal(lambda: guarded.client("nina").delete_item(TableName="Mu sic", Key=NINA))
    assert code == "ValidationException"


def test_a_table_has_a_say_with_its_own_policy(guarded: Guarded) -> None:
    def said(effect: str, action: str) -> dict[str, Any]:
        user = f"arn:aws:iam::{ACCOUNT}:user/nina"
        return {"Effect": effect, "Principal": {"AWS": user}, "Action": f"dynamodb:{action}", "Resource": "*"}

    policy = json.dumps({"Version": "2012-10-17", "Statement": [said("Allow", "Scan"), said("Deny", "GetItem")]})
    table = {**TABLE, "TableName": "Shared", "ResourcePolicy": policy}
    guarded.client().create_table(**table)
    nina = guarded.client("nina")
    assert nina.scan(TableName="Shared")["Items"] == []
    assert refusal(lambda: nina.scan(TableName="Music")) == denied("nina", "Scan")
    assert guarded.client().get_item(TableName="Shared", Key=NINA).get("Item") is None
    code, message = refusal(lambda: nina.get_item(TableName="Shared", Key=NINA))
    assert code == "AccessDeniedException"
    assert message.endswith("table/Shared with an explicit deny in a resource-based policy")


def test_a_policy_that_could_not_be_in_force_is_not_stored(guarded: Guarded) -> None:
    statement = {"Effect": "Deny", "Principal": "*", "Action": "dynamodb:*", "Resource": "*"}
    odd = {"Version": "2012-10-17", "Statement": {**statement, "Condition": {"IpAddress": {"aws:SourceIp": "::1"}}}}
    table = {**TABLE, "TableName": "Odd", "ResourcePolicy": json.dumps(odd)}
    assert refusal(lambda: guarded.client().create_table(**table)) == (
        "ValidationException",
        "Invalid policy document: the condition key 'aws:SourceIp' is not known",
    )
    assert guarded.client().list_tables()["TableNames"] == ["Music"]
    assert refusal(lambda: guarded.client("nina").create_table(**table))[0] == "AccessDeniedException"


def test_all_statements_of_a_batch_must_be_allowed(guarded: Guarded) -> None:
    guarded.keys.users[1].policies = [only("PartiQLSelect", **OWN)]
    guarded.write()
    guarded.ticks += RELOAD_SECONDS
    nina = guarded.client("nina")

    def select(*artists: str) -> object:
        text = "SELECT * FROM Music WHERE Artist=?"
        return nina.batch_execute_statement(
            Statements=[{"Statement": text, "Parameters": [{"S": artist}]} for artist in artists]
        )["Responses"]

    assert select("nina") == [{"TableName": "Music"}]
    assert refusal(lambda: select("nina", "ella")) == denied("nina", "PartiQLSelect")
    whole = "SELECT * FROM Music"
    assert nina.execute_statement(Statement=whole)["Items"] == []  # has no leading keys, as the guide warns
    update = "UPDATE Music SET x=1 WHERE Artist='nina'"
    assert refusal(lambda: nina.execute_statement(Statement=update)) == denied("nina", "PartiQLUpdate")


def test_a_change_of_the_file_needs_no_restart(guarded: Guarded) -> None:
    nina = guarded.client("nina")
    guarded.keys.users[1].policies = [ALLOW_ALL]
    guarded.write()
    assert refusal(nina.list_tables)[0] == "AccessDeniedException"
    guarded.ticks += RELOAD_SECONDS
    assert nina.list_tables()["TableNames"] == ["Music"]
    guarded.keys.users[1].keys.clear()
    guarded.write()
    guarded.ticks += RELOAD_SECONDS
    assert refusal(nina.list_tables)[0] == "UnrecognizedClientException"


# TLS


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two self-signed certificates for 127.0.0.1, `a` and `b`, and the key of `a` under a password."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made by the openssl command, which is not here")
    directory = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)

    for name in ("a", "b"):
        new = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        subject = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"]
        openssl(*new, *subject, "-keyout", f"{name}.key", "-out", f"{name}.pem")
    openssl("pkcs8", "-topk8", "-in", "a.key", "-out", "locked.key", "-passout", "pass:x")
    (directory / "empty").touch()
    return directory


def test_boto3_over_tls(db: Database, tmp_path: Path, certificates: Path) -> None:
    guarded = Guarded(tmp_path / "keys.json")
    context = server_context(certificates / "a.pem", certificates / "a.key")
    with ServerThread(db, gate=guarded.gate, tls=context) as guarded.endpoint:
        assert guarded.endpoint.startswith("https://127.0.0.1:")
        client = guarded.client(verify=str(certificates / "a.pem"))
        client.create_table(**TABLE)
        big = {"Artist": {"S": "big"}, "Data": {"B": bytes(300_000)}}
        client.put_item(TableName="Music", Item=big)
        assert client.get_item(TableName="Music", Key={"Artist": {"S": "big"}})["Item"] == big
        client.close()


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_old_versions_of_tls_are_refused(db: Database, certificates: Path) -> None:
    context = server_context(certificates / "a.pem", certificates / "a.key")
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    with ServerThread(db, tls=context) as endpoint:
        port = int(endpoint.rpartition(":")[2])
        client = ssl.create_default_context(cafile=str(certificates / "a.pem"))
        client.set_ciphers("ALL:@SECLEVEL=0")
        for version, accepted in ((ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True)):
            client.minimum_version, client.maximum_version = ssl.TLSVersion.TLSv1, version
            with socket.create_connection(("127.0.0.1", port), 10.0) as plain, ExitStack() as stack:
                if not accepted:
                    stack.enter_context(pytest.raises((ssl.SSLError, ConnectionError)))
                with client.wrap_socket(plain, server_hostname="127.0.0.1") as tls:
                    assert tls.version() == "TLSv1.2"


def test_a_handshake_that_stalls_is_ended(db: Database, certificates: Path) -> None:
    context = server_context(certificates / "a.pem", certificates / "a.key")
    server = ServerThread(db, tls=context, limits=Limits(header_seconds_max=0.05))
    with server as endpoint, socket.create_connection(("127.0.0.1", int(endpoint.rpartition(":")[2])), 10.0) as stalled:
        stalled.sendall(b"\x16\x03\x01")  # the first bytes of a handshake, and no more
        assert stalled.recv(1) == b""
        assert server.connection_count == 0


def test_a_plain_request_to_a_tls_port_ends_the_connection(db: Database, certificates: Path, connect: Connect) -> None:
    with ServerThread(db, tls=server_context(certificates / "a.pem", certificates / "a.key")) as endpoint:
        wire = connect(endpoint.replace("https", "http"))
        wire.send(message())
        assert b"HTTP" not in wire.rest()


def test_requests_under_way_over_tls_are_answered_before_the_end(certificates: Path) -> None:
    files = ["--tls-cert", str(certificates / "a.pem"), "--tls-key", str(certificates / "a.key")]
    client = ssl.create_default_context(cafile=str(certificates / "a.pem"))
    with serving("--in-memory", *files) as server, socket.create_connection(("127.0.0.1", server.port), 10.0) as plain:
        assert server.endpoint == f"https://127.0.0.1:{server.port}"
        with client.wrap_socket(plain, server_hostname="127.0.0.1") as tls:
            head, _, body = message(headers={"Expect": "100-continue"}).partition(b"\r\n\r\n")
            tls.sendall(head + b"\r\n\r\n")
            assert tls.recv(100).startswith(b"HTTP/1.1 100 ")
            server.tell()
            tls.sendall(body)
            received = b""
            while piece := tls.recv(1 << 16):
                received += piece
            assert received.startswith(b"HTTP/1.1 200 OK")
            assert received.endswith(b'{"TableNames":[]}')
        assert server.wait() == (0, "")


@pytest.mark.parametrize(
    ("certificate", "key", "said"),
    [
        ("a.pem", "b.key", "The key in b.key is not that of the certificate in a.pem"),
        ("missing", "a.key", "Cannot read missing: no such file or directory"),
        ("a.pem", "missing", "Cannot read missing: no such file or directory"),
        ("a.pem", ".", "Cannot read .: is a directory"),
        ("empty", "a.key", "There is no certificate in PEM format in empty"),
        ("a.key", "a.key", "There is no certificate in PEM format in a.key"),
        ("a.pem", "empty", "There is no private key in PEM format in empty"),
        ("a.pem", "a.pem", "There is no private key in PEM format in a.pem"),
        ("a.pem", "locked.key", "The key in locked.key is encrypted: TorusDB takes keys without a password"),
    ],
)
def test_files_that_cannot_be_used_are_told(
    certificates: Path, monkeypatch: pytest.MonkeyPatch, certificate: str, key: str, said: str
) -> None:
    monkeypatch.chdir(certificates)
    with pytest.raises(ListenError) as caught:
        server_context(Path(certificate), Path(key))
    assert str(caught.value) == said
