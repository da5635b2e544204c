"""`torusdb serve`: a database behind a server, until it is told to stop."""

from __future__ import annotations

import argparse
import gc
import logging
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from torusdb import __version__

if TYPE_CHECKING:
    import ssl

    from torusdb.access.gate import Gate

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DEFAULT_DATA_DIRECTORY = Path("torusdb-data")
DEFAULT_PORT = 8000
PORT_MAX = 65535

EXAMPLES = """\
examples:
  torusdb serve                                keeps its data in ./torusdb-data
  torusdb serve --in-memory --port 0           forgets everything; takes a free port
  torusdb serve --auth keys.json --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
                                               for other machines; see 'torusdb keys --help'
  torusdb serve --in-memory --table-delay 2    tables take two seconds to be ACTIVE

Then, with any AWS SDK or the AWS CLI:
  aws dynamodb list-tables --endpoint-url http://127.0.0.1:8000
"""


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "serve",
        help="Serve the DynamoDB API.",
        description="Serve the DynamoDB API until SIGTERM or Ctrl-C.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run, parser=parser)
    _add_address(parser.add_argument_group("where it listens, and who may ask"))
    _add_data(parser.add_argument_group("the data"))
    _add_imitation(parser.add_argument_group("the service's pace"))


def _add_address(group: argparse._ArgumentGroup) -> None:
    option = group.add_argument
    option("--host", default="127.0.0.1", help="The address to listen on. [%(default)s]")
    option(
        "--port",
        type=_port,
        default=DEFAULT_PORT,
        metavar="NUMBER",
        help="The port to listen on; 0 takes a free one. [%(default)s]",
    )
    option(
        "--auth",
        type=Path,
        metavar="FILE",
        help="Verify signatures with the access keys in FILE, and let requests do what its policies allow; the account "
        "is the key's, the region that which the request is signed for. A change of FILE is seen within a second. "
        "'torusdb keys' writes it.",
    )
    option("--tls-cert", type=Path, metavar="PATH", help="Serve TLS with this certificate, and its chain, in PEM.")
    option("--tls-key", type=Path, metavar="PATH", help="The certificate's private key, in PEM, without a password.")
    option(
        "--insecure", action="store_true", help="Listen beyond this machine although requests are not authenticated."
    )


def _add_data(group: argparse._ArgumentGroup) -> None:
    option = group.add_argument
    place = group.add_mutually_exclusive_group().add_argument
    place(
        "--data-dir",
        type=Path,
        default=DEFAULT_DATA_DIRECTORY,
        metavar="PATH",
        help="Where the data is kept. Made if it isn't there. [%(default)s]",
    )
    place("--in-memory", action="store_true", help="Keep everything in memory, and lose it at the end.")
    option(
        "--durability",
        choices=["fsync", "relaxed"],
        default="fsync",
        help="When an answer leaves: 'fsync' once its write is on the disk; 'relaxed' at once, so that a crash of the "
        "machine may cost the last seconds. [%(default)s]",
    )
    option(
        "--region",
        type=_region,
        default="us-east-1",
        metavar="NAME",
        help="The region of tables and their ARNs. [%(default)s]",
    )
    option(
        "--by-credentials",
        action="store_true",
        help="Accounts and regions side by side: a request sees the tables of its access key in the region that it is "
        "signed for.",
    )


def _add_imitation(group: argparse._ArgumentGroup) -> None:
    option = group.add_argument
    option(
        "--table-delay",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="How long tables and indexes stay in CREATING, UPDATING and DELETING, to imitate the service. "
        "[%(default)s]",
    )
    option(
        "--ttl-period",
        type=_seconds,
        default=1.0,
        metavar="SECONDS",
        help="How often the items that have expired are deleted. [%(default)s]",
    )
    option(
        "--ttl-delay",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="How long expired items stay at least, to imitate the service's lateness. [%(default)s]",
    )


def run(options: argparse.Namespace) -> int:
    if (options.tls_cert is None) is not (options.tls_key is None):
        print("torusdb: --tls-cert and --tls-key go together.", file=sys.stderr)
        return 1
    # What is made from here until requests are served stays for good: looking for garbage in it, now or later, is lost.
    gc.disable()
    from torusdb.database import MEMORY, open_database
    from torusdb.server.listen import ListenError
    from torusdb.server.listen import serve as listen_and_serve
    from torusdb.storage.failures import StorageError

    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)

    def on_listening(endpoint: str) -> None:
        gc.freeze()
        gc.enable()
        print(f"TorusDB {__version__} at {endpoint}\nData: {_place(options)}\nCtrl-C stops it.", flush=True)

    try:
        tls, gate = _tls(options), _gate(options)
        with open_database(
            MEMORY if options.in_memory else options.data_dir,
            durability=options.durability,
            region=options.region,
            by_credentials=options.by_credentials,
            table_delay_seconds=options.table_delay,
            ttl_period_seconds=options.ttl_period,
            ttl_delay_seconds=options.ttl_delay,
        ) as database:
            listen_and_serve(
                database,
                options.host,
                options.port,
                insecure=options.insecure,
                tls=tls,
                gate=gate,
                on_listening=on_listening,
            )
    except (StorageError, ListenError) as error:
        print(f"torusdb: {error}", file=sys.stderr)
        return 1
    finally:
        gc.enable()
    return 0


def _tls(options: argparse.Namespace) -> ssl.SSLContext | None:
    if options.tls_cert is None:
        return None
    from torusdb.server.tls import server_context

    return server_context(options.tls_cert, options.tls_key)


def _gate(options: argparse.Namespace) -> Gate | None:
    if options.auth is None:
        return None
    from torusdb.access.gate import Gate
    from torusdb.access.keyring import KeyFileError
    from torusdb.server.listen import ListenError

    try:
        return Gate(options.auth, is_secure=options.tls_cert is not None)
    except KeyFileError as error:
        raise ListenError(str(error)) from None


def _place(options: argparse.Namespace) -> str:
    return (
        "in memory, gone at the end" if options.in_memory else f"{options.data_dir.absolute()} ({options.durability})"
    )


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > PORT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: a number from 0 to {PORT_MAX} is")
    return int(text)


def _region(text: str) -> str:
    # It becomes a part of ARNs, which are told apart by their colons.
    if not re.fullmatch("[a-z0-9-]+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no region: one is named like eu-west-2")
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return seconds
