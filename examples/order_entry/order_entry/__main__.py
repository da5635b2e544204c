"""The command line: `python -m order_entry --help`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.table import Table as Grid

from order_entry import report
from order_entry.benchmark import VALUES, measure
from order_entry.generate import WORKERS, generate, load
from order_entry.model import FOURTEEN, Customer, Inventory, quarter_of, ranking, table, total_inventory
from order_entry.orders import Line, place_order
from order_entry.reference import Reference
from order_entry.sampling import sample
from order_entry.system import System, at, in_this_process
from torusdb.modeling import Entity, Meter, Read, Store

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks"

app = typer.Typer(
    help="An order-entry and HR system in one DynamoDB table.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
out = Console()

Customers = Annotated[int, typer.Option(min=1, help="How many; all else follows from it.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same data.")]
Endpoint = Annotated[str | None, typer.Option(metavar="URL", help="A server, instead of a directory.")]


@app.command()
def demo(customers: Customers = 200, seed: Seed = 1) -> None:
    """Everything once, in memory: the fourteen questions, then an order and what it changes."""
    entities = list(generate(customers, seed))
    reference = Reference()
    reference.load(entities)
    with in_this_process() as system:
        system.create_table(stream=False)
        _load_with_progress(system, iter(entities), customers, WORKERS)
        _ask_all(system, reference)
        system.start_stream()
        _sell(system, entities)
    reference.close()


@app.command()
def patterns() -> None:
    """What is sent for each of the fourteen questions."""
    for each in FOURTEEN.values():
        out.print(f"[bold]{each.description}[/]", highlight=False, soft_wrap=True)
        out.print(f"{each.explanation}\n", highlight=False, markup=False, soft_wrap=True)


@app.command("generate")
def generate_data(
    customers: Customers = 1000,
    seed: Seed = 1,
    directory: Annotated[Path, typer.Option(help="Where a database in this process keeps its data.")] = Path(
        "order_entry_data"
    ),
    endpoint: Endpoint = None,
    workers: Annotated[int, typer.Option(min=1, help="Batches that are written at once.")] = WORKERS,
) -> None:
    """Data of any size, into a directory or a server that has no such table yet.

    `python -m order_entry generate --customers 100000`

    `python -m order_entry generate --endpoint http://127.0.0.1:8000`
    """
    with _system(endpoint, directory) as system:
        if table.name in system.dynamodb.list_tables()["TableNames"]:
            out.print(f"There is a table {table.name} already: delete it, or write into another directory or server")
            raise typer.Exit(1)
        system.create_table(stream=False)
        count = _load_with_progress(system, generate(customers, seed), customers, workers)
        system.start_stream()
    out.print(f"{count:,} items in {endpoint or directory}")


@app.command()
def serve(
    customers: Customers = 200,
    seed: Seed = 1,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8080,
    name: Annotated[list[str] | None, typer.Option(help="Another name that browsers may use. Repeatable.")] = None,
    endpoint: Annotated[
        str | None, typer.Option("--endpoint", "--endpoint-url", metavar="URL", help="A server, instead of new data.")
    ] = None,
) -> None:
    """Pages and a REST interface, on new data in memory, or on a server that has the table; until Ctrl-C.

    `python -m order_entry serve`

    `python -m order_entry serve --endpoint http://127.0.0.1:8000`
    """
    from order_entry.web import serving

    try:
        listening = serving.listen(host, port)
    except OSError as error:
        out.print(f"Cannot listen on {host}, port {port}: {error.strerror}", highlight=False)
        raise typer.Exit(1) from None
    with listening, in_this_process() if endpoint is None else nullcontext(at(endpoint)) as system:
        if endpoint is None:
            system.create_table(stream=False)
            _load_with_progress(system, generate(customers, seed), customers, WORKERS)
            system.start_stream()
        elif table.name not in system.dynamodb.list_tables()["TableNames"]:
            out.print(f"There is no table {table.name}: python -m order_entry generate --endpoint {endpoint}")
            raise typer.Exit(1)
        elif "LatestStreamArn" not in system.dynamodb.describe_table(TableName=table.name)["Table"]:
            out.print(f"The table {table.name} has no stream, which the ranking follows: enable one with both images")
            raise typer.Exit(1)
        out.print(f"{serving.address(listening)} (Ctrl-C ends it)", highlight=False)
        serving.serve(system, listening, [host, *(name or [])])


@app.command()
def rank(endpoint: Annotated[str, typer.Option(metavar="URL", help="The server.")] = "http://127.0.0.1:8000") -> None:
    """Keep the ranking of representatives, following the table's stream until Ctrl-C."""
    consumer = at(endpoint).ranking_consumer()
    out.print(f"follows the stream of {table.name} (Ctrl-C ends it)")
    try:
        consumer.run()
    except KeyboardInterrupt:
        out.print("stopped")


@app.command()
def benchmark(
    customers: Annotated[int, typer.Option(min=1, help="At the smallest size.")] = 1000,
    size: Annotated[list[int] | None, typer.Option(min=1, help="A multiple of it. Repeatable.")] = None,
    values: Annotated[int, typer.Option(min=1, help="For how many values each pattern is asked.")] = VALUES,
    output: Annotated[Path, typer.Option(help="The directory of the page and the plot.")] = RESULTS,
) -> None:
    """The fourteen patterns as the data grows: 1, 10 and 100 times, beside the same questions in SQL.

    `python -m order_entry benchmark --size 1 --size 10`
    """
    command = shlex.join(["python", "-m", "order_entry", *sys.argv[1:]])
    with _progress(None) as advance:
        measured = measure(customers, sorted(size or [1, 10, 100]), advance, values)
    page = report.write(measured, command, output)
    out.print(f"Written: {page} and {page.with_name(report.PLOT)}")


@contextmanager
def _system(endpoint: str | None, directory: Path) -> Iterator[System]:
    if endpoint is not None:
        yield at(endpoint)
    else:
        with in_this_process(str(directory)) as system:
            yield system


def _load_with_progress(system: System, entities: Iterator[Entity], customers: int, workers: int) -> int:
    with _progress(customers) as advance:
        return load(
            system.store,
            entities,
            workers=workers,
            advance=lambda batch: advance("customers", sum(isinstance(each, Customer) for each in batch)),
        )


@contextmanager
def _progress(total: int | None) -> Iterator[Callable[[str, int], None]]:
    columns = [
        SpinnerColumn(),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    ]
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=total)
        yield lambda text, done: progress.update(task, description=text, advance=done)


def _ask_all(system: System, reference: Reference) -> None:
    grid = Grid(Column("pattern", no_wrap=True), "asked with", "requests", "items read", "capacity", "found")
    for pattern in FOURTEEN.values():
        (values,) = sample(reference, pattern.name, 1)
        meter = Meter()
        plan = pattern(**values)
        answer = Store(table, system.dynamodb, observe=meter).run(plan)
        found = len(answer.all()) if isinstance(plan, Read) else 1
        shown = ", ".join(str(getattr(value, "value", value)) for value in values.values() if value is not None)
        figures = (len(meter.calls), meter.items_read, f"{meter.capacity_units:g}", found)
        grid.add_row(pattern.name, shown, *map(str, figures))
    out.print(grid)


def _sell(system: System, entities: Sequence[Entity]) -> None:
    customer = next(each for each in entities if isinstance(each, Customer))
    stock = next(each for each in entities if isinstance(each, Inventory) and each.quantity > 9)
    store = system.store
    order = place_order(store, customer.id, [Line(stock.product, stock.warehouse, 9)])
    consumer = system.ranking_consumer()
    while consumer.step():
        pass
    consumer.close()
    product = store.run(total_inventory(stock.product))
    assert product is not None
    out.print(f"Customer {customer.name} has ordered 9 of {product.name}: {product.stock} are left.")
    quarter = quarter_of(order.placed)
    for place, sales in enumerate(store.run(ranking(quarter).limit(3)), start=1):
        out.print(f"Number {place} in {quarter}: {sales.employee}, who has sold for {sales.total:,.2f}.")


if __name__ == "__main__":
    app(prog_name="python -m order_entry")
