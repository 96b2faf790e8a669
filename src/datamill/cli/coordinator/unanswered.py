"""Requests whose answer never came: kept in a file, so that the command typed again asks what became of them.

A file a request, in `datamill/unanswered` of the user's state folder (XDG), which nobody else may read.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from datamill.client_settings import ClientSettings

#: Somewhat less than coordinators keep keys (`KEPT_S` of the service): one that is forgotten there is used
#: no more.
MOST_AGE_S = 82_800.0


class Unanswered(msgspec.Struct, frozen=True):
    """A request with the key that it was sent with."""

    key: str
    body: bytes
    made_unix_s: float


class Asking:
    """A request that is being made; `is_settled` says whether the coordinator said what becomes of it."""

    def __init__(self, request: Unanswered) -> None:
        self.request = request
        self.is_settled = False


def name_folder() -> Path:
    """Return the folder of the user's requests that were not answered."""
    folder = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    return Path(folder) / "datamill" / "unanswered"


@contextmanager
def asking_once(settings: ClientSettings, path: str, body: bytes, meaning: bytes) -> Iterator[Asking]:
    """Have a request with its key: that of the same request before, where its answer never came.

    Args:
        settings: the coordinator, and whose request it is.
        path: what is asked of it.
        body: of the request, if it is new.
        meaning: what makes two requests the same; less than the body, where that also has what changes.
    """
    new = Unanswered(str(uuid.uuid4()), body, time.time())
    parts = (settings.url.encode(), settings.api_key.encode(), path.encode(), meaning)
    name = hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
    with contextlib.ExitStack() as stack:
        handle = _hold(name_folder() / f"{name}.json", stack)
        if handle is None:
            # There is no room for the file, or another command makes the same request now, for itself.
            yield Asking(new)
            return
        found = _read(handle)
        asking = Asking(new if found is None else found)
        _write(handle, msgspec.json.encode(asking.request))
        try:
            yield asking
        finally:
            if asking.is_settled:
                (name_folder() / f"{name}.json").unlink(missing_ok=True)


def _hold(file: Path, stack: contextlib.ExitStack) -> int | None:
    """Return the file of a request, opened and locked; None where that cannot be."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_old(file.parent)
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        stack.callback(os.close, handle)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return None
    return handle


def _remove_old(folder: Path) -> None:
    for file in folder.glob("*.json"):
        if time.time() - file.stat().st_mtime > MOST_AGE_S:
            file.unlink(missing_ok=True)


def _read(handle: int) -> Unanswered | None:
    try:
        found = msgspec.json.decode(os.pread(handle, os.fstat(handle).st_size, 0), type=Unanswered)
    except (OSError, msgspec.DecodeError):
        return None
    return found if time.time() - found.made_unix_s < MOST_AGE_S else None


def _write(handle: int, content: bytes) -> None:
    # What cannot be kept is asked once all the same.
    with contextlib.suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, content, 0)
        os.fsync(handle)
