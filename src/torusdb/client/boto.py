"""boto3 objects that use a database in this process, with no socket.

botocore's own `before-send` event hands over the finished HTTP request, and what a handler returns stands for the
network's answer. All but the transport is botocore's own, so retries, paginators, waiters and exceptions behave as they
do with a server.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from zlib import crc32

from torusdb.client.request_ids import request_id
from torusdb.errors import InternalServerError, ServiceError, UnknownOperationException
from torusdb.storage.driver import Outcome, Paused
from torusdb.storage.failures import StorageFailed

if TYPE_CHECKING:
    from boto3.session import Session
    from botocore.awsrequest import AWSPreparedRequest, AWSResponse
    from botocore.client import BaseClient

ENDPOINT = "http://in-process.torusdb"
"""Never connected to; botocore wants one, and shows it in messages."""


class Caller(NamedTuple):
    access_key: str
    region: str


class Backend(Protocol):
    """A database, as the boto3 objects see it."""

    region: str

    @property
    def operations(self) -> Any: ...

    @property
    def ready(self) -> bool: ...

    def begin(self, operation: str, body: bytes, scope: Caller) -> Outcome | Paused: ...


_making = threading.Lock()
"""boto3's sessions are not made for several threads, its clients are."""


SERVICES = ("dynamodb", "dynamodbstreams")


def client(database: Backend, service_name: str = "dynamodb", **options: Any) -> BaseClient:
    if service_name not in SERVICES:
        raise ValueError(f"A database has the services {' and '.join(SERVICES)}, not {service_name!r}")
    with _making:
        made = _session().client(service_name, **_options(database, options))
    _connect(made, database, options)
    return made


def resource(database: Backend, **options: Any) -> Any:
    with _making:
        made = _session().resource("dynamodb", **_options(database, options))
    _connect(made.meta.client, database, options)
    return made


@cache
def _session() -> Session:
    """A session that knows no profile and no configuration file: what they say is about the service, and an absent
    or broken one is no reason to fail here."""
    try:
        import boto3
    except ModuleNotFoundError as error:
        if error.name != "boto3":
            raise
        message = "A client or a resource is boto3's, and boto3 is not installed: pip install boto3"
        raise ModuleNotFoundError(message, name="boto3") from None
    from botocore.session import Session

    nothing = {"profile": None, "config_file": os.devnull, "credentials_file": os.devnull}
    # name: (its name in configuration files, in the environment, its value, its conversion)
    variables = {name: (None, None, value, None) for name, value in nothing.items()}
    return boto3.Session(botocore_session=Session(session_vars=variables))


def _options(database: Backend, options: dict[str, Any]) -> dict[str, Any]:
    from botocore import UNSIGNED
    from botocore.config import Config

    # Nobody would check a signature, and making one costs more than the rest of a request.
    config = Config(signature_version=UNSIGNED).merge(options.get("config") or Config())
    return {"region_name": database.region, "endpoint_url": ENDPOINT, **options, "config": config}


def _connect(made: BaseClient, database: Backend, options: dict[str, Any]) -> None:
    caller = Caller(options.get("aws_access_key_id") or "", made.meta.region_name)

    def answer(request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        return _answer(database, caller, request)

    service = made.meta.service_model.service_id.hyphenize()
    made.meta.events.register(f"before-send.{service}", answer)


class _Body(io.BytesIO):
    """As much of urllib3's response as botocore uses."""

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self.read()


def _answer(database: Backend, caller: Caller, request: AWSPreparedRequest) -> AWSResponse:
    from botocore.awsrequest import AWSResponse

    target = request.headers["X-Amz-Target"]
    operation = (target if isinstance(target, str) else target.decode()).rpartition(".")[2]
    content = request.body or b""
    try:
        status, body = (
            200,
            _perform(database, caller, operation, content if isinstance(content, bytes) else content.encode()),
        )
    except ServiceError as error:
        status, body = error.status, error.to_json()
    except StorageFailed as failure:
        if not database.ready:
            raise  # closed: no answer of the service, and not to be tried again
        status, body = InternalServerError.status, InternalServerError(str(failure)).to_json()
    headers = {
        "Content-Type": "application/x-amz-json-1.0",
        "Content-Length": str(len(body)),
        "x-amzn-RequestId": request_id().decode(),
        "x-amz-crc32": str(crc32(body)),
    }
    return AWSResponse(request.url, status, headers, _Body(body))


def _perform(database: Backend, caller: Caller, operation: str, content: bytes) -> bytes:
    if operation not in database.operations:
        raise UnknownOperationException
    outcome = database.begin(operation, content, caller)
    while isinstance(outcome, Paused):
        outcome = outcome.resume()
    if outcome.ticket is not None:
        outcome.ticket.wait()
    if outcome.error is not None:
        raise outcome.error
    assert outcome.body is not None
    return outcome.body
