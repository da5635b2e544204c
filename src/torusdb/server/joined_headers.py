"""Repeated headers, as one."""

from __future__ import annotations


class JoinedHeaders(dict[bytes, bytes]):
    """Headers by lower-case name, the values of a repeated one joined with commas (RFC 9110 5.3), as they are signed. A
    frame for each header: for servers that verify signatures only."""

    def __setitem__(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        before = self.get(name)
        super().__setitem__(name, value if before is None else b"%b,%b" % (before, value))
