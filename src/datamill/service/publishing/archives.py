"""The archives of publications in the store, and whether each is still what was published."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from django.conf import settings

from datamill.service.files.disk import is_sha256
from datamill.service.files.store import (
    AwayError,
    DamagedFileError,
    KeptFile,
    choose_shelf,
    find_file,
    occupying_files,
    remove_files,
)
from datamill.service.models import StoredFile
from datamill.service.publishing.tables import Publication

log = logging.getLogger("datamill.serve")

#: An archive that was found whole is read again after this time: disks lose bits that no clock shows.
_TRUSTED_S = 3600.0
#: A storage elsewhere looks after its bits itself, and reading there costs more.
_TRUSTED_ELSEWHERE_S = 86_400.0
_MOST_KEPT = 4096
#: Of a list as many are read at once: after a start of the coordinator none is known.
_AT_ONCE = 8
_checked: dict[tuple[str, str], float] = {}
_lock = threading.Lock()


def is_intact(publication: Publication, now_s: float | None = None) -> bool:
    """Tell whether the archive of a publication is there and has the bytes that were published.

    It is read whole once in a while, and whenever what is kept was written anew.

    Raises:
        AwayError: the storage of files does not answer.
    """
    now = time.monotonic() if now_s is None else now_s
    trusted_s = _TRUSTED_ELSEWHERE_S if settings.FILES_URL else _TRUSTED_S
    # One at a time: nobody has the same archive read many times at once.
    with occupying_files((publication.sha256,)):
        try:
            kept = find_file(publication.sha256)
            if kept is None or kept.size_bytes != publication.size_bytes:
                return False
            key = (publication.sha256, kept.version)
            if key in _checked and now - _checked[key] < trusted_s:
                return True
            digest = _hash_file(kept)
        except (DamagedFileError, OSError):
            return False
    with _lock:
        _checked.pop(key, None)
        if digest != publication.sha256:
            return False
        while len(_checked) >= _MOST_KEPT:
            _checked.pop(next(iter(_checked)))
        _checked[key] = now
    return True


def are_intact(publications: Iterable[Publication]) -> list[bool]:
    """Tell of each publication what `is_intact` does.

    Raises:
        AwayError: the storage of files does not answer.
    """
    with ThreadPoolExecutor(_AT_ONCE, "archives looked at") as readers:
        return list(readers.map(is_intact, publications))


def _hash_file(kept: KeptFile) -> str:
    digest = hashlib.sha256()
    for piece in kept.read():
        digest.update(piece)
    return digest.hexdigest()


def drop_withdrawn_archives() -> None:
    """Remove the archives of withdrawn publications that nothing else names; one that is gone is no error.

    What cannot be removed now is removed the next time.
    """
    withdrawn = list(Publication.objects.exclude(withdrawn_unix_s=None).values_list("sha256", flat=True))
    with occupying_files(withdrawn):
        standing = Publication.objects.filter(sha256__in=withdrawn, withdrawn_unix_s=None)
        brought = StoredFile.objects.filter(pk__in=withdrawn, removed_unix_s=None)
        needed = {*standing.values_list("sha256", flat=True), *brought.values_list("pk", flat=True)}
        try:
            remove_files(set(withdrawn) - needed)
        except (AwayError, OSError) as problem:
            log.warning("archives of withdrawn publications are still in the store: %s", _tell(problem))


def name_old_folder() -> Path:
    """Return where an earlier version made archives and kept them."""
    return Path(settings.DATA_FOLDER) / "publications"


def move_old_archives() -> None:
    """Move archives into the store that an earlier version kept beside it, in `publications/`.

    What cannot be moved now stays, is told as damaged meanwhile, and is moved the next time.
    """
    folder = name_old_folder()
    old = [path for path in folder.glob("*.zip") if is_sha256(path.stem)]
    try:
        for path in old:
            with occupying_files((path.stem,)):
                with path.open("rb") as file:
                    is_whole = hashlib.file_digest(file, "sha256").hexdigest() == path.stem
                # One that came back from a backup takes the place of a damaged one, and never the reverse.
                if is_whole or find_file(path.stem) is None:
                    choose_shelf().keep(path, path.stem)
                else:
                    path.unlink()
    except (AwayError, OSError) as problem:
        told = _tell(problem)
        log.warning("archives of publications are still in %s, and not in the store: %s", folder, told)
        return
    if old:
        log.info("%s archives of publications were moved from %s into the store", len(old), folder)
    with contextlib.suppress(OSError):
        folder.rmdir()


def _tell(problem: AwayError | OSError) -> str:
    return problem.message if isinstance(problem, AwayError) else str(problem)
