"""Packages on disk: looking at one before anything runs, and packing it into the bundle."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from datamill.experiment.errors import InputError
from datamill.experiment.quantities import format_size
from datamill.experiment.records import Limits

#: Time stamp of every member of a packed package: equal content gives an equal hash wherever it was
#: checked out, and equal stamps never make `make` believe that something is out of date.
_MEMBER_TIME_S = 946_684_800

#: As much of a script as is looked at.
_HEAD_BYTES = 256
_SCRIPTS = {"run.sh": True, "collect.sh": True, "setup.sh": False}


@dataclass(frozen=True, slots=True)
class PackageFacts:
    """What a package holds: size when unpacked, number of files, and whether it has a `setup.sh`."""

    name: str
    path: Path
    size_bytes: int
    files: int
    has_setup: bool


@dataclass(frozen=True, slots=True)
class PackedPackage:
    """A packed package: the archive and its SHA-256."""

    archive: Path
    sha256: str
    size_bytes: int


def inspect_package(name: str, path: Path, limits: Limits) -> PackageFacts:
    """Check a package folder or `.tar.gz` as far as that is possible without running it.

    Raises:
        InputError: when it is missing, lacks an executable `run.sh` or `collect.sh`, is too large, or
            has a member that is unsafe (absolute, `..`, a link that leads outside, a device).
    """
    if path.is_dir():
        members = _list_folder(path)
    elif path.is_file():
        members = _list_archive(path)
    else:
        raise InputError(
            f'package "{name}" is not there',
            where=str(path),
            remedy="Correct the path; it is relative to the experiment file.",
        )
    size = files = 0
    modes: dict[str, int] = {}
    for member in members:
        _check_member(member, path)
        size += member.size_bytes
        files += 1
        if "/" not in member.name and not member.is_folder:
            modes[member.name] = member.mode
            if member.name in _SCRIPTS:
                _check_script(member, path)
        if size > limits.package_bytes or files > limits.package_files:
            raise InputError(
                f'package "{name}" is larger than allowed ({format_size(limits.package_bytes)}, '
                f"{limits.package_files} files)",
                where=str(path),
                remedy="Make it smaller, or raise [limits] package or package_files in the experiment file.",
            )
    for script, needed in _SCRIPTS.items():
        if script not in modes:
            if needed:
                raise InputError(
                    f'package "{name}" has no {script}',
                    where=str(path),
                    remedy=f"Put an executable {script} in the root of the package.",
                )
        elif not modes[script] & 0o111:
            raise InputError(
                f"{script} is not executable",
                where=str(path / script if path.is_dir() else path),
                remedy=f"Run chmod +x {script}" + ("." if path.is_dir() else " and pack the package again."),
            )
    return PackageFacts(name, path, size, files, "setup.sh" in modes)


def pack_package(facts: PackageFacts, archive: Path) -> PackedPackage:
    """Write a package as a `.tar.gz` whose bytes depend on its content alone; an archive is copied as it is.

    Raises:
        InputError: when a file cannot be read.
    """
    try:
        if facts.path.is_file():
            _copy_file(facts.path, archive)
        else:
            with (
                archive.open("wb") as raw,
                gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=1, mtime=0, filename="") as packed,
                tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
            ):
                for path in sorted(facts.path.rglob("*")):
                    _add_member(tar, path, path.relative_to(facts.path).as_posix())
    except PermissionError as error:
        raise InputError("the file cannot be read", where=str(error.filename)) from None
    digest = hashlib.sha256()
    with archive.open("rb") as handle:
        while chunk := handle.read(1 << 20):
            digest.update(chunk)
    return PackedPackage(archive, digest.hexdigest(), archive.stat().st_size)


@dataclass(frozen=True, slots=True)
class _Member:
    """One member of a package.

    `link` is where a link leads, from the package's root; `head` is the beginning of a script.
    """

    name: str
    size_bytes: int
    mode: int
    is_folder: bool
    link: str
    special: bool
    head: bytes = b""


def _list_folder(folder: Path) -> Iterator[_Member]:
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        regular = stat.S_ISREG(facts.st_mode)
        is_link = stat.S_ISLNK(facts.st_mode)
        yield _Member(
            name=path.relative_to(folder).as_posix(),
            size_bytes=facts.st_size if regular else 0,
            mode=facts.st_mode,
            is_folder=stat.S_ISDIR(facts.st_mode),
            link=str(path.relative_to(folder).parent / path.readlink()) if is_link else "",
            special=not (regular or is_link or stat.S_ISDIR(facts.st_mode)),
            head=_read_head(path) if regular and path.parent == folder and path.name in _SCRIPTS else b"",
        )


def _list_archive(path: Path) -> Iterator[_Member]:
    try:
        with tarfile.open(path, mode="r:gz") as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                if name in ("", "."):
                    continue
                # A hard link names its target from the archive's root, not from its own folder.
                base = PurePosixPath() if member.islnk() else PurePosixPath(name).parent
                yield _Member(
                    name=name,
                    size_bytes=member.size if member.isreg() else 0,
                    mode=member.mode,
                    is_folder=member.isdir(),
                    link=str(base / member.linkname) if member.issym() or member.islnk() else "",
                    special=not (member.isreg() or member.isdir() or member.issym() or member.islnk()),
                    head=_extract_head(tar, member) if name in _SCRIPTS else b"",
                )
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, OSError) as error:
        raise InputError(
            f"not a readable .tar.gz: {error}",
            where=str(path),
            remedy="Pack the package with tar czf.",
        ) from None


def _read_head(path: Path) -> bytes:
    with path.open("rb") as handle:
        return handle.read(_HEAD_BYTES)


def _extract_head(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    content = tar.extractfile(member) if member.isreg() else None
    return content.read(_HEAD_BYTES) if content is not None else b""


def _check_script(member: _Member, path: Path) -> None:
    """Refuse a script that the kernel would not execute."""
    if member.link or member.head.startswith(b"\x7fELF"):
        return
    first_line = member.head.split(b"\n", 1)[0]
    where = str(path / member.name if path.is_dir() else path)
    if not first_line.startswith(b"#!"):
        raise InputError(
            f"{member.name} does not begin with a #! line",
            where=where,
            remedy="Let its first line be, say, #!/bin/sh.",
        )
    if first_line.endswith(b"\r"):
        raise InputError(
            f"{member.name} has Windows line endings",
            where=where,
            remedy="Convert it, for example with sed -i 's/\\r$//'.",
        )


def _check_member(member: _Member, path: Path) -> None:
    pure = PurePosixPath(member.name)
    problem = ""
    if pure.is_absolute():
        problem = "an absolute path"
    elif ".." in pure.parts:
        problem = "a path with .."
    elif member.special:
        problem = "a device, socket or pipe"
    elif member.link:
        target = os.path.normpath(member.link)
        if target == ".." or target.startswith(("/", "../")):
            problem = f"a link that leads outside the package, to {member.link}"
    if problem:
        raise InputError(
            f'member "{member.name}" is {problem}',
            where=str(path),
            remedy="Remove it: a package may only hold files, folders and links within itself.",
        )


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
