"""The command line: one module a command.

It is built on argparse: a command line on typer or click is 60 ms of a start that should take 200.
"""

from torusdb.cli.main import main

__all__ = ["main"]
