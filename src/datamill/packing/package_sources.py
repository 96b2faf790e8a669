"""Sources that a package needs beside its scripts: from upstream's tarballs to the package's folder."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import tarfile
import tomllib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from datamill.packing.debian_sources import SourcesError

#: What reading a damaged archive raises, by the way in which it is packed.
_DAMAGES = (tarfile.TarError, EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)


@dataclass(frozen=True, slots=True)
class KnownSources:
    """What `packages/sources.toml` pins: SHA-256 of tarballs and of the corpus' files, each by file name.

    `small` names the files of the corpus that ready-made packages take.
    """

    tarballs: dict[str, str]
    small: tuple[str, ...]
    corpus: dict[str, str]


def read_known_sources(path: Path) -> KnownSources:
    """Read the digests of the tarballs and files that we know."""
    known = tomllib.loads(path.read_text(encoding="utf-8"))
    corpus = known["corpus"]
    return KnownSources(known["tarballs"], tuple(corpus["small"]), corpus["files"])


def unpack_sources(
    tarball: Path, folder: Path, marks: tuple[str, ...] = (), leave_out: tuple[str, ...] = ()
) -> None:
    """Unpack the regular files of a source tarball without its top folder; nothing outside `folder`.

    Args:
        tarball: a tar archive with one folder at its top.
        folder: where the files go; made when missing.
        marks: files by which the sources are known.
        leave_out: files and folders, relative to the sources' root, that the package can do without.

    Raises:
        SourcesError: when it is no readable archive, leads out of itself, or lacks a mark.
    """
    skipped = {PurePosixPath(name) for name in leave_out}
    try:
        with tarfile.open(tarball) as archive:
            for member in archive:
                parts = PurePosixPath(member.name).parts
                if PurePosixPath(member.name).is_absolute() or ".." in parts:
                    raise SourcesError(f"{tarball}: member {member.name} leads out of the archive")
                if not member.isfile() or len(parts) < 2:
                    continue
                inside = PurePosixPath(*parts[1:])
                if inside in skipped or not skipped.isdisjoint(inside.parents):
                    continue
                path = folder / inside
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(_read_member(archive, member))
                path.chmod(0o755 if member.mode & 0o111 else 0o644)
                os.utime(path, (member.mtime, member.mtime))
    except _DAMAGES as error:
        raise _refuse_archive(tarball, error) from None
    for mark in marks:
        if not (folder / mark).is_file():
            raise SourcesError(f"{tarball} is not the release tarball that is needed: it has no {mark}")


def read_snappy_corpus(tarball: Path, known: KnownSources, *, whole: bool) -> tuple[dict[str, bytes], bytes]:
    """Read the mixed corpus, `testdata/` of the compressor snappy, each file checked against its digest.

    Returns:
        the content of each file by name, and the licence terms.

    Raises:
        SourcesError: when a file is missing or is not the one that we know.
    """
    wanted = sorted(known.corpus) if whole else known.small
    contents: dict[str, bytes] = {}
    terms = b""
    for path, content in _list_members(tarball):
        if path.parent.name == "testdata" and path.name in wanted:
            contents[path.name] = content
        elif len(path.parts) == 2 and path.name == "COPYING":
            terms = content
    for name in wanted:
        if name not in contents:
            raise SourcesError(f"{tarball.name} has no testdata/{name}")
        if hashlib.sha256(contents[name]).hexdigest() != known.corpus[name]:
            raise SourcesError(f"testdata/{name} in {tarball.name} is not the file that we know")
    return {name: contents[name] for name in wanted}, terms


def pack_corpus(files: dict[str, bytes]) -> bytes:
    """One tar of the files, with the same bytes everywhere."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(f"corpus/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _list_members(tarball: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    try:
        with tarfile.open(tarball) as archive:
            for member in archive:
                if member.isfile():
                    yield PurePosixPath(member.name), _read_member(archive, member)
    except _DAMAGES as error:
        raise _refuse_archive(tarball, error) from None


def _read_member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    if file is None:
        raise SourcesError(f"member {member.name} is not a regular file")
    return file.read()


def _refuse_archive(tarball: Path, error: Exception) -> SourcesError:
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(":")
    return SourcesError(f"{tarball} is not a tar archive that can be read ({reason})")
