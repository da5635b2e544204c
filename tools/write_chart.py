"""Writes docs/modeling/library-chart.md, the chart of the tutorial's model, as `torusdb model check --markdown` does.

    python tools/write_chart.py

A test fails when the page is not what this writes.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from torusdb.modeling.design import check

DOCS = Path(__file__).resolve().parent.parent / "docs" / "modeling"
CHART = DOCS / "library-chart.md"


def library_source() -> str:
    """The library.py that the tutorial has its reader write."""
    blocks = re.findall(
        r"^```python\n# library\.py\n(.*?)^```$", (DOCS / "tutorial.md").read_text(), re.DOTALL | re.MULTILINE
    )
    return "\n\n".join(blocks)


def chart() -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "library.py"
        file.write_text(library_source())
        try:
            return check(file, samples=3).markdown()
        finally:
            sys.modules.pop("library", None)


if __name__ == "__main__":
    CHART.write_text(chart(), encoding="utf-8")
