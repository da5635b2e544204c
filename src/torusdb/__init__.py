"""TorusDB: a DynamoDB-compatible database, as a server or in the process.

import torusdb

with torusdb.open(":memory:") as db:
    db.call("ListTables", {})
    table = db.resource().Table("Music")
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["Database", "__version__", "open"]

if TYPE_CHECKING:
    from torusdb.database import Database
    from torusdb.database import open_database as open  # noqa: A004 - torusdb.open(...) says it best


def __getattr__(name: str) -> Any:
    """The database is imported when it is first used: `torusdb --help` needs none of it."""
    if name == "Database":
        from torusdb.database import Database

        return Database
    if name == "open":
        from torusdb.database import open_database

        return open_database
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
