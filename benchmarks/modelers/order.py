"""What all libraries store: the values of an order, and the keys that its templates come to."""

from datetime import datetime, timedelta, timezone
from enum import Enum

TABLE = "shop"
CUSTOMER = "1"
ORDERS = 100
NUMBER = 7
REGION = "us-east-1"
CREDENTIAL = "any"
COMMENT = "x" * 40
WEIGHT = 0.1
TOTAL = "12.50"


class Status(Enum):
    OPEN = "open"
    SENT = "sent"


def placed(number: int) -> datetime:
    return datetime(2024, 3, 1, tzinfo=timezone.utc) + timedelta(hours=number)  # noqa: UP017 - read by other Pythons
