"""`torusdb model check` as a person, and a build, uses it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import COMMAND, torusdb
from torusdb.cli import main
from torusdb.modeling.design.samples import SAMPLES_OF_EACH

SHOP = str(Path(__file__).parents[1] / "modeling" / "shop.py")


def check(*arguments: str) -> int:
    return main(["model", "check", *arguments])


def test_the_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    assert check(SHOP) == 0
    out, said = capsys.readouterr()
    assert said == ""
    assert out.startswith("tests.modeling.shop: 1 table, 4 indexes, 3 entities, 2 access patterns")
    assert max(map(len, out.splitlines())) <= 90
    assert "\x1b" not in out


def test_how_many_samples(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(SHOP, "--samples", "2") == 0
    assert capsys.readouterr().out.count("PRODUCT#") == 2
    assert check(SHOP) == 0
    assert capsys.readouterr().out.count("PRODUCT#") == SAMPLES_OF_EACH, "as --help says"
    assert check(SHOP, "--samples", "0") == 1
    out, said = capsys.readouterr()
    assert (out, said) == ("", "torusdb: There can be 1 to 100 samples of each entity, not 0\n")


def test_files_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    markdown, html = tmp_path / "shop.md", tmp_path / "shop.html"
    html.write_text("what was there before")
    assert check(SHOP, "--markdown", str(markdown), "--html", str(html)) == 0
    out, said = capsys.readouterr()
    assert "CUSTOMER#" not in out
    assert said == f"Wrote {markdown}\nWrote {html}\n"
    assert markdown.read_text(encoding="utf-8").startswith("# tests.modeling.shop\n")
    assert html.read_text(encoding="utf-8").startswith("<!doctype html>\n")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["shop.html", "shop.md"]


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nowhere = tmp_path / "nowhere" / "shop.html"
    assert check(SHOP, "--html", str(nowhere)) == 1
    assert capsys.readouterr().err == f"torusdb: {nowhere} cannot be written: No such file or directory\n"
    assert check(SHOP, "--html", str(tmp_path)) == 1
    assert "Is a directory" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_json_is_all_that_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(SHOP, "--json", "--html", str(tmp_path / "shop.html")) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in facts["tables"][0]["patterns"]] == ["customer_with_orders", "orders_by_status"]


def test_a_finding_that_is_an_error_fails_a_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "too_many_indexes.py"
    model.write_text("""
from torusdb.modeling import *
from torusdb.modeling.design import *
indexes = [LocalIndex(f"lsi{number}", sort_key=f"sk{number}") for number in range(6)]
t = Table("things", partition_key="pk", sort_key="sk", indexes=indexes)
class Note(Entity, table=t):
    key = Key("NOTE#{id}", "NOTE")
    id: Attr[str]
""")
    for arguments in ([], ["--json"], ["--html", str(tmp_path / "chart.html")]):
        assert check(str(model), *arguments) == 1
        assert "error" in capsys.readouterr().out
    del sys.modules["too_many_indexes"]


def test_what_is_wrong_with_a_model_is_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nothing_here.py").write_text("x = 1")
    assert check(str(tmp_path / "nothing_here.py")) == 1
    out, said = capsys.readouterr()
    assert out == ""
    del sys.modules["nothing_here"]
    assert re.fullmatch(r"torusdb: nothing_here has no table in it: .*\n", said)


def test_a_declaration_that_cannot_work_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "no_key.py").write_text("""
from torusdb.modeling import *
things = Table("things", partition_key="pk")
class Note(Entity, table=things):
    id: Attr[str]
""")
    assert check(str(tmp_path / "no_key.py")) == 1
    assert capsys.readouterr().err == (
        "torusdb: Note has no key of the table: key = Key(…), without an index (no_key.py, line 4)\n"
    )


def test_a_terminal_that_cannot_show_all_characters(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    command = [*COMMAND, "model", "check", SHOP]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "CUSTOMER#101  #ORDER#9999999999999996" in done.stdout


def test_who_reads_no_further_is_told_nothing() -> None:
    command = [*COMMAND, "model", "check", SHOP, "--samples", "100"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich", reason="it makes the colours")
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert check(SHOP) == 0
    bare = capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert check(SHOP) == 0
    coloured = capsys.readouterr().out
    assert "\x1b[36m" in coloured
    told = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines()]
    assert told == bare.splitlines()


def test_without_rich_a_terminal_has_plain_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert check(SHOP) == 0
    out = capsys.readouterr().out
    assert "CUSTOMER#101" in out
    assert "\x1b" not in out


def test_help_has_examples_and_says_what_the_exit_code_is() -> None:
    help_text = torusdb("model", "check", "--help").stdout
    assert "torusdb model check shop.py --html shop.html" in help_text
    assert "The exit code is 1 if" in help_text
