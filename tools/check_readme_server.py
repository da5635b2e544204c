"""Starts the server as README.md says, asks it for its tables, and stops it. Needs nothing but the installed package.

python tools/check_readme_server.py
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from http.client import HTTPConnection
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
COMMAND = re.compile(r"^pip install [^&\n]*&& (torusdb serve\b.*)$", re.MULTILINE)
STARTED = re.compile(r" at http://127\.0\.0\.1:(\d+)$")
DEFAULT_PORT = 8000
SECONDS_MAX = 60
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Target": "DynamoDB_20120810.ListTables",
    "X-Amz-Date": "20261119T000000Z",
    "Authorization": "AWS4-HMAC-SHA256 Credential=any/20261119/us-east-1/dynamodb/aws4_request, "
    f"SignedHeaders=host;x-amz-date, Signature={'0' * 64}",
}


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        command = readme_command()
        print("$", shlex.join(command))
        with subprocess.Popen(
            command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        ) as server:
            watchdog = threading.Timer(SECONDS_MAX, server.kill)
            watchdog.start()
            try:
                check(server)
            finally:
                watchdog.cancel()
                server.kill()
    print("ok")


def readme_command() -> list[str]:
    """The README's, on a free port if another server has its port."""
    found = COMMAND.search(README.read_text(encoding="utf-8"))
    if found is None:
        sys.exit("README.md has no line that installs the package and serves")
    command = shlex.split(found[1])
    return [*command, "--port", "0"] if "--port" not in command and is_taken(DEFAULT_PORT) else command


def is_taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def check(server: subprocess.Popen[str]) -> None:
    assert server.stdout is not None
    line = server.stdout.readline().rstrip("\n")
    started = STARTED.search(line)
    if started is None:
        sys.exit(f"the server said {line!r} where its endpoint was due")
    print(line)
    status, answer = list_tables(int(started[1]))
    if (status, answer) != (200, {"TableNames": []}):
        sys.exit(f"ListTables of an empty database was answered with {status} {answer}")
    server.send_signal(signal.SIGTERM)
    if server.wait(SECONDS_MAX) != 0:
        sys.exit(f"the server ended with {server.returncode} after SIGTERM")


def list_tables(port: int) -> tuple[int, object]:
    connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS_MAX)
    connection.request("POST", "/", b"{}", HEADERS)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


if __name__ == "__main__":
    main()
