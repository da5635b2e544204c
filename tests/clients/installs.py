"""Where clients other than boto3 are installed: a cache of the user's, outside the tree, one directory for each set of
pinned versions. What cannot be installed here is a reason to skip, in the installer's own words."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

INSTALL_SECONDS_MAX = 600.0
SCENARIOS = Path(__file__).parent / "scenarios"


def cache() -> Path:
    named = os.environ.get("TORUSDB_TEST_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "torusdb-tests"


def command(name: str) -> str:
    """The path of a program, or the test is skipped."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not on this machine")
    return found


def python_with(*requirements: str) -> Path:
    """A Python that has these packages, and nothing of ours."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    place = _place("python", version, *requirements)
    if not _is_whole(place):
        _run([sys.executable, "-m", "venv", "--clear", str(place)])
        _run([str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", *requirements])
        _mark_whole(place)
    return place / "bin" / "python"


def javascript(scenario: Path) -> Path:
    """The scenario's script beside its packages, since that is where Node.js looks for them."""
    npm = command("npm")
    manifest = scenario / "package.json"
    place = _place("javascript", manifest.read_text())
    if not _is_whole(place):
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(manifest, place)
        _run([npm, "install", "--no-audit", "--no-fund", "--ignore-scripts"], place)
        _mark_whole(place)
    return Path(shutil.copy(scenario / "scenario.js", place))


def go(scenario: Path) -> Path:
    """The scenario as a program."""
    compiler = command("go")
    sources = sorted(path for path in scenario.iterdir() if path.suffix in {".go", ".mod", ".sum"})
    place = _place("go", *(path.read_text() for path in sources))
    if not _is_whole(place):
        place.mkdir(parents=True, exist_ok=True)
        for path in sources:
            shutil.copy(path, place)
        _run([compiler, "mod", "download"], place)
        _build([compiler, "build", "-o", "scenario", "."], place)
        _mark_whole(place)
    return place / "scenario"


def _place(kind: str, *contents: str) -> Path:
    return cache() / f"{kind}-{sha256(chr(0).join(contents).encode()).hexdigest()[:16]}"


def _is_whole(place: Path) -> bool:
    return (place / "installed").exists()


def _mark_whole(place: Path) -> None:
    (place / "installed").touch()


def _run(arguments: list[str], directory: Path | None = None) -> None:
    """Runs an installer; the test is skipped if it fails, as it does without a package registry."""
    ended = _ended(arguments, directory)
    if ended.returncode:
        words = (ended.stderr.strip() or ended.stdout.strip()).splitlines()[-3:]
        pytest.skip(f"cannot install: {Path(arguments[0]).name} says: {' '.join(words)}")


def _build(arguments: list[str], directory: Path) -> None:
    """Runs a compiler on our own source: that it fails is a failure."""
    ended = _ended(arguments, directory)
    assert ended.returncode == 0, ended.stderr


def _ended(arguments: list[str], directory: Path | None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments, cwd=directory, capture_output=True, text=True, timeout=INSTALL_SECONDS_MAX, check=False
    )
