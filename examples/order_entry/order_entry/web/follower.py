"""The ranking's consumer, in a thread beside the web front."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from torusdb.streams import Consumer

log = logging.getLogger("order_entry")


class Follower:
    """`error`: what has ended it before it was told to end. Pages say so, since the ranking is then behind."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self.error: Exception | None = None
        self.thread = Thread(target=self._run, name="ranking")

    def _run(self) -> None:
        try:
            self._consumer.run()
        except Exception as error:
            log.exception("The ranking is not kept any more")
            self.error = error

    def stop(self) -> None:
        """After the batch that it is at."""
        self._consumer.stop()
        self.thread.join()


@contextmanager
def following(consumer: Consumer) -> Iterator[Follower]:
    follower = Follower(consumer)
    follower.thread.start()
    try:
        yield follower
    finally:
        follower.stop()
