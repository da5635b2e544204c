import pytest
from benchmarks.modelers import compare

from benchmarks import modeling


def test_the_design_kit_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modeling, "SECONDS_PER_FIGURE", 0.001)
    monkeypatch.setattr(modeling, "import_milliseconds", lambda rounds: 1.0)
    figures, import_ms = modeling.measure(1)
    assert [each.name for each in figures] == ["put", "get", "query of 100"]
    assert all(min(each.bare, each.modelled, each.own) > 0 for each in figures)
    assert "| import | | | 1 ms | 100 ms |" in modeling.table_of(figures, import_ms)


def test_libraries_are_compared(capfd: pytest.CaptureFixture[str]) -> None:
    """Those that need no installing; the others have the same protocol."""
    mine = [each for each in compare.LIBRARIES if each.package is None]
    figures = compare.compare(1, mine)
    assert list(figures) == ["put", "get", "query"]
    assert all(figure.taken > 0 and figure.worked > 0 for by in figures.values() for figure in by.values())
    table = compare.table_of(figures).splitlines()
    assert [line.split("|")[1].strip() for line in table] == ["", "---", "torusdb.modeling", "boto3, dicts"]
    assert table[-1].count("1.00 (") == 6

    with pytest.raises(RuntimeError, match="nothing ended with status 1"):
        compare.compare(1, [*mine, compare.Library("nothing", "with_nothing", None)])
    assert "No module named 'with_nothing'" in capfd.readouterr().err
