"""Where the coordinator keeps files: by their content, `DATA/files/ab/abcd…`."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User

from datamill.service.models import FileHolder, StoredFile

_SHA256 = re.compile(r"[0-9a-f]{64}")


def is_sha256(text: str) -> bool:
    """Tell whether a text has the form of a digest; nothing else becomes a path."""
    return _SHA256.fullmatch(text) is not None


def name_stored_file(sha256: str) -> Path:
    """Return where the file of this digest is kept, whether it is there or not."""
    if not is_sha256(sha256):
        raise ValueError(f"{sha256!r} is not a SHA-256")
    return Path(settings.DATA_FOLDER) / "files" / sha256[:2] / sha256


def keep_file(part: Path, sha256: str) -> None:
    """Move a file that was checked into the store, so that it is whole there or not at all."""
    target = name_stored_file(sha256)
    target.parent.mkdir(parents=True, exist_ok=True)
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.replace(target)
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def record_stored_file(
    sha256: str,
    kind: str,
    owner: User | None,
    name: str = "",
    now_s: float | None = None,
    worker_id: str = "",
) -> StoredFile:
    """Enter a file of the store into the database, with the user or worker who brought all of it.

    One that is there already stays as it is; who brings it once more is another who holds it. Of the name as
    much is kept as a package may be called, and a download.
    """
    stored, _ = StoredFile.objects.get_or_create(
        sha256=sha256,
        defaults={
            "size_bytes": name_stored_file(sha256).stat().st_size,
            "kind": kind,
            "name": clean_name(name),
            "stored_unix_s": time.time() if now_s is None else now_s,
            "owner": owner,
        },
    )
    if stored.removed_unix_s is not None:
        StoredFile.objects.filter(pk=sha256).update(removed_unix_s=None)
    holder = worker_id or (name_holder(owner) if owner is not None else "")
    if holder:
        FileHolder.objects.get_or_create(file=stored, holder=holder)
    return stored


def clean_name(text: str) -> str:
    """Return a text as far as it can be the name of a package or a file, empty when nothing of it can."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", text).lstrip("._+-")[:64]


def name_holder(user: User) -> str:
    """Return what a user is called among those who hold files; workers are called by their identity."""
    return f"u{user.pk}"
