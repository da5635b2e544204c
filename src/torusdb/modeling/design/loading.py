"""Finds the design in a Python file: its tables with their entities and patterns, and what is expected of them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from torusdb.modeling.design.samples import Samples, joined_samples
from torusdb.modeling.design.workload import Workload, joined
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import ModelError, ModelingError
from torusdb.modeling.patterns import Pattern
from torusdb.modeling.table import Table


class Design(NamedTuple):
    """What the tools look at. `name`: of the module that it stands in; `samples`: the objects that its author gives."""

    name: str
    tables: list[Table]
    workload: Workload
    samples: Samples = Samples()


def load_design(source: str | Path) -> Design:
    """The design in a file (`models/shop.py`) or a module (`models.shop`).

    A file that was edited since it was loaded here is loaded anew, as a notebook needs it; what it imports from other
    files stays as it was. Objects of the old design are of the old classes."""
    return design_of(load_module(str(source)))


def design_of(module: ModuleType) -> Design:
    values = list(vars(module).values())
    tables = list(dict.fromkeys(table for value in values if (table := _table_of(value)) is not None))
    if not tables:
        raise ModelError(f"{module.__name__} has no table in it: declare one, as in shop = Table(…), or import it")
    workloads = list({id(value): value for value in values if isinstance(value, Workload)}.values())
    samples = list({id(value): value for value in values if isinstance(value, Samples)}.values())
    return Design(module.__name__, tables, joined(workloads), joined_samples(samples))


def _table_of(value: object) -> Table | None:
    if isinstance(value, Table):
        return value
    if isinstance(value, Pattern):
        table: Table = value.table
        return table
    if isinstance(value, type) and issubclass(value, Entity) and value.__model__ is not None:
        found: Table = value.__model__.table
        return found
    return None


def load_module(source: str) -> ModuleType:
    path = Path(source).resolve() if source.endswith(".py") else None
    if path is not None and not path.is_file():
        raise ModelError(f"There is no file {source}")
    if path is None and ("/" in source or "\\" in source or not all(source.split("."))):
        raise ModelError(f"{source} is neither a Python file (shop.py) nor a module (shop.model): name one of these")
    root, name = _root_and_name(path) if path is not None else (Path.cwd(), source)
    sys.path.insert(0, str(root))
    try:
        return _imported(name, path)
    except ModelingError as error:
        place = _place(error, root)
        if not place:
            raise
        raise ModelError(f"{error}{place}") from error
    except Exception as error:  # whatever the user's own source raises
        raise ModelError(
            f"{source} cannot be imported: {type(error).__name__}: {error}{_place(error, root)}"
        ) from error
    finally:
        sys.path.remove(str(root))


def _imported(name: str, path: Path | None) -> ModuleType:
    """Python knows one module of a name. A file whose name is taken (two of them may be called model.py) is imported
    under its path."""
    taken = sys.modules.get(name)
    if path is None:
        return importlib.import_module(name)
    stamp = path.stat()
    state = (stamp.st_mtime_ns, stamp.st_size)
    edited = _loaded.get(path, state) != state
    _loaded[path] = state
    if taken is not None and getattr(taken, "__file__", None) != str(path):
        return _executed(str(path), path)
    return _executed(name, path) if edited else importlib.import_module(name)


_loaded: dict[Path, tuple[int, int]] = {}
"""When the files that were loaded had been changed, and how large they were."""


def _executed(name: str, path: Path) -> ModuleType:
    """Of the file as it is now, whatever Python has compiled of it."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module  # where annotations are looked up
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))  # noqa: S102 - the user's own source
    except BaseException:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise
    return module


def _root_and_name(path: Path) -> tuple[Path, str]:
    """What has to be on the path, and the name under which it is imported: one in a package is imported as part of it,
    so that its relative imports work."""
    names = [path.stem] if path.stem != "__init__" else []
    folder = path.parent
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(names)


def _place(error: Exception, root: Path) -> str:
    """Where in the user's own files it was raised."""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(root):
            place = f" ({file.relative_to(root)}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return place
