"""Files in a bucket instead of on the disk: the same answers, and nothing lost while the storage is away."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, override_settings
from integration.service.api_users import make_package
from integration.service.files.object_storage import KEY, SECRET, ObjectStorage
from integration.service.files.test_files_store import CONTENT, SHA256, Store, database_file
from integration.service.files.test_files_store import store as file_store
from integration.service.looks.test_fleet_screenings import run_all, submit
from integration.service.publishing.test_publications import log_in
from integration.service.small_fleet import Fleet
from running.free_ports import find_free_port

from datamill.experiment.errors import InputError
from datamill.service.administration.retention import set_retention
from datamill.service.coordinator.experiments.follow_ups import list_due_follow_ups
from datamill.service.files.bucket import BucketFile, BucketShelf
from datamill.service.files.ranges import RangedResponse
from datamill.service.files.store import (
    AwayError,
    DamagedFileError,
    FullDiskError,
    check_shelf,
    find_file,
    remove_files,
)
from datamill.service.models import FleetExperiment, StoredFile
from datamill.service.pages.new_experiment.stored_packages import store_upload
from datamill.service.serving import housekeeping
from datamill.service.submissions.following import follow_up

__all__ = ["database_file", "file_store"]
NAME = f"files/{SHA256[:2]}/{SHA256}"


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStorage]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    made = ObjectStorage(tmp_path)
    with override_settings(FILES_URL=made.url):
        yield made
    made.end()


@pytest.fixture
def store(storage: ObjectStorage, file_store: Store) -> Store:
    assert storage.url
    return file_store


def test_a_file_is_kept_in_the_bucket_alone_and_read_back(store: Store, storage: ObjectStorage) -> None:
    assert store.ask("ada", "HEAD").status_code == 404
    assert store.ask("ada", "PUT", content=CONTENT).status_code == 201
    assert storage.list_objects() == {NAME: len(CONTENT)}
    assert [path for path in (store.folder / "files").rglob("*") if path.is_file()] == []
    told = store.ask("ada", "GET")
    assert (told.status_code, told.content) == (200, CONTENT)
    assert told.headers["content-length"] == str(len(CONTENT))
    assert store.ask("ada", "HEAD").headers["content-length"] == str(len(CONTENT))
    assert StoredFile.objects.get(sha256=SHA256).size_bytes == len(CONTENT)
    # All of it is there: nothing is sent again, and nobody else is told of it.
    assert store.ask("ada", "PUT", content=CONTENT).status_code == 200
    assert store.ask("bob", "GET").status_code == 404


def test_ranges_are_answered_as_those_of_files_on_the_disk(store: Store) -> None:
    store.ask("ada", "PUT", content=CONTENT)
    size = len(CONTENT)
    for asked, start, stop in (("1000000-", 10**6, size), ("5-9", 5, 10), ("-7", size - 7, size)):
        told = store.ask("ada", "GET", Range=f"bytes={asked}")
        assert (told.status_code, told.content) == (206, CONTENT[start:stop])
        assert told.headers["content-range"] == f"bytes {start}-{stop - 1}/{size}"
    assert store.ask("ada", "GET", Range=f"bytes=5-{size * 2}").content == CONTENT[5:]
    refused = store.ask("ada", "GET", Range=f"bytes={size}-")
    assert (refused.status_code, refused.headers["content-range"]) == (416, f"bytes */{size}")
    for asked in ("bytes=0-1,5-6", "bytes=x-", "lines=1-2", "bytes=-"):
        assert store.ask("ada", "GET", Range=asked).content == CONTENT
    assert store.ask("ada", "GET", Range="bytes=5-9", If_Range='"another"').content == CONTENT
    assert store.ask("ada", "GET", Range="bytes=5-9", If_Range=f'"{SHA256}"').content == CONTENT[5:10]


@pytest.fixture
def large() -> bytes:
    """Longer than two parts that are sent at a time."""
    return os.urandom(1 << 20) * 36


def test_a_large_file_goes_in_parts_and_comes_back_whole(
    store: Store, storage: ObjectStorage, large: bytes
) -> None:
    sha256 = hashlib.sha256(large).hexdigest()
    with override_settings(LARGEST_FILE_BYTES=1 << 30):
        assert store.ask("ada", "PUT", sha256, content=large).status_code == 201
    assert list(storage.list_objects().values()) == [len(large)]
    assert store.ask("ada", "GET", sha256).content == large


@dataclass(frozen=True)
class EndlessFile:
    """A file whose pieces are counted as they are read."""

    read_pieces: list[int]
    size_bytes: int = 1 << 40
    version: str = "the only one"

    @property
    def source(self) -> Callable[[], Iterator[bytes]]:
        return self.read

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        for number in itertools.islice(itertools.count(), start, stop):
            self.read_pieces.append(number)
            yield b"piece"

    def at_hand(self) -> AbstractContextManager[Path]:
        raise AssertionError("nobody asks for it on the disk")


def test_nothing_more_is_read_for_a_client_that_has_left() -> None:
    sent: list[Any] = []
    left = asyncio.Event()
    file = EndlessFile([])

    async def receive() -> dict[str, str]:
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)
        if len(sent) == 3:
            left.set()

    response = RangedResponse(file, {"etag": '"x"'}, is_checked=False)
    scope = {"type": "http", "method": "GET", "headers": []}
    asyncio.run(asyncio.wait_for(response(scope, receive, send), 30))
    assert len(file.read_pieces) < 10
    assert all(message.get("more_body", True) for message in sent)


def test_a_file_of_nothing_is_one_like_others(store: Store, storage: ObjectStorage) -> None:
    sha256 = hashlib.sha256(b"").hexdigest()
    assert store.ask("ada", "PUT", sha256, content=b"").status_code == 201
    assert list(storage.list_objects().values()) == [0]
    told = store.ask("ada", "GET", sha256, Range="bytes=0-")
    assert (told.status_code, told.content) == (200, b"")


def test_what_has_another_digest_never_reaches_the_bucket(store: Store, storage: ObjectStorage) -> None:
    assert store.ask("ada", "PUT", content=CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])).status_code == 422
    assert storage.list_objects() == {}


def test_nothing_is_lost_while_the_storage_is_away(
    store: Store, storage: ObjectStorage, caplog: pytest.LogCaptureFixture
) -> None:
    other = CONTENT[::-1]
    kept = hashlib.sha256(other).hexdigest()
    assert store.ask("ada", "PUT", kept, content=other).status_code == 201
    storage.end()
    for method, sha256, content in (("PUT", SHA256, CONTENT), ("GET", kept, None)):
        refused = store.ask("ada", method, sha256, content=content)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
        assert "Nothing is lost" in refused.json()["remedy"]
        # Where the storage is concerns its operator alone.
        assert refused.json()["message"] == "the storage of files cannot be used just now"
    assert str(storage.port) in caplog.text
    assert [stored.pk for stored in StoredFile.objects.all()] == [kept]
    storage.start()
    assert store.ask("ada", "GET", kept).content == other
    # All of it came, and its last byte is asked for once more.
    offset = int(store.ask("ada", "HEAD").headers["upload-offset"])
    assert offset == len(CONTENT) - 1
    rest = {"Content_Range": f"bytes {offset}-{offset}/{len(CONTENT)}"}
    assert store.ask("ada", "PUT", content=CONTENT[offset:], **rest).status_code == 201
    assert store.ask("ada", "GET").content == CONTENT
    assert store.parts() == []


def test_what_was_damaged_in_the_storage_is_never_taken_for_whole(
    store: Store, storage: ObjectStorage
) -> None:
    store.ask("ada", "PUT", content=CONTENT)
    (storage.folder / "lab" / NAME).write_bytes(CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]))
    with pytest.raises((DamagedFileError, httpx.HTTPError)):
        store.ask("ada", "GET")
    small = hashlib.sha256(b"small").hexdigest()
    store.ask("ada", "PUT", small, content=b"small")
    (storage.folder / "lab" / "files" / small[:2] / small).write_bytes(b"smail")
    refused = store.ask("ada", "GET", small)
    assert (refused.status_code, "is damaged" in refused.json()["message"]) == (503, True)
    assert "from a backup" in refused.json()["remedy"]
    kept = find_file(SHA256)
    assert kept is not None
    with pytest.raises(DamagedFileError), kept.at_hand():
        pass
    # Who asks for a range compares digests.
    assert len(b"".join(kept.read(0, len(CONTENT)))) == len(CONTENT)
    assert list((store.folder / "files").rglob("upload-*")) == []


def test_a_disk_without_room_takes_no_copy_of_a_file(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.ask("ada", "PUT", content=CONTENT)
    kept = find_file(SHA256)
    assert kept is not None
    room = shutil.disk_usage("/")._replace(free=len(CONTENT) - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: room)
    with override_settings(RESERVED_BYTES=0), pytest.raises(FullDiskError), kept.at_hand():
        pass
    monkeypatch.setattr(shutil, "disk_usage", lambda _: room._replace(free=len(CONTENT)))
    with override_settings(RESERVED_BYTES=0), kept.at_hand() as path:
        assert path.read_bytes() == CONTENT


def test_an_upload_of_a_browser_is_asked_for_again(store: Store, storage: ObjectStorage) -> None:
    storage.end()
    upload = SimpleUploadedFile("p.tar.gz", make_package("# p\n"))
    with pytest.raises(InputError, match="cannot be used just now") as caught:
        store_upload(User.objects.get(username="ada"), upload)
    assert caught.value.remedy == "Send it again in a minute."
    assert list((store.folder / "files").rglob("upload-*")) == []


def test_removed_files_are_gone_and_those_that_are_not_there_are_no_error(
    store: Store, storage: ObjectStorage
) -> None:
    store.ask("ada", "PUT", content=CONTENT)
    remove_files([SHA256, "0" * 64])
    assert storage.list_objects() == {}
    remove_files([])
    storage.end()
    with pytest.raises(AwayError):
        remove_files([SHA256])


def test_what_retention_cannot_remove_is_named_in_the_log_and_removed_later(
    store: Store, storage: ObjectStorage, caplog: pytest.LogCaptureFixture
) -> None:
    store.ask("ada", "PUT", content=CONTENT)
    set_retention(User.objects.get(username="root"), 1, None)
    StoredFile.objects.update(stored_unix_s=0.0)
    storage.end()
    left = housekeeping._remove_files([])
    assert left == (0, [SHA256])
    assert SHA256 in caplog.text
    storage.start()
    assert housekeeping._remove_files(left[1]) == (1, [])
    assert storage.list_objects() == {}


def test_a_key_that_is_refused_and_a_bucket_that_is_none_are_found_at_the_start(
    storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_shelf()
    with pytest.raises(InputError, match="no such bucket"):
        BucketShelf(storage.url.replace("//lab/", "//nowhere/")).check()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another secret")
    with pytest.raises(InputError, match="refuses the key") as caught:
        BucketShelf(storage.url).check()
    assert SECRET not in str(caught.value)
    # One that does not answer may come back.
    storage.end()
    check_shelf()


def test_serve_ends_at_once_where_there_is_no_such_bucket(storage: ObjectStorage, tmp_path: Path) -> None:
    url = storage.url.replace("//lab/", "//nowhere/")
    asked = ["--data", tmp_path / "served", "--listen", f"127.0.0.1:{find_free_port()}", "--files", url]
    ended = subprocess.run(
        [sys.executable, "-m", "datamill.service", *asked],
        env=os.environ | {"XDG_CONFIG_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 2
    assert "--files: there is no such bucket" in ended.stderr


@pytest.mark.parametrize(
    "url",
    ["lab", "s3://", "http://lab", "s3://lab?endpoint=lab.example", "s3://lab?secret=x", "s3://key:x@lab"],
)
def test_an_address_that_cannot_be_read_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with pytest.raises(InputError, match=r"cannot be read|not an address") as caught:
        BucketShelf(url)
    assert caught.value.remedy


def test_without_a_key_in_the_environment_a_bucket_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY", raising=False)
    with pytest.raises(InputError, match="no key"):
        BucketShelf("s3://lab")


@pytest.mark.usefixtures("data_folder", "memory_database")
def test_an_experiment_whose_files_are_in_a_bucket_is_one_like_others(
    storage: ObjectStorage, tmp_path: Path
) -> None:
    fleet = Fleet()
    fleet.finish()
    packages = {package["sha256"] for package in fleet.body["packages"]}
    assert {name.rpartition("/")[2] for name in storage.list_objects()} >= packages
    assert not list((Path(settings.DATA_FOLDER) / "files").rglob("[0-9a-f]" * 64))
    # An answer is made of records alone.
    storage.end()
    assert fleet.ada.get(f"/experiments/{fleet.number}/answer")[0] == 200
    storage.start()
    bundle, records, _ = fleet.fetch(tmp_path / "bundle")
    assert len(records) == 8
    for package in bundle.head.packages:
        assert digest_file(bundle.folder / package.file) == package.sha256
    client: Client = log_in(fleet.ada)
    sha256 = fleet.body["packages"][0]["sha256"]
    assert client.get(f"/packages/{sha256}").status_code == 200
    taken = client.get(f"/packages/{sha256}/archive")
    assert hashlib.sha256(b"".join(taken)).hexdigest() == sha256
    storage.end()
    away = client.get(f"/packages/{sha256}/archive")
    assert (away.status_code, away["Retry-After"]) == (503, "30")
    status, told = fleet.ada.post("/experiments", fleet.body)
    assert (status, "Nothing is lost" in told["remedy"]) == (503, True)


@pytest.mark.usefixtures("data_folder", "memory_database")
def test_what_follows_a_screening_waits_while_the_storage_is_away(storage: ObjectStorage) -> None:
    submit()
    run_all(0.2)
    first = FleetExperiment.objects.get()
    reason = first.state_reason
    storage.end()
    with pytest.raises(AwayError):
        follow_up(first.pk)
    first.refresh_from_db()
    assert (first.state_reason, list_due_follow_ups()) == (reason, [first.pk])
    storage.start()
    follow_up(first.pk)
    assert list_due_follow_ups() == []
    assert FleetExperiment.objects.exclude(pk=first.pk).count() == 1


@pytest.mark.usefixtures("data_folder", "memory_database", "storage")
def test_a_storage_that_goes_away_while_a_package_is_read_refuses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fleet = Fleet()

    def go_away(_: BucketFile) -> Iterator[bytes]:
        raise AwayError("the storage of files cannot be used just now")

    monkeypatch.setattr(BucketFile, "read", go_away)
    status, told = fleet.ada.post("/experiments", fleet.body)
    assert (status, "Nothing is lost" in told["remedy"]) == (503, True)


def digest_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
