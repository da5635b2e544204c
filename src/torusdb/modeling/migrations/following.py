"""Keeps the target current: a consumer of the source's stream that brings over every item that has changed."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from torusdb.modeling.migrations.driving import Driver
from torusdb.modeling.migrations.errors import ItemRefused, MigrationError
from torusdb.modeling.migrations.ledgers import follow_work
from torusdb.modeling.migrations.migration import Migration
from torusdb.modeling.migrations.progress import Progress, key_of_text, key_text
from torusdb.modeling.migrations.scanning import Recorder

RECORDS_KEPT_SECONDS: Final = 24 * 3600.0
"""By the service."""
RECORDS_SAFE_SECONDS: Final = RECORDS_KEPT_SECONDS - 3600.0


def leases_of(migration: Migration) -> str:
    return f"{migration.target.name}-leases"


class Follower:
    """`lag_seconds`: how old the record was that was handled last, 0 when there was none to handle."""

    def __init__(self, migration: Migration, stream_arn: str, driver: Driver, recorder: Recorder) -> None:
        from torusdb.streams import Consumer

        means = driver.means
        self._migration = migration
        self._driver = driver
        self._recorder = recorder
        self.lag_seconds = 0.0
        self._consumer = Consumer(
            stream_arn,
            self._handle,
            dynamodb=means.client,
            streams=means.streams,
            lease_table=leases_of(migration),
            handler_attempts_max=1,
            on_lost=self._lost,
            now=means.now,
            sleep=means.wait,
        )

    def step(self) -> bool:
        """Whether there was anything to do. Raises MigrationError where records are lost."""
        self._driver.means.check()
        from torusdb.streams import HandlerFailed

        try:
            busy = self._consumer.step()
        except HandlerFailed as failed:
            raise failed.__cause__ or failed from None
        self._recorder.progress.followed_at = self._driver.means.wall()
        if not busy:
            self.lag_seconds = 0.0
        return busy

    def follow_until_quiet(self, seconds: float) -> None:
        """Until there has been nothing to do for so long."""
        means = self._driver.means
        since = means.now()
        while means.now() - since < seconds:
            if self.step():
                since = means.now()
            else:
                means.wait(min(1.0, seconds))
            self._recorder.keep_if_due()

    def retry_refused(self) -> None:
        """Of the items that were refused, those whose reason has gone by now."""
        for text in list(self._recorder.progress.errors):
            self._bring(key_of_text(text))
        self._recorder.keep()

    def close(self) -> None:
        self._consumer.close()

    def _handle(self, shard_id: str, records: list[dict[str, Any]]) -> None:
        keys = {key_text(record["dynamodb"]["Keys"]): record["dynamodb"]["Keys"] for record in records}
        told = [self._bring(key) for key in keys.values()]
        created = records[-1]["dynamodb"].get("ApproximateCreationDateTime")
        if isinstance(created, datetime):
            self.lag_seconds = max(0.0, self._driver.means.wall() - created.timestamp())
        self._recorder.progress.counts["followed"] += len(keys)
        if any(told):
            # Before the consumer's checkpoint: a refused item is known, whatever happens.
            self._recorder.keep()

    def _bring(self, key: dict[str, Any]) -> bool:
        """Whether the errors are others now."""
        text = key_text(key)
        try:
            self._driver.run(follow_work(self._migration, key))
        except ItemRefused as error:
            self._recorder.add_errors({text: str(error)})
            return True
        return self._recorder.clear_error(text)

    def _lost(self, shard_id: str, checkpoint: str) -> None:
        raise lost(self._migration)


def lost(migration: Migration) -> MigrationError:
    names = ", ".join([migration.target.name, f"{migration.target.name}-ledger", leases_of(migration)])
    return MigrationError(
        "Records of the stream are gone that were not handled within their 24 hours, so that the target cannot be made "
        f"current: remove the tables {names} and the state, and begin again"
    )


def check_records_are_there(progress: Progress, migration: Migration, wall: float) -> None:
    if progress.followed_at is not None and wall - progress.followed_at > RECORDS_SAFE_SECONDS:
        raise lost(migration)
