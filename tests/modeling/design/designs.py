"""Designs for the tests of this folder, made of entities as they stand in a file."""

from __future__ import annotations

import sys
from itertools import count
from types import ModuleType

from torusdb.modeling.design import Design, design_of

_numbers = count()


def design_from(source: str) -> Design:
    """Of Python source, with all names of the kit imported."""
    module = ModuleType(f"design_{next(_numbers)}")
    sys.modules[module.__name__] = module  # where types are looked up
    try:
        exec(f"from torusdb.modeling import *\nfrom torusdb.modeling.design import *\n{source}", module.__dict__)
    finally:
        del sys.modules[module.__name__]
    return design_of(module)
