"""What a migration reports. Those of one item are collected, all others end the run."""

from __future__ import annotations

from torusdb.modeling.errors import ModelingError


class MigrationError(ModelingError):
    """A migration that cannot be run as it is asked for, or cannot go on; what to do is in the message."""


class ItemRefused(ModelingError):
    """An item that could not be converted; it is as it was."""


class Stopped(ModelingError):
    """The run was asked to end. It goes on later where it stood."""
