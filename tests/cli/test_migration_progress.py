"""How a migration is shown: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import sys

import pytest

from tests.modeling.migrations.conftest import Stage, in_turns, things
from torusdb.cli.model.migration_progress import showing
from torusdb.modeling.migrations import Means, Progress, Run, in_place

migration = in_place(things, version=1, marker="_v")(lambda item: item)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def means() -> Means:
    stage = Stage(things)
    for number in range(10):
        stage.hand.call("PutItem", TableName="things", Item={"pk": {"S": str(number)}})
    return stage.means()


def progress(read: int) -> Progress:
    made = Progress.new(migration, 1)
    made.counts["read"] = read
    made.read_units, made.write_units = 5.0, 7.0
    made.errors["key"] = "bad"
    return made


def test_lines_come_now_and_then(means: Means, capsys: pytest.CaptureFixture[str]) -> None:
    with showing(means, migration) as watch:
        watch(progress(0))
        means.wait(1)
        watch(progress(1))
        means.wait(4)
        watch(progress(5))
    assert capsys.readouterr().err.splitlines() == [
        "<lambda> (scanning): 0 of 10  5 RCU 7 WCU  1 refused",
        "<lambda> (scanning): 5 of 10  1/s  5 RCU 7 WCU  1 refused, 5 s left",
    ]


def test_a_run_is_shown_from_before_its_first_item_on(means: Means, capsys: pytest.CaptureFixture[str]) -> None:
    """Its pages may all end at the same time, and so the rate be known by then."""
    seen: list[int] = []
    means.now = lambda: 100.0 + 6.0 * len(seen)
    with showing(means, migration) as watch:

        def watch_also(progress: Progress) -> None:
            watch(progress)
            seen.append(progress.counts["read"])

        Run(migration, means, segments=1, runner=in_turns(), watch=watch_also).migrate()
    assert seen[0] == 0
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert "0 of 10  0 RCU" in first
    assert "10 of 10  2/s" in second


def test_a_terminal_has_a_bar(means: Means, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich", reason="the bar is rich's")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with showing(means, migration) as watch:
        watch(progress(4))
    assert "4/10" in terminal.getvalue()
    assert "5 RCU 7 WCU" in terminal.getvalue()


def test_a_terminal_without_rich_has_lines(means: Means, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with showing(means, migration) as watch:
        watch(progress(4))
    assert terminal.getvalue().startswith("<lambda> (scanning): 4 of 10")
