"""The same three works with each library that makes objects of items: a module each, run in a process of its own.

Each module has `works(endpoint)`: functions that put an order, get it, and query a hundred into objects. They are run
by `worker.py`, in the library's own virtual environment, so none may import anything of the benchmarks but `order`."""
