"""The scan of a segment: page by page, item by item, and what came of it written down behind each page."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

from torusdb.modeling.cursors import END
from torusdb.modeling.migrations.conversion import key_of
from torusdb.modeling.migrations.driving import Means
from torusdb.modeling.migrations.errors import ItemRefused, MigrationError
from torusdb.modeling.migrations.pacing import Pacer
from torusdb.modeling.migrations.progress import ERROR_TEXT_MAX, ERRORS_MAX, Progress, key_text
from torusdb.modeling.migrations.retries import patiently
from torusdb.modeling.migrations.states import State
from torusdb.modeling.scalars import Item
from torusdb.modeling.steps import Request, Work
from torusdb.modeling.table import Table

Apply: TypeAlias = Callable[[Item], Work[str]]
"""Does what is to be done with an item, and says what that was."""
Watch: TypeAlias = Callable[[Progress], Any]
OnError: TypeAlias = Literal["stop", "report"]

PAGE_ITEMS: Final = 100
"""What is read again, at most, of each segment of a run that was cut off."""
KEEP_SECONDS: Final = 10.0
"""The state is kept at least so often, whatever a page takes: see TableState."""


class Recorder:
    """Progress that several workers make, and where it is kept."""

    def __init__(self, progress: Progress, state: State, means: Means, pacer: Pacer, watch: Watch) -> None:
        self.progress = progress
        self.state = state
        self._means = means
        self._pacer = pacer
        self._watch = watch
        self._lock = threading.RLock()
        self._since = self._kept = means.now()
        self._units = (0.0, 0.0)

    def page(self, segment: int, following: Item | None, counts: Counter[str], errors: dict[str, str]) -> None:
        """A page is done, with these results; the next begins behind `following`."""
        with self._lock:
            self.progress.positions[segment] = END if following is None else following
            self.progress.counts.update(counts)
            self.add_errors(errors)
            self.keep()

    def add_errors(self, errors: dict[str, str]) -> None:
        with self._lock:
            self.progress.errors.update({key: message[:ERROR_TEXT_MAX] for key, message in errors.items()})
            if len(self.progress.errors) > ERRORS_MAX:
                self.keep()
                raise MigrationError(
                    f"More than {ERRORS_MAX} items were refused: mend the conversion, and go on. The first was "
                    + ": ".join(next(iter(self.progress.errors.items())))
                )

    def followed(self, count: int) -> None:
        with self._lock:
            self.progress.counts["followed"] += count

    def clear_error(self, key: str) -> bool:
        with self._lock:
            return self.progress.errors.pop(key, None) is not None

    def keep(self) -> None:
        with self._lock:
            now, used = self._means.now(), (self._pacer.reads.used, self._pacer.writes.used)
            self.progress.seconds += now - self._since
            self.progress.read_units += used[0] - self._units[0]
            self.progress.write_units += used[1] - self._units[1]
            self._since, self._units, self._kept = now, used, now
            self.state.keep(self.progress.to_json())
            self._watch(self.progress)

    def keep_if_due(self) -> None:
        if self._means.now() - self._kept >= KEEP_SECONDS:
            self.keep()


def segment_work(
    table: Table, segment: int, recorder: Recorder, apply: Apply, *, consistent: bool, on_error: OnError
) -> Work[None]:
    progress = recorder.progress
    while (position := progress.positions[segment]) is not END:
        request = scan_request(table, segment, progress.segments, consistent=consistent)
        if not isinstance(position, bool):
            request.parameters["ExclusiveStartKey"] = position
        page = yield from patiently(request)
        counts: Counter[str] = Counter()
        errors: dict[str, str] = {}
        for item in page["Items"]:
            if recorder.state.is_own(table.name, item):
                continue
            counts["read"] += 1
            try:
                counts[(yield from apply(item))] += 1
            except ItemRefused as error:
                key = key_text(key_of(table, item))
                if on_error == "stop":
                    raise MigrationError(f"The item {key} was refused, and all are to stop at that: {error}") from error
                counts["refused"] += 1
                errors[key] = str(error)
            recorder.keep_if_due()
        recorder.page(segment, page.get("LastEvaluatedKey"), counts, errors)


def scan_request(table: Table, segment: int, segments: int, *, consistent: bool) -> Request:
    parameters: dict[str, Any] = {"TableName": table.name, "Limit": PAGE_ITEMS}
    if segments > 1:
        parameters |= {"Segment": segment, "TotalSegments": segments}
    if consistent:
        parameters["ConsistentRead"] = True
    return Request("scan", parameters)
