from tests.jobs.by_hand import hand, things

__all__ = ["hand", "things"]
