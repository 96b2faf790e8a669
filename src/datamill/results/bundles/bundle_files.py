"""The files of a bundle, as one list for every way to write it: a folder, or an archive that is sent."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.results.bundles.bundle_head import BundleFactor, BundleHead, BundlePackage
from datamill.results.bundles.replaced_file import write_file

#: Folders that a bundle has, whether there is anything in them or not.
FOLDERS = ("packages", "artifacts")
_PIECE_BYTES = 1 << 20


def check_bundle_place(folder: Path, *, resumes: bool) -> None:
    """Refuse a place where no new bundle can be made, such as before anything is measured.

    Args:
        folder: where it would be.
        resumes: whether what lies there may be an experiment to be continued, of `datamill run`.

    Raises:
        InputError: when it is no folder, is not empty, or cannot be made.
    """
    other = argument("out", verb="run") if resumes else argument("out", verb="time")
    if folder.exists() and not folder.is_dir():
        raise InputError("this is not a folder", where=str(folder), remedy=f"Name another one with {other}.")
    if folder.exists() and any(folder.iterdir()):
        more = (
            f", or continue an interrupted experiment with {argument('resume', verb='run')}"
            if resumes
            else ""
        )
        raise InputError(
            "the folder exists and is not empty",
            where=str(folder),
            remedy=f"Name another one with {other}{more}.",
        )
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise InputError(
            f"this folder cannot be made: {above} is not a folder that you may write to",
            where=str(folder),
            remedy=f"Name another one with {other}.",
        )


class ChangedFileError(Exception):
    """A file is not as long as it was: what is written of it is not whole."""


@dataclass(frozen=True, slots=True)
class BundleFile:
    """A file of a bundle: its bytes, the open or closed file that holds them, or what yields them."""

    name: str
    size_bytes: int
    source: bytes | Path | IO[bytes] | Callable[[], Iterator[bytes]]

    def read(self) -> Iterator[bytes]:
        """Yield the content in pieces.

        Raises:
            ChangedFileError: when it is not as long as it was said to be; no more than that is yielded.
            OSError: when it cannot be read.
        """
        size = 0
        for piece in self._read_source():
            size += len(piece)
            if size > self.size_bytes:
                break
            yield piece
        if size != self.size_bytes:
            raise ChangedFileError(f"{self.name} does not have the {self.size_bytes} bytes that it had")

    def digest(self) -> str:
        """Return the SHA-256 of the content.

        Raises:
            ChangedFileError: as `read`.
            OSError: as `read`.
        """
        digest = hashlib.sha256()
        for piece in self.read():
            digest.update(piece)
        return digest.hexdigest()

    def _read_source(self) -> Iterator[bytes]:
        if isinstance(self.source, bytes):
            yield self.source
        elif isinstance(self.source, Path):
            with self.source.open("rb") as handle:
                yield from _read_pieces(handle)
        elif callable(self.source):
            yield from self.source()
        else:
            self.source.seek(0)
            yield from _read_pieces(self.source)


def make_file(name: str, content: bytes) -> BundleFile:
    """Return a file of these bytes."""
    return BundleFile(name, len(content), content)


def make_json_file(name: str, record: Any) -> BundleFile:
    """Return a file that holds a record as JSON for people to read."""
    return make_file(name, msgspec.json.format(msgspec.json.encode(record)) + b"\n")


def make_spooled_file(name: str, spool: IO[bytes]) -> BundleFile:
    """Return a file of what was written to an open one."""
    return BundleFile(name, spool.seek(0, os.SEEK_END), spool)


def list_fixed_files(
    head: BundleHead,
    text: str,
    design: BundleFile,
    find: Callable[[BundlePackage | BundleFactor], BundleFile],
) -> list[BundleFile]:
    """Return the files of a bundle that are fixed before data, its head last: without it there is no bundle.

    Args:
        head: what the bundle says of itself; the digests of question and plan are put in.
        text: the experiment file.
        design: the plan, `design.json`.
        find: returns an archive that the head names.

    Raises:
        OSError: when an archive is not where it should be.
    """
    question = make_file("experiment.toml", text.encode())
    digests = {file.name: file.digest() for file in (question, design)}
    files = [question, design]
    archives: list[BundlePackage | BundleFactor] = [*head.packages, *head.loads, *head.factors]
    files += [find(item) for item in archives]
    return [*files, make_json_file("bundle.json", msgspec.structs.replace(head, sha256=digests))]


def write_folder(files: Iterable[BundleFile], folder: Path) -> None:
    """Write files into a folder that exists; each is on disk, whole, when this returns.

    Raises:
        ChangedFileError: when a file is not as long as it was said to be.
        OSError: when the disk is full or fails.
    """
    for name in FOLDERS:
        (folder / name).mkdir(exist_ok=True)
    for file in files:
        target = folder / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(file.source, Path):
            _link_or_copy(file.source, target)
        else:
            write_file(target, file.read())


def _link_or_copy(source: Path, target: Path) -> None:
    """Give a file its second name, which takes no room; where the file system cannot, copy it."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _read_pieces(handle: IO[bytes]) -> Iterator[bytes]:
    while piece := handle.read(_PIECE_BYTES):
        yield piece
