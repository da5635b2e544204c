"""What is proposed passes mypy --strict: of a table, of files, and of names that are anything but names."""

from __future__ import annotations

import json
from pathlib import Path

from tests.modeling.conftest import Recorder
from tests.modeling.design.designs import design_from
from tests.modeling.design.proposals import inferred
from tests.modeling.design.test_infer import fill, shop_items
from tests.modeling.design.test_source import hostile
from tests.modeling.design.test_workbench import SHOP, exported, imported
from tests.modeling.design.workbench_models import FACETS_WITH_ROWS, SINGLE_TABLE, WITHOUT_ROWS, model
from torusdb.modeling import Store


def test_mypy_has_nothing_to_say(store: Store, client: Recorder, tmp_path: Path) -> None:
    from mypy import api

    fill(store)
    sources = [
        inferred(*shop_items(client)).source,
        hostile().source,
        imported(json.dumps(exported(design_from(SHOP)).document)).source,
        imported(model(SINGLE_TABLE, FACETS_WITH_ROWS, WITHOUT_ROWS)).source,
    ]
    paths = [tmp_path / f"proposed_{number}.py" for number in range(len(sources))]
    for path, source in zip(paths, sources, strict=True):
        path.write_text(source)
    options = ["--strict", "--config-file", "", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    output, problems, _ = api.run([*options, *map(str, paths)])
    assert (output, problems) == ("", "")
