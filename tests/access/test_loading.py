"""Without --auth nothing of it is loaded: it would be a part of every start."""

from __future__ import annotations

import subprocess
import sys


def test_a_server_without_auth_loads_no_gate() -> None:
    code = (
        "import sys, torusdb.cli.main, torusdb.database, torusdb.server.listen; "
        "print(*sorted(name for name in sys.modules if name.startswith('torusdb.access')))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["torusdb.access", "torusdb.access.credentials"]
