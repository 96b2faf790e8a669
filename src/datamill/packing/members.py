"""Files of a package or factor, in a folder or a `.tar.gz`: listed, checked, and packed reproducibly."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from datamill.experiment.errors import InputError

#: Time stamp of every packed member: equal content gives an equal hash wherever it was checked out, and
#: equal stamps never make `make` believe that something is out of date.
_MEMBER_TIME_S = 946_684_800
#: Folders in each other that a package may have: a path of them has less than the kernel's 4096 bytes.
MOST_LEVELS = 128
#: Bytes that Linux lets a file's name have.
_LONGEST_NAME = 255
#: As much of a script as is looked at.
_HEAD_BYTES = 256
#: What an archive may have behind its last member: zeros, to a round number of bytes.
_MOST_BEHIND_BYTES = 16 << 20
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Packed:
    """A packed package or factor: the archive and its SHA-256."""

    archive: Path
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a package or factor.

    `link` is where a link leads, from the root; `head` is the beginning of a script.
    """

    name: str
    size_bytes: int
    mode: int
    is_folder: bool
    link: str
    special: bool
    head: bytes = b""


def list_members(path: Path, scripts: Collection[str]) -> Iterator[Member]:
    """Yield the members of a folder or `.tar.gz`, with the heads of the scripts in its root.

    Raises:
        InputError: when an archive cannot be read.
    """
    return _list_folder(path, scripts) if path.is_dir() else _list_archive(path, scripts)


def _walk_folder(folder: Path) -> list[Path]:
    """Return everything below a folder, sorted by the parts of its path; links are not followed.

    Raises:
        InputError: a folder cannot be read, or lies too deep to be packed.
    """
    found: list[Path] = []
    waiting = [(folder, 0)]
    while waiting:
        parent, depth = waiting.pop()
        if depth > MOST_LEVELS:
            raise _refuse_depth(folder, parent.relative_to(folder).as_posix())
        try:
            with os.scandir(parent) as entries:
                for entry in entries:
                    found.append(parent / entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((found[-1], depth + 1))
        except OSError as error:
            raise InputError(
                f"the folder cannot be read: {error.strerror}",
                where=str(parent),
                remedy="Make it readable, or remove it from the package.",
            ) from None
    return sorted(found)


def _refuse_depth(path: Path, name: str) -> InputError:
    return InputError(
        f"{name[:60]}… lies more than {MOST_LEVELS} folders deep",
        where=str(path),
        remedy="Leave it out, or put it higher.",
    )


def _list_folder(folder: Path, scripts: Collection[str]) -> Iterator[Member]:
    for path in _walk_folder(folder):
        facts = path.lstat()
        regular = stat.S_ISREG(facts.st_mode)
        is_link = stat.S_ISLNK(facts.st_mode)
        yield Member(
            name=path.relative_to(folder).as_posix(),
            size_bytes=facts.st_size if regular else 0,
            mode=facts.st_mode,
            is_folder=stat.S_ISDIR(facts.st_mode),
            link=str(path.relative_to(folder).parent / path.readlink()) if is_link else "",
            special=not (regular or is_link or stat.S_ISDIR(facts.st_mode)),
            head=_read_head(path) if regular and path.parent == folder and path.name in scripts else b"",
        )


def _list_archive(path: Path, scripts: Collection[str]) -> Iterator[Member]:
    try:
        with tarfile.open(path, mode="r:gz") as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                if name in ("", "."):
                    continue
                # A hard link names its target from the archive's root, not from its own folder.
                base = PurePosixPath() if member.islnk() else PurePosixPath(name).parent
                yield Member(
                    name=name,
                    size_bytes=member.size if member.isreg() else 0,
                    mode=member.mode,
                    is_folder=member.isdir(),
                    link=str(base / member.linkname) if member.issym() or member.islnk() else "",
                    special=not (member.isreg() or member.isdir() or member.issym() or member.islnk()),
                    head=_extract_head(tar, member) if name in scripts else b"",
                )
            _read_to_the_end(tar)
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, OSError) as error:
        raise InputError(
            f"not a readable .tar.gz: {error}",
            where=str(path),
            remedy="Pack it with tar czf.",
        ) from None


def _read_to_the_end(tar: tarfile.TarFile) -> None:
    """Read what is behind the last member: at the end stands the checksum over all that was read.

    Raises:
        EOFError: the archive was cut off.
        OSError: it is damaged, or goes on for long.
    """
    assert tar.fileobj is not None
    for _ in range(_MOST_BEHIND_BYTES // _PIECE_BYTES):
        if not tar.fileobj.read(_PIECE_BYTES):
            return
    raise OSError("it goes on behind its last member")


def _read_head(path: Path) -> bytes:
    with path.open("rb") as handle:
        return handle.read(_HEAD_BYTES)


def _extract_head(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    content = tar.extractfile(member) if member.isreg() else None
    return content.read(_HEAD_BYTES) if content is not None else b""


def check_script(member: Member, path: Path) -> None:
    """Refuse a script that the kernel would not execute.

    Raises:
        InputError: when it is not executable, has no `#!` line, or Windows line endings.
    """
    where = str(path / member.name if path.is_dir() else path)
    if not member.mode & 0o111:
        raise InputError(
            f"{member.name} is not executable",
            where=where,
            remedy=f"Run chmod +x {member.name}" + ("." if path.is_dir() else " and pack it again."),
        )
    if member.link or member.head.startswith(b"\x7fELF"):
        return
    first_line = member.head.split(b"\n", 1)[0]
    if not first_line.startswith(b"#!"):
        raise InputError(
            f"{member.name} does not begin with a #! line",
            where=where,
            remedy="Begin it with a line such as #!/bin/sh.",
        )
    if first_line.endswith(b"\r"):
        raise InputError(
            f"{member.name} has Windows line endings",
            where=where,
            remedy="Convert it, for example with sed -i 's/\\r$//'.",
        )


class MemberChecks:
    """Refuses what no worker unpacks, member by member, of the folder or archive at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._are_folders: dict[PurePosixPath, bool] = {}

    def check(self, member: Member) -> None:
        """Look at the next member.

        Raises:
            InputError: when it is absolute, has `..`, leads outside as a link, is a device, lies too deep,
                has too long a name, has the name of an earlier one, or lies below a file.
        """
        pure = PurePosixPath(member.name)
        if len(pure.parts) > MOST_LEVELS + 1:
            raise _refuse_depth(self._path, member.name)
        if problem := _find_way_out(pure, member):
            raise InputError(
                f'member "{member.name}" is {problem}',
                where=str(self._path),
                remedy="Remove it: a package may only hold files, folders and links within itself.",
            )
        if longest := next((part for part in pure.parts if len(os.fsencode(part)) > _LONGEST_NAME), ""):
            raise InputError(
                f'the name "{longest[:60]}…" is longer than the {_LONGEST_NAME} bytes that a file may have',
                where=str(self._path),
                remedy="Give it a shorter one.",
            )
        self._place(pure, member)

    def _place(self, pure: PurePosixPath, member: Member) -> None:
        for parent in pure.parents[:-1]:
            if not self._are_folders.setdefault(parent, True):
                raise InputError(
                    f'member "{member.name}" lies below "{parent}", which is not a folder',
                    where=str(self._path),
                    remedy="Pack the folder anew, into a new archive.",
                )
        is_new = pure not in self._are_folders
        if not is_new and not (member.is_folder and self._are_folders[pure]):
            raise InputError(
                f'two members are called "{member.name}"',
                where=str(self._path),
                remedy="Pack the folder anew, into a new archive: adding to one leaves the old file in it.",
            )
        self._are_folders[pure] = member.is_folder


def _find_way_out(pure: PurePosixPath, member: Member) -> str:
    """By what a member would reach outside; empty where it does not."""
    if pure.is_absolute():
        return "an absolute path"
    if ".." in pure.parts:
        return "a path with .."
    if member.special:
        return "a device, socket or pipe"
    target = os.path.normpath(member.link)
    if member.link and (target == ".." or target.startswith(("/", "../"))):
        return f"a link that leads outside the package, to {member.link}"
    return ""


def pack_members(path: Path, archive: Path) -> Packed:
    """Write a folder as a `.tar.gz` whose bytes depend on its content alone; an archive is copied as it is.

    Raises:
        InputError: when a file cannot be read.
    """
    try:
        if path.is_file():
            _copy_file(path, archive)
        else:
            with (
                archive.open("wb") as raw,
                gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=1, mtime=0, filename="") as packed,
                tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
            ):
                for item in _walk_folder(path):
                    _add_member(tar, item, item.relative_to(path).as_posix())
    except PermissionError as error:
        raise InputError("the file cannot be read", where=str(error.filename)) from None
    digest = hashlib.sha256()
    with archive.open("rb") as handle:
        while chunk := handle.read(1 << 20):
            digest.update(chunk)
    return Packed(archive, digest.hexdigest(), archive.stat().st_size)


def _add_member(tar: tarfile.TarFile, path: Path, name: str) -> None:
    member = tar.gettarinfo(path, arcname=name)
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = _MEMBER_TIME_S
    member.mode = 0o755 if member.isdir() or member.mode & 0o111 else 0o644
    if member.islnk():
        # The second name of a file is packed as a file of its own, so that the order of names is free.
        member.type = tarfile.REGTYPE
        member.linkname = ""
        member.size = path.stat().st_size
    if member.isreg():
        with path.open("rb") as handle:
            tar.addfile(member, handle)
    else:
        tar.addfile(member, io.BytesIO())


def _copy_file(source: Path, target: Path) -> None:
    with source.open("rb") as reader, target.open("wb") as writer:
        while chunk := reader.read(1 << 20):
            writer.write(chunk)
