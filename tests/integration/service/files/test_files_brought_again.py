"""A file that is brought again while it is being removed: the second one waits, and nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.db import close_old_connections
from integration.service.files.test_files_store import CONTENT, SHA256, Store, database_file, store

from datamill.service.administration.retention import remove_retired
from datamill.service.files.disk import DiskShelf, name_stored_file
from datamill.service.files.store import occupying_files
from datamill.service.models import FileHolder, StoredFile

__all__ = ["database_file", "store"]
#: Longer than an upload of this size takes here by far.
_PATIENCE_S = 2.0


@pytest.fixture
def retired(store: Store) -> Store:
    """A store with a file that is kept no longer, and not yet removed."""
    assert store.ask("ada", "PUT", content=CONTENT).status_code == 201
    StoredFile.objects.filter(pk=SHA256).update(removed_unix_s=2.0, stored_unix_s=1.0)
    FileHolder.objects.all().delete()
    return store


class Gate:
    """Stops who comes through until it is opened."""

    def __init__(self) -> None:
        self._reached, self._opened = threading.Event(), threading.Event()

    def pass_through(self) -> None:
        self._reached.set()
        assert self._opened.wait(60)

    def wait_for_someone(self) -> None:
        assert self._reached.wait(60)

    def open(self) -> None:
        self._opened.set()


def bring(store: Store, who: str) -> httpx.Response:
    return store.ask(who, "PUT", content=CONTENT)


def remove() -> list[str]:
    try:
        return remove_retired([SHA256])
    finally:
        close_old_connections()


def is_waiting(going_on: Future[Any]) -> bool:
    try:
        going_on.result(_PATIENCE_S)
    except TimeoutError:
        return True
    return False


def check_kept(store: Store, who: str) -> None:
    assert name_stored_file(SHA256).read_bytes() == CONTENT
    assert StoredFile.objects.get(pk=SHA256).removed_unix_s is None
    assert store.ask(who, "GET").content == CONTENT


# Who brought it first need not send a file that is still there; another has to send all of it.
@pytest.mark.parametrize("who", ["ada", "bob"])
def test_who_brings_a_file_that_is_being_removed_stores_it_anew(
    retired: Store, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, take_away = Gate(), DiskShelf.remove

    def remove_slowly(shelf: DiskShelf, digests: Collection[str]) -> None:
        gate.pass_through()
        take_away(shelf, digests)

    monkeypatch.setattr(DiskShelf, "remove", remove_slowly)
    with ThreadPoolExecutor() as people:
        removing = people.submit(remove)
        gate.wait_for_someone()
        bringing = people.submit(bring, retired, who)
        waits = is_waiting(bringing)
        gate.open()
        assert (removing.result(60), bringing.result(60).status_code) == ([], 201)
    check_kept(retired, who)
    assert waits
    # It counts from now on: the next round of retention leaves it.
    assert StoredFile.objects.get(pk=SHA256).stored_unix_s > 1.0


def test_what_has_come_and_is_not_entered_yet_is_not_removed(
    retired: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, keep = Gate(), DiskShelf.keep

    def keep_slowly(shelf: DiskShelf, part: Path, sha256: str) -> None:
        keep(shelf, part, sha256)
        gate.pass_through()

    monkeypatch.setattr(DiskShelf, "keep", keep_slowly)
    with ThreadPoolExecutor() as people:
        bringing = people.submit(bring, retired, "bob")
        gate.wait_for_someone()
        removing = people.submit(remove)
        waits = is_waiting(removing)
        gate.open()
        assert (removing.result(60), bringing.result(60).status_code) == ([], 201)
    check_kept(retired, "bob")
    assert waits


def test_those_who_want_several_files_get_all_at_once_and_others_go_on() -> None:
    done: list[str] = []
    with ThreadPoolExecutor() as people:
        with occupying_files(("a",)):

            def take(*names: str) -> None:
                with occupying_files(names):
                    done.append(" ".join(names))

            several = people.submit(take, "b", "a")
            people.submit(take, "b").result(60)
            assert not several.done()
        several.result(60)
    assert done == ["b", "b a"]
