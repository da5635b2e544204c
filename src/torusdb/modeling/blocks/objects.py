"""Where large contents are kept apart from the database: a folder, or a bucket of S3.

An object is written once, under a name that was never used before, and never changed; so a copy of it that a cache
holds is right, and a name that is found again means the same bytes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Final, Protocol

from torusdb.modeling.errors import InvalidValue
from torusdb.modeling.steps import error_code

NAME: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,31}")
"""What may be the name of an object: nothing that leads out of a folder, and no longer than a UUID in hexadecimal."""


class Objects(Protocol):
    """Each method is done when it returns: what was written is there for every reader, also after a crash."""

    def write(self, name: str, content: bytes) -> None: ...

    def read(self, name: str) -> bytes | None:
        """None where there is none with this name."""
        ...

    def delete(self, name: str) -> None:
        """One that isn't there is no error."""
        ...


def checked_name(name: str) -> str:
    if NAME.fullmatch(name) is None:
        raise InvalidValue(f"{name!r} is no name of an object: give 1 to 32 letters, digits, '-' and '_'")
    return name


class FolderObjects:
    """Files in a folder, which is made if it isn't there. An object is written beside its place and then moved there,
    so that none is ever seen in part."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, content: bytes) -> None:
        unfinished = self._unfinished(name)
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self._file(name))
        self._sync_folder()

    def read(self, name: str) -> bytes | None:
        try:
            return self._file(name).read_bytes()
        except FileNotFoundError:
            return None

    def delete(self, name: str) -> None:
        """Also what a killed writer left of it."""
        for file in (self._unfinished(name), self._file(name)):
            file.unlink(missing_ok=True)
        self._sync_folder()

    def _file(self, name: str) -> Path:
        return self.folder / checked_name(name)

    def _unfinished(self, name: str) -> Path:
        return self.folder / f".{checked_name(name)}.unfinished"

    def _sync_folder(self) -> None:
        """A file's name is in its folder, and lost with a power cut until that is written too."""
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class S3Objects:
    """Objects in a bucket, through a client: `S3Objects(boto3.client("s3"), "my-bucket", prefix="mails/")`."""

    def __init__(self, client: Any, bucket: str, *, prefix: str = "") -> None:
        self.client = client
        self.bucket = bucket
        self.prefix = prefix

    def write(self, name: str, content: bytes) -> None:
        self.client.put_object(**self._place(name), Body=content)

    def read(self, name: str) -> bytes | None:
        try:
            response = self.client.get_object(**self._place(name))
        except Exception as error:
            if error_code(error) == "NoSuchKey":
                return None
            raise
        content: bytes = response["Body"].read()
        return content

    def delete(self, name: str) -> None:
        self.client.delete_object(**self._place(name))

    def _place(self, name: str) -> dict[str, str]:
        return {"Bucket": self.bucket, "Key": self.prefix + checked_name(name)}
