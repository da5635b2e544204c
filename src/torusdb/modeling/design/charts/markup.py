"""HTML that cannot be broken out of: what is put into a tag is text, and escaped, unless a tag made it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final, TypeAlias

from torusdb.modeling.design.charts.content import printable

EMPTY_TAGS: Final = frozenset({"br", "circle", "line", "link", "meta", "path", "rect", "wbr"})


class Markup(str):
    """Markup as it stands."""

    __slots__ = ()


Child: TypeAlias = "str | Iterable[Child] | None"


def markup(*children: Child) -> Markup:
    """All of them, one behind the other."""
    return Markup("".join(_text(child) for child in children))


def tag(name: str, /, *children: Child, **attributes: str | int | float | None) -> Markup:
    """`class_` is class, `aria_label` is aria-label; what is None is left out."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_shown(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in EMPTY_TAGS:
        return Markup(f"<{name}{told}/>")
    return Markup(f"<{name}{told}>{markup(*children)}</{name}>")


def _text(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return escape(_shown(child))
    return "".join(_text(each) for each in child)


def _shown(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
