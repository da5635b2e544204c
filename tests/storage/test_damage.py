"""Damaged files: the damage is told, and never mistaken for an empty or a shorter database."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from torusdb.storage.commands import Commit, Range
from torusdb.storage.embedded import EmbeddedEngine
from torusdb.storage.failures import StorageDamaged, StorageError, StorageFailed

COMMITS = 40
EVERYTHING = Range(b"a", b"z", False, 1 << 40, 1 << 40)


def expected() -> dict[bytes, bytes]:
    return {b"k%03d" % number: bytes([number]) * 5000 for number in range(COMMITS)}


def write_all(engine: EmbeddedEngine) -> None:
    for pair in expected().items():
        with engine.lock:
            ticket = engine.commit(Commit([pair]))
        assert ticket is not None
        ticket.wait()


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A directory that was closed: all is in data files."""
    engine = EmbeddedEngine.open(tmp_path / "data")
    write_all(engine)
    engine.close()
    return tmp_path / "data"


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[Path]:
    """A directory as a killed process leaves it: all is in the log."""
    engine = EmbeddedEngine.open(tmp_path / "running")
    write_all(engine)
    shutil.copytree(tmp_path / "running", tmp_path / "data")
    yield tmp_path / "data"
    engine.close()


def read_all(directory: Path) -> dict[bytes, bytes]:
    engine = EmbeddedEngine.open(directory)
    try:
        with engine.lock:
            page = engine.range(EVERYTHING)
            backwards = engine.range(Range(EVERYTHING.start, EVERYTHING.stop, True, 1 << 40, 1 << 40))
        assert backwards.records == page.records[::-1]
        return dict(page.records)
    finally:
        engine.close()


def newest(directory: Path, pattern: str) -> Path:
    return max((directory / "rocksdb").glob(pattern), key=lambda path: (path.stat().st_size, path.name))


def flip(path: Path, at: float) -> None:
    raw = bytearray(path.read_bytes())
    raw[int(len(raw) * at)] ^= 0xFF
    path.write_bytes(raw)


def test_a_killed_process_leaves_all_it_acknowledged(killed: Path) -> None:
    assert read_all(killed) == expected()


@pytest.mark.parametrize("lost_bytes", [1, 100, 5000])
def test_a_record_cut_short_at_the_end_of_the_log_was_never_acknowledged(killed: Path, lost_bytes: int) -> None:
    log = newest(killed, "*.log")
    log.write_bytes(log.read_bytes()[:-lost_bytes])
    assert read_all(killed) == dict(list(expected().items())[:-1])
    assert read_all(killed) == dict(list(expected().items())[:-1])


@pytest.mark.parametrize("at", [0.1, 0.5, 0.9])
def test_damage_within_the_log_is_told(killed: Path, at: float) -> None:
    flip(newest(killed, "*.log"), at)
    for _ in range(2):  # the first attempt neither mends it nor keeps hold of the directory
        with pytest.raises(StorageDamaged, match=r"is damaged .*; restore the directory from a backup"):
            read_all(killed)


@pytest.mark.parametrize("at", [0.1, 0.5, 0.9])
def test_damage_in_a_data_file_is_told(closed: Path, at: float) -> None:
    flip(newest(closed, "*.sst"), at)
    for _ in range(2):
        with pytest.raises(StorageError, match="restore the directory from a backup"):
            read_all(closed)


@pytest.mark.parametrize("from_end", range(1, 2000, 97))
def test_damage_at_the_end_of_a_data_file_is_told_or_harms_nothing(closed: Path, from_end: int) -> None:
    """There lie statistics that no read needs beside the index that every read needs."""
    file = newest(closed, "*.sst")
    flip(file, 1 - from_end / file.stat().st_size)
    try:
        found = read_all(closed)
    except StorageError as error:
        assert "restore the directory from a backup" in str(error)  # noqa: PT017
    else:
        assert found == expected()


def test_what_lies_beside_the_damage_can_be_read(closed: Path) -> None:
    flip(newest(closed, "*.sst"), 0.5)
    found = {}
    engine = EmbeddedEngine.open(closed)
    try:
        for key in expected():
            try:
                found[key] = engine.get([key])[0]
            except StorageFailed as failure:
                assert "corruption" in str(failure)  # noqa: PT017
    finally:
        engine.close()
    assert found.items() <= expected().items()
    assert 0 < len(found) < COMMITS


def remove_manifest(directory: Path) -> None:
    newest(directory, "MANIFEST-*").unlink()


def damage_manifest(directory: Path) -> None:
    flip(newest(directory, "MANIFEST-*"), 0.5)


def remove_current(directory: Path) -> None:
    (directory / "rocksdb" / "CURRENT").unlink()


def damage_current(directory: Path) -> None:
    (directory / "rocksdb" / "CURRENT").write_bytes(b"\x00" * 16)


def empty_current(directory: Path) -> None:
    (directory / "rocksdb" / "CURRENT").write_bytes(b"")


def remove_data_file(directory: Path) -> None:
    newest(directory, "*.sst").unlink()


def damage_format(directory: Path) -> None:
    (directory / "TORUSDB").write_text("what is this")


def remove_format(directory: Path) -> None:
    (directory / "TORUSDB").unlink()


@pytest.mark.parametrize(
    "damage",
    [
        remove_manifest,
        damage_manifest,
        remove_current,
        damage_current,
        empty_current,
        remove_data_file,
        damage_format,
        remove_format,
    ],
)
def test_a_damaged_directory_is_told_and_left_as_it_is(closed: Path, damage: Callable[[Path], None]) -> None:
    damage(closed)
    data = {path.name: path.read_bytes() for path in (closed / "rocksdb").glob("*.sst")}
    for _ in range(2):
        with pytest.raises(StorageError) as caught:
            EmbeddedEngine.open(closed)
        assert str(closed) in str(caught.value)
    assert data == {path.name: path.read_bytes() for path in (closed / "rocksdb").glob("*.sst")}


def test_a_log_without_current_is_not_a_new_database(killed: Path) -> None:
    remove_current(killed)
    with pytest.raises(StorageDamaged):
        EmbeddedEngine.open(killed)


def test_a_lost_log_is_told(killed: Path) -> None:
    newest(killed, "*.log").unlink()
    with pytest.raises(StorageDamaged):
        EmbeddedEngine.open(killed)
