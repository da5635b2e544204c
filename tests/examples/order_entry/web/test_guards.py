"""Who may send what, and what browsers are told."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from order_entry.system import System
from order_entry.web.app import create_app
from order_entry.web.guards import BODY_BYTES_MAX
from tests.examples.order_entry.business import contents
from tests.examples.order_entry.web.front import page

GOODS = {"warehouse": "W1", "product": "P1", "quantity": "1"}

OTHER_SITES = {
    "another origin": {"Origin": "https://evil.example"},
    "another port": {"Origin": "http://127.0.0.1:1"},
    "no origin to speak of": {"Origin": "null"},
    "another site": {"Sec-Fetch-Site": "cross-site"},
    "a site beside": {"Sec-Fetch-Site": "same-site"},
}


@pytest.mark.parametrize("headers", OTHER_SITES.values(), ids=OTHER_SITES)
def test_what_a_page_of_another_site_sends_is_refused(
    system: System, client: httpx.Client, headers: dict[str, str]
) -> None:
    before = contents(system.store)
    form = client.post("/changes/receive-goods", data=GOODS, headers=headers)
    assert (form.status_code, "a page of another site" in form.text) == (403, True)
    rest = client.post("/api/goods-receipts", json=GOODS, headers=headers)
    assert (rest.status_code, rest.json()["status"]) == (403, 403)
    assert contents(system.store) == before


def test_pages_of_this_site_and_programs_may_send(client: httpx.Client) -> None:
    own = str(client.base_url).rstrip("/")
    for headers in ({}, {"Origin": own, "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        assert client.post("/changes/receive-goods", data=GOODS, headers=headers).status_code == 303


def test_other_sites_may_lead_here(client: httpx.Client) -> None:
    assert client.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200


def test_a_name_that_is_not_this_servers_is_refused(client: httpx.Client, system: System) -> None:
    """Or a page whose own name points at this address could do all."""
    port = client.base_url.port
    for host in ("evil.example", f"evil.example:{port}", "", f"127.0.0.1.evil.example:{port}", "127.0.0.1:x"):
        assert client.get("/", headers={"Host": host}).status_code == 421, host
    for host in (f"localhost:{port}", "localhost", f"[::1]:{port}"):
        assert client.get("/", headers={"Host": host}).status_code == 200, host


def test_names_can_be_given_or_any_taken(system: System) -> None:
    for names, status in ((["shop.example"], 200), (["*"], 200), (["other.example"], 421)):
        app = create_app(system, names=names)
        assert answered(app, "http://shop.example/health") == status


def answered(app: object, url: str) -> int:
    import asyncio

    async def ask() -> int:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app)) as client:  # type: ignore[arg-type]
            return (await client.get(url)).status_code

    return asyncio.run(ask())


@pytest.mark.parametrize("path", ["/place-order", "/api/orders"])
def test_a_body_has_an_end(system: System, client: httpx.Client, path: str) -> None:
    before = contents(system.store)
    body = b"x" * (BODY_BYTES_MAX + 1)

    def in_pieces() -> Iterator[bytes]:
        """Without a Content-Length."""
        yield from (body[:1000], body[1000:])

    for content in (body, in_pieces()):
        assert client.post(path, content=content).status_code == 413
    assert client.post(path, content=body[1:]).status_code in {415, 422}
    assert contents(system.store) == before


def test_browsers_are_told_to_load_nothing_else(reader: httpx.Client) -> None:
    for path in ("/", "/api", "/nothing", "/style.css"):
        headers = reader.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'self';")
        assert headers["x-content-type-options"] == "nosniff"


def test_the_style_is_there(reader: httpx.Client) -> None:
    (style,) = (link for link in page(reader.get("/")).links if link.endswith(".css"))
    found = reader.get(style)
    assert found.headers["content-type"].startswith("text/css")
    assert "prefers-color-scheme: dark" in found.text
