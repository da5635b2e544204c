"""Runs the code of a page of docs/patterns against TorusDB in memory, and keeps what came of it.

All blocks run in order, in one namespace, as one who copies them would. They find `client` and `streams` there, boto3's
clients of the database, and `remove_expired`, which has it remove what has expired. A comment `# cost: what is done`
stands above a statement whose requests are measured; the shapes are those after the last block of the section Code."""

from __future__ import annotations

import ast
import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from types import ModuleType
from typing import Any, NamedTuple

from msgspec.structs import replace

import torusdb
from pattern_pages import BadPage, Block, Page
from pattern_tables import READS, WRITES, Charge, Cost, costs, shape
from torusdb.jobs.ttl import TTL_JOBS
from torusdb.storage import driver

MODULE = "pattern_page"
MEASURE = "__measured"
_COST = re.compile(r"^\s*# cost: (.+)$", re.MULTILINE)
_NEVER_SECONDS = 10.0**9


class Outcome(NamedTuple):
    """`outputs`: what the blocks of Python printed, in their order."""

    shapes: dict[str | None, str]
    costs: list[Cost]
    outputs: list[tuple[Block, str]]


class Meter:
    """Asks for the capacity of all requests of a client, and keeps it while something is measured."""

    def __init__(self, client: Any) -> None:
        self.costs: list[Cost] = []
        self._current: list[Charge] | None = None
        client.meta.events.register("provide-client-params.dynamodb", self._ask)
        client.meta.events.register("after-call.dynamodb", self._take)

    def _ask(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        if model.name in READS | WRITES:
            params.setdefault("ReturnConsumedCapacity", "INDEXES")

    def _take(self, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        if self._current is None or model.name not in READS | WRITES:
            return
        told = parsed.get("ConsumedCapacity")
        consumed = None if "Error" in parsed else [told] if isinstance(told, dict) else list(told or [])
        self._current.append(Charge(model.name, consumed))

    @contextmanager
    def measured(self, label: str) -> Iterator[None]:
        if self._current is not None:
            raise BadPage(f"{label!r} is measured within another that is")
        self._current = []
        self.costs.append(Cost(label, self._current))
        try:
            yield
        finally:
            self._current = None


class _Measuring(ast.NodeTransformer):
    """Puts the statement below each comment `# cost: …` into a `with` that measures it. `labels`: by the statement's
    line."""

    def __init__(self, labels: dict[int, str]) -> None:
        self.labels = labels

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.stmt) and node.lineno in self.labels:
            label = ast.Constant(self.labels.pop(node.lineno))
            measured = ast.Call(ast.Name(MEASURE, ast.Load()), [label], [])
            return ast.copy_location(ast.With([ast.withitem(measured)], [node]), node)
        return node


def run(page: Page) -> Outcome:
    with torusdb.open(":memory:", ttl_delay_seconds=_NEVER_SECONDS) as db:  # expired items stay, as they may for days
        client = db.client()
        meter = Meter(client)
        module = ModuleType(MODULE)
        vars(module).update(
            client=client,
            streams=db.client("dynamodbstreams"),
            remove_expired=lambda: _remove_expired(db),
            **{MEASURE: meter.measured},
        )
        blocks = [block for block in page.blocks() if block.kind == "python"]
        shaping = [block for block in blocks if block.section == "Code"]
        if not shaping:
            raise BadPage(f"{page.file} has no block of Python in its section 'Code'")
        shapes: dict[str | None, str] = {}
        outputs = []
        sys.modules[MODULE] = module  # where entities and dataclasses look up the names of their annotations
        try:
            for block in blocks:
                printed = io.StringIO()
                with redirect_stdout(printed):
                    exec(_compiled(page, block), vars(module))
                outputs.append((block, printed.getvalue()))
                if block is shaping[-1]:
                    shapes = {of: _shape(client, of) for name, of in page.places() if name == "shape"}
        finally:
            del sys.modules[MODULE]
        return Outcome(shapes, _checked(page, meter.costs), outputs)


def _remove_expired(db: torusdb.Database) -> None:
    """What the service does some time or other, at once."""
    settings = replace(db._home.settings, ttl_delay_seconds=0.0)
    context = replace(db._home, settings=settings, swept={})
    for job in TTL_JOBS:
        running, result = job(context), None
        with suppress(StopIteration):
            while True:
                result = driver.complete(db._engine, running.send(result))


def _compiled(page: Page, block: Block) -> Any:
    labels = {block.text.count("\n", 0, match.end()) + 2: match[1] for match in _COST.finditer(block.text)}
    transformer = _Measuring(labels)
    tree = ast.fix_missing_locations(transformer.visit(ast.parse(block.text, page.file)))
    if transformer.labels:
        left = ", ".join(map(repr, transformer.labels.values()))
        raise BadPage(f"{page.file} has no statement on the line below # cost: {left}")
    return compile(ast.increment_lineno(tree, block.start - 1), page.file, "exec", dont_inherit=True)


def _checked(page: Page, measured: list[Cost]) -> list[Cost]:
    """Each label, measured once, in the order of the page."""
    labels = [label for block in page.blocks() if block.kind == "python" for label in _COST.findall(block.text)]
    by_label = {cost.label: cost for cost in measured}
    if len(set(labels)) < len(labels) or sorted(labels) != sorted(cost.label for cost in measured):
        found = [cost.label for cost in measured]
        raise BadPage(f"{page.file} names the costs {labels}, and measured {found}: each is measured once")
    if not labels:
        raise BadPage(f"{page.file} measures nothing: put a comment '# cost: what is done' above a statement")
    for cost in measured:
        if not cost.charges:
            raise BadPage(f"{page.file} measures {cost.label!r}, which makes no request (a query makes its when read)")
    return [by_label[label] for label in labels]


def _shape(client: Any, of: str | None) -> str:
    names = client.list_tables()["TableNames"]
    if of is None:
        if len(names) != 1:
            raise BadPage(f"There are the tables {', '.join(names)}: say which, as in <!-- shape {names[0]} -->")
        return shape(client, names[0], None)
    table, _, index = of.partition(".")
    return shape(client, table, index or None)


def rewritten(page: Page) -> str:
    """The page with its tables, costs and outputs as they are."""
    page.check()
    outcome = run(page)
    text = page.with_places(lambda name, of: costs(outcome.costs) if name == "cost" else outcome.shapes[of])
    page = page._replace(text=text)
    blocks = [block for block in page.blocks() if block.kind == "python"]
    for number in reversed(range(len(blocks))):
        printed, shown = outcome.outputs[number][1], page.output_of(blocks[number])
        if printed and shown is None:
            place = f"{page.file}:{blocks[number].start}"
            raise BadPage(f"{place} prints, and no ```text block behind it shows what: add an empty one")
        if shown is not None:
            text = page.text
            page = page._replace(text=text[: shown.at] + printed + text[shown.at + len(shown.text) :])
    return page.text
