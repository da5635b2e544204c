from tests.jobs.by_hand import hand
from tests.jobs.expiring import short_steps, things

__all__ = ["hand", "short_steps", "things"]
