"""Charts of a design: its access patterns, the table and its indexes as they will look, and how entities are related;
in a terminal, as Markdown, and as a page of HTML.

One way for data to flow: a design and its samples become a `Content`, which has everything that is shown, as texts;
each form lays it out. What is not printable is told as such in all of them, and text is never taken for markup."""

from torusdb.modeling.design.charts.checking import Check, check

__all__ = ["Check", "check"]
