"""Where the coordinator keeps files, each by its content: on its disk, or in a bucket.

Both have the same names, so that a copy of one is the other.
"""

from __future__ import annotations

import asyncio
import logging
import re
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Protocol, TypeVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Case, F, When

from datamill.experiment.errors import InputError
from datamill.service.files.disk import DiskShelf
from datamill.service.models import FileHolder, StoredFile

log = logging.getLogger("datamill.serve")

T = TypeVar("T")
#: Of each kind; the threads of the rest of the coordinator do not wait for a storage that is slow.
_THREADS = 8
_ASKING = ThreadPoolExecutor(_THREADS, "files asked for")
_KEEPING = ThreadPoolExecutor(_THREADS, "files kept")
#: Files at which somebody is at work, and a signal when somebody has left some.
_occupied: set[str] = set()
_left = threading.Condition()


class AwayError(InputError):
    """The storage of files does not answer: nothing is lost, and the request may be made again."""

    RETRY_AFTER_S = 30

    def __init__(self, message: str) -> None:
        super().__init__(message, remedy="Nothing is lost. Try again in a minute.")


class DamagedFileError(AwayError):
    """What came of the storage is not the file of its name."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self._remedy = "Tell the people who run this coordinator: it has to come back from a backup."


class FullDiskError(AwayError):
    """The coordinator's disk has no room for what is asked."""

    def __init__(self, message: str = "the coordinator's disk is full") -> None:
        super().__init__(message)
        self._remedy = "Try again when its owner made room."


class KeptFile(Protocol):
    """A file of the store."""

    @property
    def size_bytes(self) -> int:
        """How large it is."""

    @property
    def version(self) -> str:
        """Another one once what is kept under the same name was written anew."""

    @property
    def source(self) -> Path | Callable[[], Iterator[bytes]]:
        """Where it lies on this disk, or what yields its content."""

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Yield the content in pieces, or what of it is from `start` to before `stop`."""

    def at_hand(self) -> AbstractContextManager[Path]:
        """Yield a path at which it can be read, for as long as this lasts."""


class Shelf(Protocol):
    """A place where files are kept; one elsewhere raises `AwayError` while it does not answer."""

    def find(self, sha256: str) -> KeptFile | None:
        """Return the file of this digest, or None if it is not kept."""

    def keep(self, part: Path, sha256: str) -> None:
        """Take a file that was checked: it is whole there or not at all, and `part` is gone."""

    def remove(self, digests: Collection[str]) -> None:
        """Remove files; one that is not there is no error."""

    def check(self) -> None:
        """Raise `InputError` where it can never be used as the settings have it."""


@contextmanager
def occupying_files(digests: Collection[str]) -> Iterator[None]:
    """Wait until nobody keeps, removes or checks these files, and keep others waiting while this lasts.

    All of them are taken at once, so that two who ask for several never wait for each other. The writer must
    not ask: a storage may be slow.
    """
    wanted = set(digests)
    with _left:
        _left.wait_for(lambda: _occupied.isdisjoint(wanted))
        _occupied.update(wanted)
    try:
        yield
    finally:
        with _left:
            _occupied.difference_update(wanted)
            _left.notify_all()


def find_file(sha256: str) -> KeptFile | None:
    """Return the file of this digest, or None if it is not kept.

    Raises:
        AwayError: the storage of files does not answer.
    """
    return choose_shelf().find(sha256)


def keep_file(part: Path, sha256: str, enter: Callable[[], T]) -> T:
    """Move a file that was checked into the store, so that it is whole there or not at all, and enter it.

    `enter` writes what the database knows of it. Nobody removes the file between the two.

    Raises:
        AwayError: the storage of files does not answer; the file is where it was.
        OSError: the disk is full.
    """
    with occupying_files((sha256,)):
        choose_shelf().keep(part, sha256)
        return enter()


def enter_kept_file(sha256: str, enter: Callable[[KeptFile], None]) -> KeptFile | None:
    """Enter a file that is kept already, which nobody removes meanwhile; None if it is not kept.

    Raises:
        AwayError: the storage of files does not answer.
    """
    with occupying_files((sha256,)):
        kept = find_file(sha256)
        if kept is not None:
            enter(kept)
        return kept


def remove_files(digests: Collection[str]) -> None:
    """Remove files of the store; one that is not there is no error.

    Raises:
        AwayError: the storage of files does not answer.
    """
    choose_shelf().remove(digests)


def check_shelf() -> None:
    """Make sure that there is a place for files; one that does not answer now may come back.

    Raises:
        InputError: the settings name a place that cannot be used.
    """
    try:
        choose_shelf().check()
    except AwayError as problem:
        log.warning("%s", problem.message)


def check_disk_room(size_bytes: int) -> None:
    """Make sure that the coordinator's disk takes so many bytes beside those that it keeps for itself.

    Raises:
        FullDiskError: it does not.
    """
    disk = shutil.disk_usage(settings.DATA_FOLDER)
    if disk.free - size_bytes < min(settings.RESERVED_BYTES, disk.total // 20):
        raise FullDiskError


def choose_shelf() -> Shelf:
    """Return where files are kept, as the settings say: the bucket that `FILES_URL` names, else the disk."""
    return _open_bucket(settings.FILES_URL) if settings.FILES_URL else DiskShelf()


@lru_cache(maxsize=4)
def _open_bucket(url: str) -> Shelf:
    # The client of object storages starts threads: it is loaded only where there is a bucket.
    from datamill.service.files.bucket import BucketShelf

    return BucketShelf(url)


async def ask_store(question: Callable[[], T]) -> T:
    """Return what the store answers, which may be slow: asked in threads that do nothing else."""
    return await asyncio.get_running_loop().run_in_executor(_ASKING, question)


async def keep_sent_file(part: Path, sha256: str, enter: Callable[[], None]) -> None:
    """As `keep_file`, in threads that do nothing else: downloads go on while files are slow to be kept."""
    await asyncio.get_running_loop().run_in_executor(_KEEPING, keep_file, part, sha256, enter)


async def enter_sent_file(sha256: str, enter: Callable[[KeptFile], None]) -> KeptFile | None:
    """As `enter_kept_file`, in the threads that keep files: who waits there holds up no download."""
    return await asyncio.get_running_loop().run_in_executor(_KEEPING, enter_kept_file, sha256, enter)


def record_stored_file(
    sha256: str,
    kind: str,
    owner: User | None,
    size_bytes: int,
    name: str = "",
    now_s: float | None = None,
    worker_id: str = "",
) -> StoredFile:
    """Enter a file of the store into the database, with the user or worker who brought all of it.

    One that is there already stays as it is; who brings it once more is another who holds it. One that was
    kept no longer counts as stored now. Of the name as much is kept as a package may be called, and a
    download.
    """
    stored_unix_s = time.time() if now_s is None else now_s
    stored, _ = StoredFile.objects.get_or_create(
        sha256=sha256,
        defaults={
            "size_bytes": size_bytes,
            "kind": kind,
            "name": clean_name(name),
            "stored_unix_s": stored_unix_s,
            "owner": owner,
        },
    )
    holder = worker_id or (name_holder(owner) if owner is not None else "")
    # The row is written first, so that the writer notes it as kept no longer before this, or after all of it.
    with transaction.atomic():
        StoredFile.objects.filter(pk=sha256).update(
            stored_unix_s=Case(When(removed_unix_s=None, then=F("stored_unix_s")), default=stored_unix_s),
            removed_unix_s=None,
        )
        if holder:
            FileHolder.objects.get_or_create(file=stored, holder=holder)
    return stored


def clean_name(text: str) -> str:
    """Return a text as far as it can be the name of a package or a file, empty when nothing of it can."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", text).lstrip("._+-")[:64]


def name_holder(user: User) -> str:
    """Return what a user is called among those who hold files; workers are called by their identity."""
    return f"u{user.pk}"
