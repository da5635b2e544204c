from tests.jobs.by_hand import hand

__all__ = ["hand"]
