"""Parsed expressions, cached by their text, after all checks for which the text is enough.

The order of the checks is the service's: size and syntax over the whole text, then limits, redundant
parentheses, function names, reserved words. What needs the names and values of a request is checked in
`conditions`, `updates` and `projections`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from torusdb.expressions.parser import CONDITION_KEYWORDS, SECTIONS, Parser
from torusdb.expressions.refusal import EMPTY, Refusal, TooLong
from torusdb.expressions.reserved import is_reserved
from torusdb.expressions.tree import (
    Action,
    Alias,
    And,
    Between,
    Call,
    Compare,
    Condition,
    In,
    Node,
    Not,
    Or,
    Path,
    Placeholder,
    children,
    walk,
)

EXPRESSION_BYTES_MAX: Final = 4096
OPERATORS_MAX: Final = 300
"""Of all kinds, AND, OR, NOT and functions included (seen: 240 comparisons at most fit into 4,096 bytes,
and are refused for their operators)."""
IN_OPERANDS_MAX: Final = 100
PATH_PARTS_MAX: Final = 32
LIST_INDEX_MAX: Final = 2**32 - 2
"""4294967294 is taken, 4294967295 is not (measured by others in 2026)."""
PARSED_CACHE_ENTRIES_MAX: Final = 2048

CONDITION_FUNCTIONS: Final = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
}
UPDATE_FUNCTIONS: Final = {"if_not_exists": 2, "list_append": 2}


@dataclass(frozen=True, slots=True)
class References:
    """What an expression takes from its request, each once, in the order of the text."""

    aliases: tuple[str, ...]
    placeholders: tuple[str, ...]

    @staticmethod
    def of(nodes: Iterable[Node]) -> References:
        aliases: dict[str, None] = {}
        placeholders: dict[str, None] = {}
        for node in nodes:
            if isinstance(node, Placeholder):
                placeholders[node.name] = None
            elif isinstance(node, Path):
                aliases.update((part.name, None) for part in node.parts if isinstance(part, Alias))
        return References(tuple(aliases), tuple(placeholders))


@dataclass(frozen=True, slots=True)
class ParsedCondition:
    root: Condition
    leaves: tuple[tuple[Node, ...], ...]
    """The nodes of each comparison or function that stands as a condition, the leaf itself last."""
    references: References


@dataclass(frozen=True, slots=True)
class ParsedUpdate:
    actions: tuple[Action, ...]
    nodes: tuple[Node, ...]
    references: References


@dataclass(frozen=True, slots=True)
class ParsedProjection:
    paths: tuple[Path, ...]
    references: References


@lru_cache(PARSED_CACHE_ENTRIES_MAX)
def parse_condition(text: str) -> ParsedCondition:
    _check_size(text)
    parser = Parser(text, CONDITION_KEYWORDS)
    root = parser.condition()
    nodes = walk(root)
    _check_limits(parser, nodes)
    if parser.has_redundant_parentheses:
        raise Refusal("The expression has redundant parentheses;")
    _check_functions(nodes, CONDITION_FUNCTIONS)
    _check_misused_functions([*nodes, And((root,))])
    _check_reserved(nodes)
    leaves = tuple(tuple(walk(leaf)) for leaf in leaves_of(root))
    return ParsedCondition(root, leaves, References.of(nodes))


@lru_cache(PARSED_CACHE_ENTRIES_MAX)
def parse_update(text: str) -> ParsedUpdate:
    _check_size(text)
    parser = Parser(text, SECTIONS)
    sections = parser.update()
    actions = tuple(action for _, actions in sections for action in actions)
    nodes = tuple(node for action in actions for node in walk(action))
    _check_limits(parser, nodes)
    _check_reserved(nodes)
    _check_functions(nodes, UPDATE_FUNCTIONS)
    seen = set()
    for section, _ in sections:
        if section in seen:
            raise Refusal(f'The "{section}" section can only be used once in an update expression;')
        seen.add(section)
    return ParsedUpdate(actions, nodes, References.of(nodes))


@lru_cache(PARSED_CACHE_ENTRIES_MAX)
def parse_projection(text: str) -> ParsedProjection:
    _check_size(text)
    parser = Parser(text)
    paths = parser.projection()
    _check_limits(parser, paths)
    _check_reserved(paths)
    return ParsedProjection(tuple(paths), References.of(paths))


def leaves_of(root: Condition) -> list[Node]:
    """The comparisons and functions that AND, OR and NOT join, in the order of the text."""
    found: list[Node] = []
    pending: list[Node] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, And | Or | Not):
            pending.extend(reversed(children(node)))
        else:
            found.append(node)
    return found


def _check_size(text: str) -> None:
    if not text:
        raise Refusal(EMPTY)
    size = len(text) if text.isascii() else len(text.encode())
    if size > EXPRESSION_BYTES_MAX:
        raise TooLong(size)


def _check_limits(parser: Parser, nodes: Iterable[Node]) -> None:
    if parser.operators > OPERATORS_MAX:
        # The service counts no further (seen: 301 for an expression of more than 400).
        raise Refusal(f"The expression contains too many operators; operator count: {OPERATORS_MAX + 1}")
    for node in nodes:
        if isinstance(node, In) and len(node.choices) > IN_OPERANDS_MAX:
            raise Refusal(
                f"The IN operator is provided with too many operands; number of operands: {len(node.choices)}"
            )
        if isinstance(node, Path):
            _check_path(node)


def _check_path(path: Path) -> None:
    if len(path.parts) > PATH_PARTS_MAX:
        raise Refusal(f"The document path has too many nesting elements; nesting elements: {len(path.parts)}")
    for part in path.parts:
        if isinstance(part, int) and part > LIST_INDEX_MAX:
            raise Refusal(f"List index is not within the allowable range; index: [{part}]")


def _check_functions(nodes: Iterable[Node], known: dict[str, int]) -> None:
    for node in nodes:
        if isinstance(node, Call) and node.function not in known:
            raise Refusal(f"Invalid function name; function: {node.function}")


def _check_misused_functions(nodes: Iterable[Node]) -> None:
    """Only `size` gives a value, and it alone is no condition."""
    for node in nodes:
        is_logical = isinstance(node, And | Or | Not)
        if not (is_logical or isinstance(node, Compare | Between | In | Call)):
            continue
        for child in children(node):
            if isinstance(child, Call) and (child.function == "size") == is_logical:
                raise Refusal(
                    f"The function is not allowed to be used this way in an expression; function: {child.function}"
                )


def _check_reserved(nodes: Iterable[Node]) -> None:
    for node in nodes:
        if isinstance(node, Path):
            for part in node.parts:
                if isinstance(part, str) and is_reserved(part):
                    raise Refusal(f"Attribute name is a reserved keyword; reserved keyword: {part}")
