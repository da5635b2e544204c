"""What `--auth` costs: GetItem on two servers that differ in nothing else, with the same signed requests, in turns.

The requests are signed before they are sent, each for one item; signatures are good for a quarter of an hour, so a run
has to be shorter. Beside the rates stands what the verification alone takes in the process, without a network.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torusdb.access.gate import Gate
from torusdb.access.keyring import Key, KeyFile, User, write_key_file

ITEMS = 1000
ITEM_NOTE = "x" * 250
CONNECTIONS = 16
CALLS = 5000
REPEATS = 10
HOST = "signed.example"
"""Signed and sent as it stands, whichever server it goes to."""
REGION = "us-east-1"
ACCESS_KEY, SECRET = "AKIABENCHMARK", "secret"

POLICIES: dict[str, dict[str, Any]] = {
    "full access": {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"},
    "a condition": {
        "Effect": "Allow",
        "Action": ["dynamodb:CreateTable", "dynamodb:PutItem", "dynamodb:GetItem"],
        "Resource": "arn:aws:dynamodb:*:*:table/Signed",
        "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["user-*"]}},
    },
}

LUA = """
local requests = {}
for line in io.lines("%s") do
  local authorization, date, body = line:match("^([^\\t]*)\\t([^\\t]*)\\t(.*)$")
  requests[#requests + 1] = wrk.format("POST", "/", {
    ["Host"] = "%s", ["Content-Type"] = "application/x-amz-json-1.0", ["X-Amz-Target"] = "DynamoDB_20120810.GetItem",
    ["X-Amz-Date"] = date, ["Authorization"] = authorization,
  }, body)
end
local position = 0
function request()
  position = position %% #requests + 1
  return requests[position]
end
function done(summary, latency, all)
  io.write(string.format("%%d %%d\\n", summary.errors.status, summary.requests / (summary.duration / 1e6)))
end
"""


@dataclass(frozen=True)
class Cost:
    rates: dict[str, float]
    """Requests a second, the median of the rounds, by server."""
    verify_us: float
    """Microseconds that `Gate.admit` takes for such a request, in the process."""

    def report(self) -> str:
        plain = self.rates["open"]
        lines = [f"{name:<20} {rate:>8,.0f}/s  {rate / plain:.2f}" for name, rate in self.rates.items()]
        return "\n".join([*lines, f"verification alone: {self.verify_us:.1f} µs a request"])


def signed(body: bytes, operation: str = "GetItem") -> dict[str, str]:
    """The headers of a request, signed by botocore."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0"}
    request = AWSRequest("POST", f"http://{HOST}/", headers, body)
    SigV4Auth(Credentials(ACCESS_KEY, SECRET), "dynamodb", REGION).add_auth(request)
    return {**dict(request.headers.items()), "Host": HOST}


def measure(rounds: int, seconds: int) -> Cost:
    """Raises RuntimeError for a server that does not start, or answers that are none."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as servers:
        home = Path(directory)
        endpoints = {"open": servers.enter_context(_serving())}
        for name, statement in POLICIES.items():
            keys = home / f"{name.replace(' ', '-')}.json"
            write_keys(keys, statement)
            endpoints[f"--auth, {name}"] = servers.enter_context(_serving("--auth", str(keys)))
        for endpoint in endpoints.values():
            _fill(endpoint)
        script = home / "signed.lua"
        rates: dict[str, list[float]] = {name: [] for name in endpoints}
        for _ in range(rounds):
            _write_requests(home / "requests")
            script.write_text(LUA % (home / "requests", HOST))
            for name, endpoint in endpoints.items():
                rates[name].append(_load(endpoint, script, seconds))
        medians = {name: sorted(found)[len(found) // 2] for name, found in rates.items()}
        return Cost(medians, verify_microseconds(next(home.glob("full*.json"))))


def write_keys(path: Path, statement: dict[str, Any]) -> None:
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    write_key_file(path, KeyFile(users=[User("bench", "000000000000", [policy], [Key(ACCESS_KEY, SECRET)])]))


def verify_microseconds(keys: Path, calls: int = CALLS) -> float:
    """The best of some repeats: what disturbs the machine only adds."""
    gate = Gate(keys)
    body = _body(0)
    headers = {name.lower().encode(): value.encode() for name, value in signed(body).items()}
    return _microseconds(lambda: gate.admit(b"POST", b"/", headers, body), calls)


def _microseconds(call: Callable[[], object], calls: int) -> float:
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, time.perf_counter() - start)
    return best / calls * 1e6


def _body(number: int) -> bytes:
    return json.dumps({"TableName": "Signed", "Key": {"Id": {"S": f"user-{number}"}}}).encode()


def _write_requests(path: Path) -> None:
    with path.open("w") as file:
        for number in range(ITEMS):
            headers = signed(_body(number))
            file.write(f"{headers['Authorization']}\t{headers['X-Amz-Date']}\t{_body(number).decode()}\n")


@contextmanager
def _serving(*options: str) -> Iterator[str]:
    command = [sys.executable, "-m", "torusdb", "serve", "--in-memory", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            announced = process.stdout.readline()
            if " at http" not in announced:
                raise RuntimeError(f"the server did not start: {shlex.join(command)}")
            yield announced.split(" at ")[1].strip()
        finally:
            process.terminate()


def _fill(endpoint: str) -> None:
    table = {
        "TableName": "Signed",
        "KeySchema": [{"AttributeName": "Id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "Id", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    _call(endpoint, "CreateTable", table)
    for number in range(ITEMS):
        item = {"Id": {"S": f"user-{number}"}, "note": {"S": ITEM_NOTE}}
        _call(endpoint, "PutItem", {"TableName": "Signed", "Item": item})


def _call(endpoint: str, operation: str, params: dict[str, Any]) -> None:
    from http.client import HTTPConnection

    connection = HTTPConnection(endpoint.removeprefix("http://"), timeout=10)
    try:
        body = json.dumps(params).encode()
        connection.request("POST", "/", body, signed(body, operation))
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{operation} failed: {said.decode()}")
    finally:
        connection.close()


def _load(endpoint: str, script: Path, seconds: int) -> float:
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", str(script), endpoint]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    errors, rate = map(int, told.split())
    if errors:
        raise RuntimeError(f"{errors} requests were refused")
    return float(rate)
