"""The command line of the benchmarks: `python -m benchmarks --help`."""

from __future__ import annotations

import shlex
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from benchmarks import install, report
from benchmarks.data import LARGE_BYTES, SMALL_BYTES, Dataset
from benchmarks.growth import GrowthPlan, measure_growth
from benchmarks.load import wrk_missing
from benchmarks.measure import Measurement, Plan
from benchmarks.peers import PEERS, Peer
from benchmarks.results import LIKE_OF, Results, this_machine
from benchmarks.workloads import WORKLOADS

HOME = Path(__file__).parent
LARGE_SHARE = 10
"""Tables of 10 KB items hold a tenth as many: about three times the bytes of the small ones."""
QUICK_ITEMS = 10_000
GROWTH_SIZES = [10_000, 30_000, 100_000, 300_000, 1_000_000]

DEFAULT_CONNECTIONS = [1, 16, 64]


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


app = typer.Typer(
    help="TorusDB beside its peers: the same data, the same load, one run.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _names(flag: str, what: str, names: list[str]) -> Any:
    """A repeatable option that takes some of `names`."""

    def checked(given: list[str] | None) -> list[str] | None:
        for name in given or []:
            if name not in names:
                raise typer.BadParameter(f"{name!r} is none of {', '.join(names)}")
        return given

    help_text = f"Only {what}. Repeatable. One of {', '.join(names)}."
    return typer.Option(flag, metavar="NAME", callback=checked, help=help_text)


Peers = Annotated[
    list[str] | None,
    _names("--peer", "this server, and the TorusDB that it is held against", [peer.name for peer in PEERS]),
]
Workloads = Annotated[
    list[str] | None, _names("--workload", "this workload", [workload.name for workload in WORKLOADS])
]
Home = Annotated[
    Path | None, typer.Option("--output", help="The directory of RESULTS.md. Default: here; with --quick, none.")
]
Quick = Annotated[bool, typer.Option("--quick", help="Minutes instead of hours: shows that all works, and no more.")]


def chosen_peers(names: list[str] | None) -> list[Peer]:
    """In their usual order; each with the TorusDB it is held against, since there is no ratio without."""
    if not names:
        return PEERS
    wanted = {peer for peer in PEERS if peer.name in names}
    return [peer for peer in PEERS if peer in wanted or peer.name in {LIKE_OF[other.on_disk] for other in wanted}]


@app.command()
def run(
    peer: Peers = None,
    workload: Workloads = None,
    size: Annotated[
        list[Size] | None, typer.Option(help="Only items of 300 bytes (small) or of 10 KB (large). Repeatable.")
    ] = None,
    items: Annotated[
        int, typer.Option(min=1000, help="Small items in the table; a tenth as many large ones.")
    ] = 100_000,
    connections: Annotated[list[int], typer.Option(min=1, help="Of wrk. Repeatable.")] = DEFAULT_CONNECTIONS,
    rounds: Annotated[int, typer.Option(min=1, help="How often each figure is taken, in turn with the others.")] = 3,
    seconds: Annotated[int, typer.Option(min=1, help="Of each figure, in each round.")] = 3,
    boto3_seconds: Annotated[float, typer.Option(min=0, help="The same by boto3; 0 leaves it out.")] = 1.0,
    cold_starts: Annotated[int, typer.Option(min=1, help="Starts that are timed to the first answer.")] = 5,
    quick: Quick = False,
    output: Home = None,
) -> None:
    """Rates of each workload on each server, and their ratios."""
    _require_wrk()
    if quick:
        items, rounds, seconds, boto3_seconds, cold_starts = QUICK_ITEMS, 1, 1, min(boto3_seconds, 0.3), 1
    datasets = [_dataset(each, items) for each in size or ([Size.SMALL] if quick else list(Size))]
    plan = Plan(
        peers=chosen_peers(peer),
        workloads=[each for each in WORKLOADS if not workload or each.name in workload],
        datasets=datasets,
        connections=connections,
        rounds=rounds,
        seconds=seconds,
        boto3_seconds=boto3_seconds,
        cold_starts=cold_starts,
    )
    results = _empty_results(rounds, seconds, connections)
    results.items = {dataset.label: dataset.items for dataset in datasets}
    with _progress(plan.steps) as advance:
        measurement = Measurement(plan, advance)
        measurement.run()
    results.peers, results.figures = measurement.peers, measurement.figures
    _publish("run", results, output, quick)


@app.command()
def modeling(
    rounds: Annotated[int, typer.Option(min=1, help="How often each figure is taken, in turn with the others.")] = 9,
) -> None:
    """What the design kit adds to boto3: puts, gets, queries, and its import."""
    from benchmarks.modeling import measure, table_of

    typer.echo(table_of(*measure(rounds)))


@app.command()
def modelers(
    rounds: Annotated[int, typer.Option(min=1, help="How often each figure is taken, in turn with the others.")] = 9,
) -> None:
    """The design kit beside PynamoDB and pydynox: the same orders put, got and queried, on one server."""
    from benchmarks.modelers.compare import compare, table_of

    typer.echo(table_of(compare(rounds)))


@app.command()
def growth(
    peer: Peers = None,
    items: Annotated[list[int], typer.Option(min=1000, help="Sizes of the table. Repeatable.")] = GROWTH_SIZES,
    connections: Annotated[int, typer.Option(min=1, help="Of wrk.")] = 16,
    seconds: Annotated[int, typer.Option(min=1, help="Of each figure.")] = 5,
    load_seconds: Annotated[
        float, typer.Option(min=1, help="What loading may take, for each server and size, before it is given up.")
    ] = 600.0,
    quick: Quick = False,
    output: Home = None,
) -> None:
    """How rates hold from ten thousand to a million items."""
    _require_wrk()
    if quick:
        items, seconds, load_seconds = [1000, QUICK_ITEMS], 1, 30.0
    plan = GrowthPlan(sorted(items), connections, seconds, load_seconds)
    results = _empty_results(1, seconds, [connections])
    peers = chosen_peers(peer)
    with _progress(len(peers)) as advance:
        for each in peers:
            results.growth += measure_growth(each, plan, lambda text: advance(text, 0))
            advance(each.name, 1)
    _publish("growth", results, output, quick)


@app.command()
def signatures(
    rounds: Annotated[int, typer.Option(min=1, help="How often each figure is taken, in turn with the others.")] = 5,
    seconds: Annotated[int, typer.Option(min=1, max=60, help="Of each figure, in each round.")] = 3,
) -> None:
    """What --auth costs: GetItem, signed, on a server that verifies and on one that does not."""
    _require_wrk()
    from benchmarks.signatures import measure

    typer.echo(measure(rounds, seconds).report())


@app.command("report")
def report_again(output: Home = None) -> None:
    """The pages and plots once more, from the figures as they were measured."""
    home = output or HOME
    for name in ("run", "growth"):
        figures = home / "results" / f"{name}.json"
        if figures.exists():
            report.write(home, name, Results.load(figures))


@app.command("install")
def install_peers(
    dynamodb_local: Annotated[
        bool,
        typer.Option(
            "--dynamodb-local", help="DynamoDB Local too, from Maven Central: its licence is yours to accept."
        ),
    ] = False,
) -> None:
    """Get the peers ahead of a run, into the user's cache. (A run gets what it needs, but for DynamoDB Local.)"""
    wanted = {
        "dynalite": lambda: install.npm_package("dynalite", install.DYNALITE, "cli.js"),
        "dynoxide": lambda: install.npm_package("@dynoxide/linux-x64", install.DYNOXIDE, "dynoxide"),
        "moto": install.moto_server,
    }
    if dynamodb_local:
        wanted["dynamodb-local"] = install.install_dynamodb_local
    for name, get in wanted.items():
        try:
            typer.echo(f"{name}: {get()}")
        except install.PeerMissingError as error:
            typer.echo(f"{name}: {error}")


def _dataset(size: Size, items: int) -> Dataset:
    if size is Size.SMALL:
        return Dataset("small", items, SMALL_BYTES)
    return Dataset("large", items // LARGE_SHARE, LARGE_BYTES)


def _require_wrk() -> None:
    if missing := wrk_missing():
        typer.echo(missing, err=True)
        raise typer.Exit(1)


def _empty_results(rounds: int, seconds: int, connections: list[int]) -> Results:
    command = shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])
    return Results(command, this_machine(Path(tempfile.gettempdir())), rounds, seconds, connections=connections)


@contextmanager
def _progress(steps: int) -> Iterator[Callable[[str, int], None]]:
    columns = [
        SpinnerColumn(),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    ]
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=steps)

        def advance(text: str, done: int) -> None:
            progress.update(task, description=text, advance=done)

        yield advance


def _publish(name: str, results: Results, output: Path | None, quick: bool) -> None:
    """Printed in any case; a quick run is not worth a place in the page unless it is asked for."""
    typer.echo(report.run_section(results) if name == "run" else report.growth_section(results))
    home = output or (None if quick else HOME)
    if home is not None:
        report.write(home, name, results)


if __name__ == "__main__":
    # So that the servers are stopped on the way out, as they are by Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    app(prog_name="python -m benchmarks")
