import pytest

from benchmarks import modeling


def test_the_design_kit_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modeling, "SECONDS_PER_FIGURE", 0.001)
    monkeypatch.setattr(modeling, "import_milliseconds", lambda rounds: 1.0)
    figures, import_ms = modeling.measure(1)
    assert [each.name for each in figures] == ["put", "get", "query of 100"]
    assert all(min(each.bare, each.modelled, each.own) > 0 for each in figures)
    assert "| import | | | 1 ms | 100 ms |" in modeling.table_of(figures, import_ms)
