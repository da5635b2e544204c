"""What the benchmark of `--auth` sends is what a gate lets in."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.load import wrk_missing

from benchmarks import signatures
from torusdb.access.gate import Gate


@pytest.mark.parametrize("policy", signatures.POLICIES)
def test_its_requests_are_signed(tmp_path: Path, policy: str) -> None:
    keys = tmp_path / "keys.json"
    signatures.write_keys(keys, signatures.POLICIES[policy])
    headers = {name.lower().encode(): value.encode() for name, value in signatures.signed(b"{}").items()}
    caller = Gate(keys).admit(b"POST", b"/", headers, b"{}")
    assert (caller.access_key, caller.region) == (signatures.ACCESS_KEY, signatures.REGION)
    assert signatures.verify_microseconds(keys, calls=2) > 0


@pytest.mark.slow
def test_a_run_measures_each_server(monkeypatch: pytest.MonkeyPatch) -> None:
    if missing := wrk_missing():
        pytest.skip(missing)
    monkeypatch.setattr(signatures, "ITEMS", 3)
    monkeypatch.setattr(signatures, "CALLS", 2)
    cost = signatures.measure(rounds=1, seconds=1)
    assert set(cost.rates) == {"open", "--auth, full access", "--auth, a condition"}
    assert min(cost.rates.values()) > 0
    assert "verification alone: " in cost.report()
