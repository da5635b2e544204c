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


def written_keys(customer: str, number: int, placed_text: str) -> dict[str, str]:
    """For libraries that leave keys, or numbers in them, to the program."""
    return {
        "pk": f"CUSTOMER#{customer}",
        "sk": f"ORDER#{number:08}",
        "gsi1pk": "ORDERS#open",
        "gsi1sk": f"{placed_text}#{number:08}",
    }
