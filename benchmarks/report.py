"""What a run found, as Markdown: ratios, rates, what was seen of each server, and what has no figure and why."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import plots
from benchmarks.results import LIKE_OF, Figure, Machine, PeerFacts, Results, in_order

ABSENT = "–"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table: names to the left, figures to the right."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, rule, *rows])


def significant(value: float) -> str:
    """Three digits that mean something; more would be noise."""
    if value >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


SECTIONS = ["run", "growth"]


def replace_section(page: str, name: str, text: str) -> str:
    """The page with what stands between the markers of `name` replaced."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, found_begin, rest = page.partition(begin)
    _, found_end, tail = rest.partition(end)
    if not (found_begin and found_end):
        raise ValueError(f"the page has no markers {begin} and {end}")
    return f"{head}{begin}\n\n{text.strip()}\n\n{end}{tail}"


def empty_page() -> str:
    """For a directory that has none yet: figures of an hour are not to be lost for want of markers."""
    return (
        "# Benchmarks\n\n" + "\n\n".join(f"<!-- {each}: begin -->\n\n<!-- {each}: end -->" for each in SECTIONS) + "\n"
    )


def run_section(results: Results) -> str:
    parts = [_provenance(results), "### The servers", _servers(results.peers)]
    parts += ["### Ratios: TorusDB's rate ÷ the peer's", _ratio_notes(results), *_per_load(results, _ratio_table)]
    parts += ["### Rates, and the 99th percentile of latency in ms", *_per_load(results, _rate_table)]
    if refused := _refused(results):
        parts += ["### Without a figure", refused]
    return "\n\n".join(parts)


def _provenance(results: Results) -> str:
    taken = f"of {results.seconds} s each" if results.rounds == 1 else f"are medians of rounds of {results.seconds} s"
    rounds = "" if results.rounds == 1 else f", {results.rounds} rounds"
    return f"`{results.command}`, {results.machine.date}{rounds}; figures {taken}.\n{_machine(results.machine)}"


def _machine(machine: Machine) -> str:
    return (
        f"{machine.cpu}, {machine.cores} cores, {machine.memory_gb} GB, {machine.kernel}, {machine.disk}, "
        f"{machine.python}; {machine.busy_before:.0%} of it was busy with other things just before."
    )


def _servers(peers: Sequence[PeerFacts]) -> str:
    rows = [[f"{peer.name} {peer.version}".strip(), *_server_cells(peer)] for peer in peers]
    return table(["server", "first answer, ms", "idle, MB", "loaded, MB", "data"], rows)


def _server_cells(peer: PeerFacts) -> list[str]:
    if peer.missing:
        return [ABSENT, ABSENT, ABSENT, f"missing: {_in_a_cell(peer.missing)}"]
    first = significant(statistics.median(peer.first_answer_ms)) if peer.first_answer_ms else ABSENT
    idle, loaded = (significant(mb) if mb else ABSENT for mb in (peer.idle_mb, peer.loaded_mb))
    return [first, idle, loaded, peer.durability]


def _in_a_cell(text: str) -> str:
    """What a server said may hold anything; neither a bar nor a line's end may break the table."""
    return " ".join(text.split()).replace("|", "\\|")


def _ratio_notes(results: Results) -> str:
    spreads = [
        (max(rounds) - min(rounds)) / statistics.median(rounds)
        for peer in results.peers
        for figure in results.figures
        if figure.peer == peer.name and peer.name not in LIKE_OF.values()
        if (rounds := results.ratios(peer, figure.workload, figure.size, figure.driver))
    ]
    text = (
        "Above 1 TorusDB is faster. Peers on disk are held against `torusdb`, which syncs every answered write; peers "
        "in memory against `torusdb-memory`."
    )
    if results.rounds > 1 and spreads:
        text += f" From the lowest round to the highest they spread by {statistics.median(spreads):.0%} (median)."
    return text


def _per_load(results: Results, render: Callable[[Results, str, str], str]) -> list[str]:
    """One table for each size of items and driver."""
    parts = []
    for size in in_order(figure.size for figure in results.figures):
        for driver in in_order(figure.driver for figure in results.figures):
            rendered = render(results, size, driver)
            if rendered:
                parts += [f"#### {results.items[size]:,} items of {size}, {_in_words(driver)}", rendered]
    return parts


def _in_words(driver: str) -> str:
    tool, _, connections = driver.partition(" ")
    if not connections:
        return "boto3, one thread"
    return f"{connections} connection{'s' if connections != '1' else ''} ({tool})"


def _ratio_table(results: Results, size: str, driver: str) -> str:
    peers = [peer for peer in results.peers if peer.name not in LIKE_OF.values() and not peer.missing]
    rows = []
    for workload in in_order(figure.workload for figure in results.figures):
        rounds = [results.ratios(peer, workload, size, driver) for peer in peers]
        rows.append([workload, *(significant(statistics.median(each)) if each else ABSENT for each in rounds)])
    if not peers:
        return ""
    plot = plots.ratio_plot_name(size, driver) if driver.startswith("wrk") else ""
    picture = f"![TorusDB's rate divided by its peers']({plots.DIRECTORY}/{plot})\n\n" if plot else ""
    return picture + table(["", *(peer.name for peer in peers)], rows)


def _rate_table(results: Results, size: str, driver: str) -> str:
    peers = [peer for peer in results.peers if not peer.missing]
    rows = []
    for workload in in_order(figure.workload for figure in results.figures):
        figures = [results.figure(peer.name, workload, size, driver) for peer in peers]
        unit = next(figure.unit for figure in results.figures if figure.workload == workload)
        rows.append([f"{workload}, {unit}", *map(_rate_cell, figures)])
    return table(["", *(peer.name for peer in peers)], rows)


def _rate_cell(figure: Figure | None) -> str:
    if figure is None or figure.rate is None:
        return ABSENT
    return f"{significant(figure.rate)} ({significant(statistics.median(figure.p99_ms))})"


def _refused(results: Results) -> str:
    """One line for each server, workload and reason, with the loads that it concerns."""
    loads: dict[tuple[str, str, str], list[str]] = {}
    for figure in results.figures:
        if figure.refused:
            at = f"{figure.size} {figure.driver}"
            loads.setdefault((figure.peer, figure.workload, _in_a_cell(figure.refused)), []).append(at)
    return "\n".join(
        f"- {peer}, {workload} ({', '.join(at)}): {reason}" for (peer, workload, reason), at in loads.items()
    )


def growth_section(results: Results) -> str:
    parts = [
        _provenance(results),
        f"One server at a time, {results.connections[0]} connections (wrk), items of 0.3 KB, requests/s.",
        f"![Rates as tables grow]({plots.DIRECTORY}/{plots.GROWTH_PLOT_NAME})",
    ]
    for workload in in_order(workload for step in results.growth for workload in step.rates):
        rates = {(step.peer, step.items): step.rates.get(workload, 0.0) for step in results.growth}
        parts += [f"#### {workload}", _growth_table(rates)]
    loading = {(step.peer, step.items): step.loaded_per_second for step in results.growth if not step.skipped}
    resident = {(step.peer, step.items): step.resident_mb for step in results.growth}
    parts += ["#### Loading, items/s", _growth_table(loading), "#### Resident memory, MB", _growth_table(resident)]
    if skipped := [step for step in results.growth if step.skipped]:
        lines = [f"- {step.peer}, {step.items:,} items: {_in_a_cell(step.skipped)}" for step in skipped]
        parts += ["#### Without a figure", "\n".join(lines)]
    return "\n\n".join(parts)


def _growth_table(values: dict[tuple[str, int], float]) -> str:
    """A row for each number of items, a column for each server; 0 is no figure."""
    peers = in_order(peer for peer, _ in values)
    rows = []
    for items in sorted({items for _, items in values}):
        found = [values.get((peer, items)) for peer in peers]
        rows.append([f"{items:,}", *(significant(value) if value else ABSENT for value in found)])
    return table(["items", *peers], rows)


def write(home: Path, name: str, results: Results) -> None:
    """The figures, the plots, and the section `name` of the page in `home`."""
    results.save(home / "results" / f"{name}.json")
    render, draw = (run_section, plots.ratio_plots) if name == "run" else (growth_section, plots.growth_plots)
    (home / plots.DIRECTORY).mkdir(exist_ok=True)
    for file, drawn in draw(results).items():
        (home / plots.DIRECTORY / file).write_text(drawn)
    page = home / "RESULTS.md"
    text = page.read_text() if page.exists() else empty_page()
    page.write_text(replace_section(text, name, render(results)))
