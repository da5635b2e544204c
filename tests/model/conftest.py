"""Properties are tried on the same examples each time, and a slow machine fails none of them."""

from hypothesis import settings

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")
