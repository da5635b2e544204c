"""Object stores: a folder, and a bucket as boto3's client would ask for it."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest

from tests.modeling.test_transactions import ServiceError
from torusdb.modeling import InvalidValue
from torusdb.modeling.blocks.objects import FolderObjects, Objects, S3Objects

boto3 = pytest.importorskip("boto3", reason="the requests of S3Objects are held against boto3's model of S3")


class Bucket:
    """A client of S3 that has boto3 check what it is asked, and keeps the objects itself."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.client = boto3.client("s3", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")
        from botocore.stub import Stubber

        self.stubber = Stubber(self.client)
        self.stubber.activate()

    def put_object(self, **parameters: Any) -> Any:
        self.stubber.add_response("put_object", {}, parameters)
        self.objects[parameters["Key"]] = parameters["Body"]
        return self.client.put_object(**parameters)

    def get_object(self, **parameters: Any) -> Any:
        found = self.objects.get(parameters["Key"])
        if found is None:
            self.stubber.add_client_error("get_object", "NoSuchKey", expected_params=parameters)
        else:
            self.stubber.add_response("get_object", {"Body": io.BytesIO(found)}, parameters)
        return self.client.get_object(**parameters)

    def delete_object(self, **parameters: Any) -> Any:
        self.stubber.add_response("delete_object", {}, parameters)
        self.objects.pop(parameters["Key"], None)
        return self.client.delete_object(**parameters)


@pytest.fixture(params=["folder", "bucket"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    if request.param == "folder":
        return FolderObjects(tmp_path / "new" / "folder")
    return S3Objects(Bucket(), "files", prefix="mail/")


def test_objects_are_written_read_and_deleted(objects: Objects) -> None:
    assert objects.read("one") is None
    objects.write("one", b"1")
    objects.write("two", b"")
    assert (objects.read("one"), objects.read("two")) == (b"1", b"")
    objects.delete("one")
    objects.delete("one")
    assert (objects.read("one"), objects.read("two")) == (None, b"")


@pytest.mark.parametrize("name", ["", "..", "../a", "/etc/passwd", "a/b", ".a", "-a", "a" * 33, "a\n", "a\0"])
def test_a_name_leads_nowhere_else(objects: Objects, name: str) -> None:
    for use in (lambda: objects.read(name), lambda: objects.write(name, b"x"), lambda: objects.delete(name)):
        with pytest.raises(InvalidValue, match=r"is no name of an object: give 1 to 32 letters, digits, '-' and '_'$"):
            use()


def test_a_bucket_has_them_under_the_prefix() -> None:
    bucket = Bucket()
    S3Objects(bucket, "files", prefix="mail/").write("one", b"1")
    assert bucket.objects == {"mail/one": b"1"}


def test_what_else_a_bucket_answers_is_raised() -> None:
    class Client:
        def get_object(self, **_: Any) -> Any:
            raise ServiceError("AccessDenied")

    with pytest.raises(ServiceError):
        S3Objects(Client(), "files").read("one")


@pytest.mark.parametrize("at", ["fsync", "replace"])
def test_a_killed_writer_leaves_no_object_and_what_it_leaves_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    class Killed(BaseException): ...

    def kill(*_: Any) -> None:
        raise Killed

    folder = FolderObjects(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(*{"fsync": (os, "fsync"), "replace": (Path, "replace")}[at], kill)
        with pytest.raises(Killed):
            folder.write("one", b"1")
    assert folder.read("one") is None
    assert [file.name for file in tmp_path.iterdir()] == [".one.unfinished"]
    folder.delete("one")
    assert list(tmp_path.iterdir()) == []
