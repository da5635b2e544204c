"""The `torusdb` command. Modules of the database are imported by the commands that need them: `--help` is quick."""

from __future__ import annotations

import typer

from torusdb import __version__
from torusdb.cli.serve import serve

app = typer.Typer(
    name="torusdb",
    help="The DynamoDB API, anywhere Python runs.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"torusdb {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", help="Show the version and exit.", callback=_show_version, is_eager=True
    ),
) -> None:
    pass


app.command(name="serve", no_args_is_help=False)(serve)


def main() -> None:
    app()
