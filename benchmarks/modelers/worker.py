"""Runs the works of one library on request: `python worker.py MODULE ENDPOINT`.

A line of input names a work; the answer is a line: microseconds of an operation as the clock has them, and as the
processor does, in this process."""

import importlib
import sys
from time import perf_counter, process_time

SECONDS_PER_FIGURE = 0.3


def main(module: str, endpoint: str) -> None:
    works = importlib.import_module(module).works(endpoint)
    for work in works.values():
        work()
    print("ready", flush=True)
    for line in sys.stdin:
        work = works[line.strip()]
        count, start, used = 0, perf_counter(), process_time()
        while perf_counter() - start < SECONDS_PER_FIGURE:
            work()
            count += 1
        taken, worked = perf_counter() - start, process_time() - used
        print(taken / count * 1e6, worked / count * 1e6, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
