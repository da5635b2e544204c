"""Gets the peers, each into a directory of its own under the user's cache: nothing lands in the git tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

INSTALL_TIMEOUT_S = 600
DYNALITE = "4.0.0"
DYNOXIDE = "1.2.1"
MOTO = "5.2.5"
DYNAMODB_LOCAL = "2.6.1"
"""The last on Maven Central. It needs Java 17."""


class PeerMissingError(Exception):
    """A peer cannot be had here; the text says why."""


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    directory = Path(base) / "torusdb-benchmarks"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def npm_package(package: str, version: str, file: str) -> Path:
    """The path of `file` of an installed npm package."""
    place = cache_directory() / f"npm-{package.replace('/', '-').lstrip('@')}-{version}"
    path = place / "node_modules" / package / file
    if not path.exists():
        _require("npm", "npm is not installed")
        place.mkdir(exist_ok=True)
        _run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(place), f"{package}@{version}"])
    if not path.exists():
        raise PeerMissingError(f"{package}@{version} has no {file}")
    return path


def moto_server() -> Path:
    place = cache_directory() / f"moto-{MOTO}"
    path = place / "bin" / "moto_server"
    if not path.exists():
        _run([sys.executable, "-m", "venv", "--clear", str(place)])
        _run([str(place / "bin" / "pip"), "install", "--quiet", f"moto[server,dynamodb]=={MOTO}"])
    return path


def library(requirement: str) -> Path:
    """The Python of a virtual environment that has a library, such as "pynamodb==6.1.0"."""
    place = cache_directory() / requirement.replace("==", "-")
    python = place / "bin" / "python"
    done = place / "installed"
    if not done.exists():
        _run([sys.executable, "-m", "venv", "--clear", str(place)])
        _run([str(python), "-m", "pip", "install", "--quiet", requirement])
        done.touch()
    return python


def node() -> str:
    return _require("node", "node is not installed")


def dynamodb_local() -> tuple[Path, str]:
    """The jar of DynamoDB Local and the version of it, from DYNAMODB_LOCAL_JAR or `benchmarks install`."""
    _require("java", "java is not installed")
    given = os.environ.get("DYNAMODB_LOCAL_JAR")
    if given:
        if not Path(given).is_file():
            raise PeerMissingError(f"DYNAMODB_LOCAL_JAR names no file: {given}")
        return Path(given), "of DYNAMODB_LOCAL_JAR"
    jar = _dynamodb_local_place() / f"DynamoDBLocal-{DYNAMODB_LOCAL}.jar"
    if not jar.exists():
        raise PeerMissingError("no jar: set DYNAMODB_LOCAL_JAR, or run `python -m benchmarks install --dynamodb-local`")
    return jar, DYNAMODB_LOCAL


def install_dynamodb_local() -> Path:
    """From Maven Central. Only on request: its licence is the user's to accept."""
    _require("java", "java is not installed")
    maven = _require("mvn", "Maven (mvn) is not installed")
    place = _dynamodb_local_place()
    jar = place / f"DynamoDBLocal-{DYNAMODB_LOCAL}.jar"
    if not jar.exists():
        project = cache_directory() / "dynamodb-local.xml"
        project.write_text(_POM)
        copy = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={place}"]
        _run([maven, "-q", "-B", f"-f={project}", *copy])
    return jar


def _dynamodb_local_place() -> Path:
    return cache_directory() / f"dynamodb-local-{DYNAMODB_LOCAL}"


_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>benchmarks</groupId><artifactId>benchmarks</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>com.amazonaws</groupId><artifactId>DynamoDBLocal</artifactId><version>{DYNAMODB_LOCAL}</version>
  </dependency></dependencies>
</project>
"""


def _require(program: str, reason: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise PeerMissingError(reason)
    return found


def _run(command: list[str]) -> None:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerMissingError(f"{command[0]}: {error}") from error
    if ran.returncode:
        raise PeerMissingError(f"{' '.join(command[:3])} failed: {(ran.stderr or ran.stdout).strip()[-300:]}")
