"""Kills whoever makes a certain call: before it has any effect, or before its answer arrives."""

from __future__ import annotations

from typing import Literal

When = Literal["before", "after"]


class Killed(BaseException):
    """Nothing is cleaned up: whatever is called afterwards, on the way out, is killed as well."""


class Reaper:
    def __init__(self, at: int, when: When) -> None:
        self.calls = 0
        self.is_dead = False
        self._at = at
        self._when = when

    def before(self, operation: str) -> None:
        self._die_if(self.is_dead)
        self.calls += 1
        self._die_if(self._when == "before" and self.calls == self._at)

    def after(self, operation: str) -> None:
        self._die_if(self._when == "after" and self.calls == self._at)

    def _die_if(self, now: bool) -> None:
        if now:
            self.is_dead = True
            raise Killed
