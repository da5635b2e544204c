"""Migrations of data models, for boto3 clients of any DynamoDB: in place, or into a new table that a stream keeps
current.

    @in_place(shop, version=2, marker="_schema", reads=[OldCustomer])
    def split_names(old: OldCustomer) -> Customer:
        ...

    run = Run(split_names, Means(boto3.client("dynamodb")), state=FileState("split_names.json"), capacity=0.25)
    run.migrate()

See docs/migrations.md."""

from torusdb.modeling.migrations.conversion import LEAVE
from torusdb.modeling.migrations.driving import Means
from torusdb.modeling.migrations.dry_runs import DryRun
from torusdb.modeling.migrations.errors import ItemRefused, MigrationError, Stopped
from torusdb.modeling.migrations.following import Follower
from torusdb.modeling.migrations.migration import Migration, in_place, into_table
from torusdb.modeling.migrations.progress import DONE, FOLLOWING, SCANNING, Progress
from torusdb.modeling.migrations.runs import Run
from torusdb.modeling.migrations.states import FileState, NoState, State, TableState
from torusdb.modeling.migrations.verifying import Verification

__all__ = [
    "DONE",
    "FOLLOWING",
    "LEAVE",
    "SCANNING",
    "DryRun",
    "FileState",
    "Follower",
    "ItemRefused",
    "Means",
    "Migration",
    "MigrationError",
    "NoState",
    "Progress",
    "Run",
    "State",
    "Stopped",
    "TableState",
    "Verification",
    "in_place",
    "into_table",
]
