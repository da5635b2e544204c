"""`torusdb serve`: a database behind a server, until it is told to stop."""

from __future__ import annotations

import logging
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from torusdb import __version__

DEFAULT_DATA_DIRECTORY = Path("torusdb-data")
DEFAULT_PORT = 8000


class Durability(StrEnum):
    FSYNC = "fsync"
    RELAXED = "relaxed"


EXAMPLES = """
Examples:

  torusdb serve                                keeps its data in ./torusdb-data
  torusdb serve --in-memory --port 0           forgets everything; takes a free port
  torusdb serve --data-dir /srv/db --host 0.0.0.0 --insecure
  torusdb serve --in-memory --table-delay 2    tables take two seconds to be ACTIVE

Then, with any AWS SDK or the AWS CLI:

  aws dynamodb list-tables --endpoint-url http://127.0.0.1:8000
"""


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="The port to listen on; 0 takes a free one.", min=0, max=65535)
    ] = DEFAULT_PORT,
    data_dir: Annotated[
        Path, typer.Option(help="Where the data is kept. Made if it isn't there.")
    ] = DEFAULT_DATA_DIRECTORY,
    in_memory: Annotated[
        bool, typer.Option("--in-memory", help="Keep everything in memory, and lose it at the end.")
    ] = False,
    durability: Annotated[
        Durability,
        typer.Option(
            help="When an answer leaves: 'fsync' once its write is on the disk; 'relaxed' at once, so that a crash of "
            "the machine may cost the last seconds."
        ),
    ] = Durability.FSYNC,
    region: Annotated[str, typer.Option(help="The region of tables and their ARNs.")] = "us-east-1",
    by_credentials: Annotated[
        bool,
        typer.Option(
            "--by-credentials",
            help="Accounts and regions side by side: a request sees the tables of its access key in the region that "
            "it is signed for.",
        ),
    ] = False,
    table_delay: Annotated[
        float,
        typer.Option(
            help="Seconds that tables and indexes stay in CREATING, UPDATING and DELETING, to imitate the service.",
            min=0.0,
        ),
    ] = 0.0,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Listen beyond this machine although requests are not authenticated."),
    ] = False,
) -> None:
    """Serve the DynamoDB API until SIGTERM or Ctrl-C."""
    # Imported here, so that `torusdb --help` does without the database.
    from torusdb.database import MEMORY, open_database
    from torusdb.server.listen import ListenError
    from torusdb.server.listen import serve as listen_and_serve
    from torusdb.storage.failures import StorageError

    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    place = "in memory, gone at the end" if in_memory else f"{data_dir.absolute()} ({durability.value})"

    def announce(endpoint: str) -> None:
        typer.echo(f"TorusDB {__version__} at {endpoint}\nData: {place}\nCtrl-C stops it.")

    try:
        with open_database(
            MEMORY if in_memory else data_dir,
            durability=durability.value,
            region=region,
            by_credentials=by_credentials,
            table_delay_seconds=table_delay,
        ) as database:
            listen_and_serve(database, host, port, insecure=insecure, on_listening=announce)
    except (StorageError, ListenError) as error:
        typer.echo(f"torusdb: {error}", err=True)
        raise typer.Exit(1) from None


serve.__doc__ = f"{serve.__doc__}\n\n\b{EXAMPLES}"
