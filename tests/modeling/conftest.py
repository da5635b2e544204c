from typing import Any

import pytest

from tests.modeling.shop import shop
from torusdb import Database
from torusdb.modeling import Store


class Recorder:
    """A client that writes down what goes through it to another."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, method: str) -> Any:
        call = getattr(self.client, method)
        if method in {"get_waiter", "create_table"}:
            return call

        def recorded(**parameters: Any) -> Any:
            self.requests.append((method, parameters))
            return call(**parameters)

        return recorded


@pytest.fixture
def client(db: Database) -> Recorder:
    return Recorder(db.client())


@pytest.fixture
def direct(db: Database) -> Recorder:
    """As `client`, without boto3, and ten times as fast."""
    return Recorder(db.direct_client())


@pytest.fixture
def store(client: Recorder) -> Store:
    """The shop, empty, in memory."""
    made = Store(shop, client)
    made.create_table()
    return made
