"""The page on migrations says what is true, and its code runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from torusdb.modeling.migrations.progress import ERRORS_MAX
from torusdb.modeling.migrations.states import LEASE_SECONDS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "migrations.md").read_text()
PYTHON_BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_its_code_runs_from_top_to_bottom(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("boto3", reason="db.client() is boto3's")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    variables: dict[str, Any] = {"__name__": __name__}
    for block in PYTHON_BLOCKS:
        if block.startswith("# market.py\n"):
            (tmp_path / "market.py").write_text(block)
        else:
            exec(block, variables)
    monkeypatch.delitem(sys.modules, "market")
    dry, done, customer, market, buyers, copied, switched = capsys.readouterr().out.splitlines()
    assert dry.startswith("Counter({'converted': 3}) 3")
    assert done == "done Counter({'read': 3, 'converted': 3}) {}"
    assert customer == "Customer(id='1', first_name='Ann', last_name='Lee1', schema=2)"
    assert market == "2 1 1"
    assert buyers == "May Lee2"
    assert (copied, switched) == ("following", "True 3 3")
    assert len(PYTHON_BLOCKS) == 6
    mails = variables["client"].scan(TableName="market", IndexName="by-mail")["Items"]
    assert sorted(each["last_name"]["S"] for each in mails) == ["Lee0", "Lee2", "May"]
    assert not any("name" in each for each in mails)
    variables["db"].close()


def test_its_figures_are_those_of_the_source() -> None:
    assert f"up to {ERRORS_MAX} of them" in PAGE
    assert LEASE_SECONDS == 60
    assert "has not moved it for a minute" in re.sub(r"\s+", " ", PAGE)


def test_its_lines_are_wrapped() -> None:
    assert max(len(line) for line in PAGE.splitlines() if not line.startswith("|")) <= 130
