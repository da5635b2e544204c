from tests.jobs.by_hand import hand, things
from tests.jobs.expiring import expiring_things, short_steps

__all__ = ["expiring_things", "hand", "short_steps", "things"]
