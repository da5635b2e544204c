"""PartiQL, as the service speaks it.

    text ── lexer, tokens ──▶ parser, terms ──▶ Statement (cached by its text)
                                                   │  bind
    Parameters ────────────────────────────────────┤
                                                   ▼
                       values ──▶ Where.condition, Update.change: the objects of `expressions`
                              ──▶ Branches: what the clause says of keys

How a statement is carried out is for `operations.partiql`. Every refusal is a `ValidationException`.
"""

from torusdb.partiql.branches import Branch, Branches, KeyTest, equalities
from torusdb.partiql.columns import Columns
from torusdb.partiql.parser import parse
from torusdb.partiql.statements import (
    Command,
    Delete,
    Exists,
    Insert,
    OrderTerm,
    Returning,
    Select,
    Statement,
    Target,
    Update,
    Values,
    Where,
)

__all__ = [
    "Branch",
    "Branches",
    "Columns",
    "Command",
    "Delete",
    "Exists",
    "Insert",
    "KeyTest",
    "OrderTerm",
    "Returning",
    "Select",
    "Statement",
    "Target",
    "Update",
    "Values",
    "Where",
    "equalities",
    "parse",
]
