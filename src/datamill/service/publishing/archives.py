"""The archives of publications on disk, and whether each is still what was published."""

from __future__ import annotations

import hashlib
import threading
import time
from pathlib import Path

from django.conf import settings

from datamill.service.publishing.tables import Publication

#: An archive that was found whole is read again after this time: disks lose bits that no clock shows.
_TRUSTED_S = 3600.0
_MOST_KEPT = 4096
_checked: dict[tuple[str, int, int, int], float] = {}
_lock = threading.Lock()


def find_archive(sha256: str) -> Path:
    """Return where the archive of this digest lies, or would."""
    return Path(settings.DATA_FOLDER) / "publications" / f"{sha256}.zip"


def is_intact(publication: Publication, now_s: float | None = None) -> bool:
    """Tell whether the archive of a publication is there and has the bytes that were published.

    It is read whole once in a while, and whenever size or time of its file are others.
    """
    path = find_archive(publication.sha256)
    try:
        facts = path.stat()
        if facts.st_size != publication.size_bytes:
            return False
        key = (publication.sha256, facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns)
        now = time.monotonic() if now_s is None else now_s
        # One at a time: nobody has the disk read the same archive many times at once.
        with _lock:
            if key in _checked and now - _checked[key] < _TRUSTED_S:
                return True
            with path.open("rb") as handle:
                digest = hashlib.file_digest(handle, "sha256").hexdigest()
            _checked.pop(key, None)
            if digest != publication.sha256:
                return False
            while len(_checked) >= _MOST_KEPT:
                _checked.pop(next(iter(_checked)))
            _checked[key] = now
    except OSError:
        return False
    return True
