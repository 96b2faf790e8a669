"""Archives of publications are files of the store, on the disk or in a bucket: whole, or told as damaged."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client, override_settings
from integration.service.api_users import ApiUser, store
from integration.service.files.object_storage import BUCKET, KEY, SECRET, ObjectStorage
from integration.service.publishing.test_publications import (
    HEADLINE,
    enter_publication,
    publish,
    read_page,
)
from integration.service.small_fleet import Fleet

from datamill.experiment.errors import InputError
from datamill.results.crates.description import describe
from datamill.service.administration.quotas import set_quota
from datamill.service.administration.retention import remove_retired, retire_old_files, set_retention
from datamill.service.administration.storage import measure_room, measure_users
from datamill.service.api.api import api
from datamill.service.files import bucket
from datamill.service.files.bucket import BucketFile
from datamill.service.files.disk import DiskFile, name_stored_file
from datamill.service.files.store import KeptFile, keep_file
from datamill.service.models import FleetExperiment, Publication, StoredFile
from datamill.service.publishing import archives, publishing, sending
from datamill.service.publishing.making import drop_unfinished_archives
from datamill.service.publishing.publishing import publish_experiment, withdraw_publication

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    archives._checked.clear()


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStorage]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    # Who waits for a storage that is away need not wait for long here.
    monkeypatch.setattr(bucket, "_GIVE_UP", timedelta(seconds=1))
    made = ObjectStorage(tmp_path)
    with override_settings(FILES_URL=made.url):
        yield made
    made.end()


def publish_into(storage: ObjectStorage) -> tuple[Publication, Path]:
    """Publish a small experiment; return the publication and the object that holds its archive."""
    fleet = Fleet()
    fleet.finish()
    answer, published = publish(fleet)
    assert answer.status_code == 302, answer.content.decode()
    assert published is not None
    name = f"files/{published.sha256[:2]}/{published.sha256}"
    assert storage.list_objects()[name] == published.size_bytes
    return published, storage.folder / BUCKET / name


def list_kept_here() -> list[Path]:
    return [path for path in Path(settings.DATA_FOLDER).rglob("*.zip") if path.is_file()]


def test_an_archive_is_kept_in_the_bucket_alone_and_sent_from_there(storage: ObjectStorage) -> None:
    published, _ = publish_into(storage)
    assert list_kept_here() == []
    assert not name_stored_file(published.sha256).exists()
    told = Client().get(f"/publications/{published.key}/archive.zip")
    assert hashlib.sha256(b"".join(told)).hexdigest() == published.sha256
    again = Client().get(
        f"/publications/{published.key}/archive.zip", headers={"If-None-Match": told["ETag"]}
    )
    assert again.status_code == 304
    assert any(kind.kind == "publication" and kind.files == 1 for kind in measure_room().kinds)


def test_an_archive_that_is_damaged_or_missing_in_the_bucket_is_told_as_on_the_disk(
    storage: ObjectStorage,
) -> None:
    published, file = publish_into(storage)
    whole, path = file.read_bytes(), f"/publications/{published.key}"
    for content in (whole[:-1] + bytes([whole[-1] ^ 1]), whole[:-10], None):
        file.write_bytes(whole)
        assert read_page(path)[1].count("is damaged on this coordinator") == 0
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
            # The storage knows of whole seconds.
            os.utime(file, (1.8e9, 1.8e9))
        status, page = read_page(path)
        assert (status, "is damaged on this coordinator" in page) == (200, True)
        assert HEADLINE not in page
        assert Client().get(f"{path}/archive.zip").status_code == 503
        assert "damaged" in read_page(f"{path}/badge.svg")[1]


def test_an_archive_is_not_called_damaged_while_the_storage_is_away(storage: ObjectStorage) -> None:
    published, _ = publish_into(storage)
    storage.end()
    for part in ("", "/archive.zip", "/badge.svg", "/figure.svg", "/embed"):
        away = Client().get(f"/publications/{published.key}{part}")
        assert (away.status_code, away["Retry-After"]) == (503, "30")
        assert "Nothing is lost" in away.content.decode()
        assert "damaged" not in away.content.decode()
    storage.start()
    assert read_page(f"/publications/{published.key}")[0] == 200


def test_an_archive_in_a_bucket_is_read_whole_once_and_then_looked_at(
    storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    published, _ = publish_into(storage)
    read, times = BucketFile.read, []

    def count(kept: BucketFile, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        times.append(kept.sha256)
        return read(kept, start, stop)

    monkeypatch.setattr(BucketFile, "read", count)
    for _ in range(3):
        assert archives.is_intact(published)
    assert times == [published.sha256]


def test_nothing_is_published_while_the_storage_is_away_and_nothing_is_left_here(
    storage: ObjectStorage,
) -> None:
    fleet = Fleet()
    fleet.finish()
    storage.end()
    answer, published = publish(fleet)
    assert (answer.status_code, published) == (503, None)
    assert list_kept_here() == []
    storage.start()
    assert publish(fleet)[0].status_code == 302


def test_an_archive_that_cannot_be_entered_is_not_left_in_the_store() -> None:
    fleet = Fleet()
    fleet.finish()
    experiment = FleetExperiment.objects.get()
    kept = list_kept()

    def fail(_: Publication) -> None:
        raise InputError("another has done it")

    said = describe("Which is faster?", "Doe, Jane", "MIT", now_s=1.8e9)
    with pytest.raises(InputError, match="another has done it"):
        publish_experiment(experiment, fleet.ada.user, lambda _: said, enter_more=fail)
    assert list_kept() == kept
    assert not Publication.objects.exists()


def test_archives_count_as_files_of_who_published_them() -> None:
    fleet = Fleet()
    fleet.finish()
    before = measure_users([fleet.ada.user])[0]
    assert publish(fleet)[0].status_code == 302
    made = Publication.objects.get()
    after = measure_users([fleet.ada.user])[0]
    assert (after.files - before.files, after.size_bytes - before.size_bytes) == (1, made.size_bytes)
    kept = list_kept()
    set_quota(fleet.ada.user, fleet.ada.user, after.size_bytes + made.size_bytes // 2, None)
    answer, latest = publish(fleet)
    assert (answer.status_code, latest) == (400, made)
    assert "ask the operator of the coordinator for room" in answer.content.decode()
    assert list_kept() == kept
    withdraw_publication(made, fleet.ada.user, "It took too much room.")
    rest = measure_users([fleet.ada.user])[0]
    assert (rest.files, rest.size_bytes) == (before.files, before.size_bytes)
    assert publish(fleet)[0].status_code == 302


def test_two_publications_at_once_do_not_pass_a_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet()
    fleet.finish()
    assert publish(fleet)[0].status_code == 302
    made = Publication.objects.get()
    held = measure_users([fleet.ada.user])[0].size_bytes
    set_quota(fleet.ada.user, fleet.ada.user, held + made.size_bytes * 3 // 2, None)
    kept = list_kept()

    def keep_after_another(part: Path, sha256: str, enter: Callable[[], Publication]) -> Publication:
        # Each alone has room.
        made.pk = "f" * 12
        made.save(force_insert=True)
        return keep_file(part, sha256, enter)

    monkeypatch.setattr(publishing, "keep_file", keep_after_another)
    answer, _ = publish(fleet)
    assert answer.status_code == 400
    assert "ask the operator of the coordinator for room" in answer.content.decode()
    assert Publication.objects.count() == 2
    assert list_kept() == kept


def list_kept() -> set[Path]:
    return {path for path in (Path(settings.DATA_FOLDER) / "files").rglob("*") if path.is_file()}


def test_the_archive_of_a_withdrawn_publication_goes_when_the_storage_is_back(
    storage: ObjectStorage,
) -> None:
    published, file = publish_into(storage)
    storage.end()
    withdraw_publication(published, published.publisher, "The clock was wrong.")
    assert read_page(f"/publications/{published.key}")[0] == 410
    assert file.exists()
    storage.start()
    archives.drop_withdrawn_archives()
    assert not file.exists()


def test_archives_of_an_earlier_version_are_moved_into_the_store() -> None:
    _, published = enter_publication()
    new = name_stored_file(published.sha256)
    old = Path(settings.DATA_FOLDER) / "publications" / f"{published.sha256}.zip"
    old.parent.mkdir()
    new.rename(old)
    (old.parent / "notes.zip").write_bytes(b"of the operator")
    assert not archives.is_intact(published)
    archives.move_old_archives()
    assert archives.is_intact(published)
    assert not old.exists()
    # What is no archive of ours stays where it is, and its folder with it.
    assert [path.name for path in old.parent.iterdir()] == ["notes.zip"]
    (old.parent / "notes.zip").unlink()
    archives.move_old_archives()
    assert not old.parent.exists()
    archives.move_old_archives()


def test_an_archive_that_comes_back_replaces_a_damaged_one_and_never_the_reverse() -> None:
    _, published = enter_publication()
    kept = name_stored_file(published.sha256)
    whole = kept.read_bytes()
    damaged = bytes([whole[0] ^ 1]) + whole[1:]
    old = Path(settings.DATA_FOLDER) / "publications" / f"{published.sha256}.zip"
    for there, coming in ((damaged, whole), (whole, damaged), (whole, whole)):
        old.parent.mkdir()
        kept.write_bytes(there)
        old.write_bytes(coming)
        archives.move_old_archives()
        assert archives.is_intact(published)
        assert not old.parent.exists()
    # A damaged one is better than none: it is told as damaged, and can be looked at.
    kept.unlink()
    old.parent.mkdir()
    old.write_bytes(damaged)
    archives.move_old_archives()
    assert kept.read_bytes() == damaged
    assert not archives.is_intact(published)


def test_what_was_left_unfinished_goes_also_where_an_earlier_version_made_it() -> None:
    left = [Path(settings.DATA_FOLDER) / place / ".making-x" for place in ("files", "publications")]
    for folder in left:
        (folder / "bundle").mkdir(parents=True)
    drop_unfinished_archives()
    assert not any(folder.exists() for folder in left)


@pytest.mark.parametrize(("withdrawn", "status"), [(True, 410), (False, 503)])
def test_an_archive_that_goes_while_it_is_asked_for_is_told_and_no_failure(
    monkeypatch: pytest.MonkeyPatch, withdrawn: bool, status: int
) -> None:
    fleet, published = enter_publication()
    find_archive = sending.find_archive

    def find_and_lose(publication: Publication) -> KeptFile:
        kept = find_archive(publication)
        if withdrawn:
            withdraw_publication(published, published.publisher, "The clock was wrong.")
        name_stored_file(published.sha256).unlink(missing_ok=True)
        return kept

    monkeypatch.setattr(sending, "find_archive", find_and_lose)
    told = fleet.ada.get(f"/publications/{published.key}/archive")
    assert (told[0], ("withdrawn" if withdrawn else "damaged") in told[1]["message"]) == (status, True)


def test_archives_of_a_list_are_read_at_once_and_told_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    _, first = enter_publication()
    content = b"another archive"
    second = Publication(sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content))
    name_stored_file(second.sha256).parent.mkdir(parents=True, exist_ok=True)
    name_stored_file(second.sha256).write_bytes(content)
    missing = Publication(sha256="0" * 64, size_bytes=1)
    read, together = DiskFile.read, threading.Barrier(2, timeout=60)

    def read_together(kept: DiskFile, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        together.wait()
        return read(kept, start, stop)

    monkeypatch.setattr(DiskFile, "read", read_together)
    assert archives.are_intact([first, missing, second]) == [True, False, True]


def test_the_api_says_that_the_storage_is_away_and_its_document_that_it_may(storage: ObjectStorage) -> None:
    published, _ = publish_into(storage)
    user = ApiUser("bob")
    storage.end()
    paths = api.get_openapi_schema()["paths"]
    for path in ("/publications", "/publications/{key}"):
        status, told = user.get(path.replace("{key}", published.key))
        assert (status, "Nothing is lost" in told["remedy"]) == (503, True)
        assert "503" in {str(code) for code in paths[f"/api{path}"]["get"]["responses"]}


def test_archives_of_an_earlier_version_go_into_the_bucket_once_it_answers(storage: ObjectStorage) -> None:
    published, file = publish_into(storage)
    old = Path(settings.DATA_FOLDER) / "publications" / f"{published.sha256}.zip"
    old.parent.mkdir()
    file.rename(old)
    storage.end()
    archives.move_old_archives()
    assert old.exists()
    storage.start()
    archives.move_old_archives()
    assert (old.exists(), file.exists(), archives.is_intact(published)) == (False, True, True)


def test_retention_leaves_an_archive_that_its_reader_uploaded_as_well() -> None:
    fleet, published = enter_publication()
    content = name_stored_file(published.sha256).read_bytes()
    assert store(content, fleet.ada.user, "taken-home") == published.sha256
    set_retention(fleet.ada.user, 1, None)
    retired = retire_old_files(4e9)
    assert published.sha256 in retired
    assert published.sha256 not in remove_retired(retired)
    assert archives.is_intact(published)
    # Withdrawn, it is what its reader brought that stays.
    store(content, fleet.ada.user, "taken-home")
    withdraw_publication(published, published.publisher, "The clock was wrong.")
    assert name_stored_file(published.sha256).exists()
    StoredFile.objects.filter(pk=published.sha256).update(removed_unix_s=1.0)
    archives.drop_withdrawn_archives()
    assert not name_stored_file(published.sha256).exists()
