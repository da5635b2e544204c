"""The web front on a port of its own, and its pages as a test reads them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from threading import Thread

import httpx

from order_entry.system import System
from order_entry.web.app import create_app
from order_entry.web.follower import Follower
from order_entry.web.serving import address, listen, server_of

OPTIONS = ("-X", "-H", "-d")
VOID = {"input", "link", "meta"}
"""Elements without an end."""


@contextmanager
def front(system: System, follower: Follower | None = None) -> Iterator[httpx.Client]:
    listening = listen("127.0.0.1", 0)
    server = server_of(create_app(system, follower))
    thread = Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        with httpx.Client(base_url=address(listening), trust_env=False, timeout=30) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


class Page(HTMLParser):
    """`tables`: rows of cells; `texts`: of elements that have an id; `fields`: of forms, with their values; `links`,
    `elements`: where they lead, and which there are."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.texts: dict[str, str] = {}
        self.fields: list[tuple[str, str]] = []
        self.links: list[str] = []
        self.elements: list[str] = []
        self.text = ""
        self._open: list[tuple[str, str | None]] = []
        self._select = ""
        self._is_selected = False
        self.feed(html)
        self.close()
        assert self._open == [], f"not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.elements.append(tag)
        if tag in {"a", "link"}:
            self.links.append(given["href"] or "")
        if tag == "input":
            self.fields.append((given["name"] or "", given["value"] or ""))
        if tag == "select":
            self._select = given["name"] or ""
        self._is_selected = tag == "option" and "selected" in given
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in {"td", "th"}:
            self.tables[-1][-1].append("")
        if tag not in VOID:
            identity = given.get("id")
            if identity is not None:
                assert identity not in self.texts, f"the id {identity} is there twice"
                self.texts[identity] = ""
            self._open.append((tag, identity))

    def handle_endtag(self, tag: str) -> None:
        opened, _ = self._open.pop()
        assert opened == tag, f"<{opened}> is closed by </{tag}>"

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._is_selected:
            self.fields.append((self._select, data))
            self._is_selected = False
        for tag, identity in self._open:
            if tag in {"td", "th"} and self.tables:
                self.tables[-1][-1][-1] += data
            if identity is not None:
                self.texts[identity] += data

    def values(self, name: str) -> list[str]:
        return [value for field, value in self.fields if field == name]


def page(response: httpx.Response) -> Page:
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    found = Page(response.text)
    assert "script" not in found.elements
    assert not any(link.startswith(("http", "//")) for link in found.links), "works without a network"
    return found


def curl(client: httpx.Client, command: str) -> httpx.Response:
    """What a command to copy would do; `client` says where, whatever address is in it."""
    words = shlex.split(command)[1:]
    given = {option: [words[place + 1] for place, word in enumerate(words) if word == option] for option in OPTIONS}
    (address_,) = (word for word in words if word.startswith("http"))
    body = "".join(given["-d"]) or None
    method = "".join(given["-X"]) or ("POST" if body else "GET")
    headers = dict(header.split(": ") for header in given["-H"])
    return client.request(method, httpx.URL(address_).raw_path.decode(), content=body, headers=headers)
