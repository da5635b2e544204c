"""Keeps the target current: a consumer of the source's stream that brings over every item that has changed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from torusdb.modeling.migrations.driving import Driver
from torusdb.modeling.migrations.errors import ItemRefused, MigrationError
from torusdb.modeling.migrations.ledgers import follow_work, leases_of, ledger_of
from torusdb.modeling.migrations.migration import Migration
from torusdb.modeling.migrations.progress import Progress, key_of_text, key_text
from torusdb.modeling.migrations.scanning import Recorder

RECORDS_KEPT_SECONDS: Final = 24 * 3600.0
"""By the service."""
QUIET_WAIT_SECONDS: Final = 300.0
"""How long a table may take to become quiet whose stream has been caught up with."""
RECORDS_SAFE_SECONDS: Final = RECORDS_KEPT_SECONDS - 3600.0


class Follower:
    """`lag_seconds`: how old the records were that were handled last, 0 when there were none to handle."""

    def __init__(self, migration: Migration, stream_arn: str, driver: Driver, recorder: Recorder) -> None:
        from torusdb.streams import Consumer, LeaseTable

        means = driver.means
        self._migration = migration
        self._driver = driver
        self._recorder = recorder
        self.lag_seconds = 0.0
        self._records = self._own_records = 0
        """Of the last step; the latter of a state that is kept in the source."""
        self._leases = LeaseTable(means.client, leases_of(migration), stream_arn, means.wait)
        self._leases.ensure()
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
        """Whether there was anything to do. That the run keeps its state is nothing, or it would never become quiet.
        Raises MigrationError where records are lost."""
        from torusdb.streams import HandlerFailed

        self.lag_seconds, self._records, self._own_records = 0.0, 0, 0
        try:
            busy = self._consumer.step()
        except HandlerFailed as failed:
            raise failed.__cause__ or failed from None
        self._recorder.progress.followed_at = self._driver.means.wall()
        return busy and not (self._own_records and not self._records)

    def follow_until_current(self, seconds: float) -> None:
        """Until what is handled is no older than this, or there has been nothing to do for so long: a source that is
        always written to is never quiet."""
        self._follow(seconds, lambda: self.lag_seconds <= seconds)

    def follow_until_quiet(self, seconds: float) -> None:
        """Until there has been nothing to do for so long. Raises MigrationError where it doesn't come to that."""
        until = self._driver.means.now() + QUIET_WAIT_SECONDS

        def give_up() -> bool:
            if self._driver.means.now() > until and self.lag_seconds <= seconds:
                raise MigrationError(
                    f"The table {self._migration.source.name} is still being written to: stop the programs that do so, "
                    "and switch then"
                )
            return False

        self._follow(seconds, give_up)

    def _follow(self, seconds: float, is_enough: Callable[[], bool]) -> None:
        means = self._driver.means
        since, others = means.now(), self._counters()
        while True:
            if self.step():
                since = means.now()
                if self._records and is_enough():
                    return
            elif means.now() - since >= seconds:
                if self._has_all(others):
                    return
                since = means.now()  # somebody has died with a part of the stream: it is taken when its lease is over
                is_enough()
            else:
                means.wait(min(1.0, seconds))
            self._recorder.keep_if_due()

    def _counters(self) -> dict[str, int]:
        """Of the leases that others have, which they move as long as they live."""
        mine = self._consumer.shards
        leases = self._leases.all().values()
        return {each.shard_id: each.counter for each in leases if not each.is_finished and each.shard_id not in mine}

    def _has_all(self, before: dict[str, int]) -> bool:
        """Whether every part of the stream is read, by this run or by one that is alive."""
        return all(shard_id in before and counter != before[shard_id] for shard_id, counter in self._counters().items())

    def retry_refused(self) -> None:
        """Of the items that were refused, those whose reason has gone by now."""
        for text in list(self._recorder.progress.errors):
            self._bring(key_of_text(text))
        self._recorder.keep()

    def close(self) -> None:
        self._consumer.close()

    def _handle(self, shard_id: str, records: list[dict[str, Any]]) -> None:
        source, is_own = self._migration.source.name, self._recorder.state.is_own
        everything = [record["dynamodb"]["Keys"] for record in records]
        changed = [key for key in everything if not is_own(source, key)]
        keys = {key_text(key): key for key in changed}
        told = [self._bring(key) for key in keys.values()]
        created = records[-1]["dynamodb"].get("ApproximateCreationDateTime")
        if created is not None:  # boto3 gives a time, others may give what is on the wire
            seconds = created.timestamp() if isinstance(created, datetime) else float(created)
            self.lag_seconds = max(self.lag_seconds, self._driver.means.wall() - seconds)
        self._records += len(changed)
        self._own_records += len(records) - len(changed)
        self._recorder.followed(len(keys))
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
    names = ", ".join([migration.target.name, ledger_of(migration).name, leases_of(migration)])
    return MigrationError(
        "Records of the stream are gone that were not handled within their 24 hours, so that the target cannot be made "
        f"current: remove the tables {names} and the state, and begin again"
    )


def check_records_are_there(progress: Progress, migration: Migration, wall: float) -> None:
    if progress.followed_at is not None and wall - progress.followed_at > RECORDS_SAFE_SECONDS:
        raise lost(migration)
