"""Where what guests are made of is kept: lists of packages, kernels, root disks, workers, images."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder of the cache; all that is in it can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "datamill" / "guests"


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold a folder for this process alone; whoever comes second waits."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def make_once(target: Path, make: Callable[[Path], None]) -> Path:
    """Return `target`, made by `make` in an unfinished place beside it if it is not there yet.

    A rename is whole or not at all: nobody finds half a target, and of several processes one makes it.
    """
    with lock_folder(target.parent):
        if target.exists():
            return target
        unfinished = target.with_name(f".{target.name}.unfinished")
        if unfinished.is_dir():
            shutil.rmtree(unfinished)
        unfinished.unlink(missing_ok=True)
        make(unfinished)
        unfinished.rename(target)
    return target
