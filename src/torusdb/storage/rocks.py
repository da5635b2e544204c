"""How RocksDB is set up, and what its errors mean in one sentence."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Final

from rocksdict import (
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    DBRecoveryMode,
    Env,
    Options,
    Rdict,
)

from torusdb.storage.directory import disk_full
from torusdb.storage.failures import DirectoryUnusable, StorageDamaged, StorageError, StorageFailed

_log = logging.getLogger("torusdb.storage")

BLOCK_CACHE_BYTES: Final = 128 * 1024 * 1024
BLOCK_BYTES: Final = 16 * 1024
METADATA_BLOCK_BYTES: Final = 4 * 1024
WRITE_BUFFER_BYTES: Final = 64 * 1024 * 1024
OPEN_FILES_MAX: Final = 512
"""Of 64 MB each; beyond them RocksDB closes the least recently used. Well below the usual limit of 1,024."""
LOG_FILE_BYTES_MAX: Final = 4 * 1024 * 1024


def disk_options(recovery: DBRecoveryMode) -> Options:
    options = _options()
    options.set_wal_recovery_mode(recovery)
    options.set_max_open_files(OPEN_FILES_MAX)
    return options


def _options() -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(_table_options())
    # Records are JSON: LZ4 halves them and decompresses faster than a disk reads.
    options.set_compression_type(DBCompressionType.lz4())
    options.set_write_buffer_size(WRITE_BUFFER_BYTES)
    # Three, so that a burst of writes finds a buffer while the last one goes to disk.
    options.set_max_write_buffer_number(3)
    options.set_level_compaction_dynamic_level_bytes(True)
    # One flush and one compaction: the rest of the machine belongs to the requests.
    options.set_max_background_jobs(2)
    # Long writes of flushes and compactions reach the disk steadily, rather than in front of somebody's fsync.
    options.set_bytes_per_sync(1024 * 1024)
    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(LOG_FILE_BYTES_MAX)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    # Opening must not depend on the amount of data.
    options.set_skip_stats_update_on_db_open(True)
    return options


def _table_options() -> BlockBasedOptions:
    table = BlockBasedOptions()
    table.set_block_cache(Cache(BLOCK_CACHE_BYTES))
    # Four times RocksDB's own: fifty small items of a partition are in one or two blocks, and one item costs as much
    # as before (measured).
    table.set_block_size(BLOCK_BYTES)
    # A condition of "does not exist" is among the most frequent reads: 10 bits answer 99 of 100 from memory.
    table.set_bloom_filter(10, False)
    # Index and filters are charged to the cache, so that memory has one limit however the data grows. They are cut
    # into blocks of their own: whole, those of a file are a megabyte, of which a shard of the cache holds two, and two
    # that meet in one shard throw each other out at each read (measured at a million items: 270 KB read for each).
    table.set_cache_index_and_filter_blocks(True)
    table.set_index_type(BlockBasedIndexType.two_level_index_search())
    table.set_partition_filters(True)
    table.set_metadata_block_size(METADATA_BLOCK_BYTES)
    table.set_pin_top_level_index_and_filter(True)
    # Those of level 0 are read for every key and stay.
    table.set_pin_l0_filter_and_index_blocks_in_cache(True)
    table.set_format_version(5)
    return table


def open_rocksdb(path: Path, options: Options) -> Rdict:
    # Without the second mention rocksdict takes the options of the data from the last OPTIONS file, in which
    # block cache and filters are not kept.
    return Rdict(str(path), options, column_families={"default": options})


def open_in_memory() -> Rdict:
    """A database of its own in memory: each environment is a file system apart."""
    options = _options()
    options.set_env(Env.mem_env())
    # rocksdict leaves a small file of its own at the database's path on the real file system.
    with tempfile.TemporaryDirectory(prefix="torusdb-") as path:
        return open_rocksdb(Path(path), options)


def open_on_disk(path: Path, directory: Path) -> Rdict:
    """Opens the database in `path`; errors name `directory`.

    Recovery tolerates a record cut short at the end of the log, which is what a killed process leaves and was never
    acknowledged, and refuses damage anywhere else. (RocksDB's default, point-in-time, opens in both cases and drops
    whatever follows the damage, acknowledged writes included.)
    """
    try:
        return open_rocksdb(path, disk_options(DBRecoveryMode.tolerate_corrupted_tail_records()))
    except Exception as error:
        raise opening_failed(directory, error) from error


def close_quietly(db: Rdict) -> None:
    """Closing flushes memory to disk, which may fail; nothing acknowledged depends on it."""
    try:
        db.close()
    except Exception as error:
        if "SyncWAL() is not supported" not in str(error):  # in memory, where there is nothing to sync
            _log.warning("RocksDB was closed with an error: %s", error)


def opening_failed(directory: Path, error: Exception) -> StorageError:
    text = str(error)
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return DirectoryUnusable(disk_full(directory))
    if "Permission denied" in text:
        return DirectoryUnusable(
            f"The data directory {directory} cannot be used: permission denied; "
            "change the owner or mode of the files in it."
        )
    if "Corruption" in text or "No such file" in text:
        return damaged(directory, text)
    return StorageError(f"The database in {directory} cannot be opened: {text}")


def damaged(directory: Path, detail: str) -> StorageDamaged:
    return StorageDamaged(f"The database in {directory} is damaged ({detail}); restore the directory from a backup.")


def write_failed(directory: Path | None, error: Exception) -> StorageFailed:
    text = str(error)
    if directory is None:
        return StorageFailed(f"A write in memory failed: {text}")
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return StorageFailed(disk_full(directory))
    return StorageFailed(
        f"A write to {directory} failed ({text}); look at the disk's health, writes are tried again as they come."
    )


def read_failed(directory: Path | None, error: Exception) -> StorageFailed:
    return StorageFailed(
        f"A read from {directory or 'memory'} failed ({error}); "
        "if it says corruption, restore the directory from a backup."
    )
