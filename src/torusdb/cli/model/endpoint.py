"""The endpoint that a command asks: its options, the client, and how it is told that something fails there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

LOCAL_KEY: Final = "local"
LOCAL_REGION: Final = "us-east-1"
"""For an endpoint that is given by its address, where nothing is configured: TorusDB without --auth and DynamoDB Local
take any."""


def add_endpoint(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("endpoint")
    where.add_argument(
        "--endpoint-url", metavar="URL", help="A server (http://localhost:8000); without it, the AWS service."
    )
    where.add_argument("--region", metavar="REGION", help="The region, if not the configured one.")
    where.add_argument("--profile", metavar="NAME", help="A profile of ~/.aws/config, if not the configured one.")


@contextmanager
def client_of(options: argparse.Namespace) -> Iterator[Any]:
    """A boto3 client, as `clients_of` makes it."""
    with clients_of(options, "dynamodb") as (client,):
        yield client


@contextmanager
def clients_of(options: argparse.Namespace, *services: str, **settings: Any) -> Iterator[list[Any]]:
    """boto3's clients for these services; what fails there is told in a line, as what is wrong with a model is.
    `settings`: of botocore's Config."""
    from torusdb.modeling import ModelingError

    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError as error:
        raise ModelingError(f"To ask an endpoint, boto3 is needed: pip install 'torusdb[aws]' ({error})") from None
    try:
        session = boto3.Session(profile_name=options.profile, region_name=options.region)
        given: dict[str, Any] = {}
        if options.endpoint_url and session.get_credentials() is None:
            given = {"aws_access_key_id": LOCAL_KEY, "aws_secret_access_key": LOCAL_KEY}
        if options.endpoint_url and session.region_name is None:
            given["region_name"] = LOCAL_REGION
        yield [_client(session, each, options.endpoint_url, config=Config(**settings), **given) for each in services]
    except (BotoCoreError, ClientError) as error:
        raise ModelingError(str(error)) from error


def _client(session: Any, service: str, endpoint_url: str | None, **given: Any) -> Any:
    from torusdb.modeling import ModelingError

    try:
        return session.client(service, endpoint_url=endpoint_url, **given)
    except ValueError as error:  # of a wrong URL
        raise ModelingError(str(error)) from error


class Progress:
    """A line that changes, where somebody watches."""

    def __init__(self) -> None:
        self._shown = 0

    def __call__(self, text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r{text:{self._shown}}", end="", file=sys.stderr, flush=True)
            self._shown = len(text)

    def end(self) -> None:
        if self._shown:
            print(f"\r{'':{self._shown}}\r", end="", file=sys.stderr, flush=True)
            self._shown = 0
