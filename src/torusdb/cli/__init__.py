"""The command line: one module a command."""

from torusdb.cli.main import main

__all__ = ["main"]
