"""The first lines of answers."""

from __future__ import annotations

import time
from email.utils import formatdate

from torusdb.server.response_heads import http_date


def test_the_date_is_as_the_standard_has_it() -> None:
    for seconds in (0, 951782400, 1763532000, 4102444799):
        assert http_date(time.gmtime(seconds)).decode() == formatdate(seconds, usegmt=True)
