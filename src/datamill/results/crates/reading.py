"""A bundle taken out of an RO-Crate that anybody may have made: nothing in it is trusted."""

from __future__ import annotations

import hashlib
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import msgspec

from datamill.experiment.errors import InputError
from datamill.experiment.quantities import format_size
from datamill.results.bundles.bundle_head import BundleFactor, BundlePackage
from datamill.results.bundles.opening import open_bundle
from datamill.results.crates.metadata import METADATA_FILE

#: What a crate may hold: files, bytes of all of them unpacked, bytes of the metadata.
_MOST_FILES = 2_000_000
_MOST_BYTES = 1 << 40
_MOST_METADATA = 256 << 20
_PIECE_BYTES = 1 << 20
_WHOLE = "Take the crate again from where it is whole."
_DISTRUST = "Do not use it."


class _Entity(msgspec.Struct, frozen=True, rename={"id": "@id"}):
    """What is read of an entity: its file, and the digest that the file must have."""

    id: str = ""
    sha256: str = ""


class _Metadata(msgspec.Struct, frozen=True, rename={"graph": "@graph"}):
    """What is read of the metadata file."""

    graph: tuple[_Entity, ...]


def is_crate(path: Path) -> bool:
    """Whether a path is a zip file by its content, or the beginning of one that was cut off."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04" or zipfile.is_zipfile(path)


@contextmanager
def open_bundle_folder(path: Path) -> Iterator[Path]:
    """Yield the folder of a bundle; that of a crate is unpacked for as long as it is needed.

    Raises:
        InputError: the path is a zip file that is no crate of a bundle, or a damaged one.
    """
    if not is_crate(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="datamill-crate-") as folder:
        unpacked = Path(folder) / "bundle"
        unpack_crate(path, unpacked)
        yield unpacked


def unpack_crate(path: Path, folder: Path) -> None:
    """Unpack a crate into a new folder, which appears when every file in it is what the metadata say.

    Raises:
        InputError: it is no crate of a bundle, damaged, or holds anything else than plain files below its
            root; the folder is not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("the folder exists and is not empty", where=str(folder), remedy="Name another.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        with zipfile.ZipFile(path) as archive:
            _unpack(archive, draft, path)
        try:
            check_archives(draft)
        except InputError as problem:
            where = problem.where.replace(str(draft), str(path))
            raise problem.moved(where) from None
        draft.chmod(0o755)
        if folder.exists():
            folder.rmdir()
        draft.rename(folder)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise InputError(
            f"two files of the crate are in each other's way: {Path(error.filename or '').name}",
            where=str(path),
            remedy=_DISTRUST,
        ) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"the crate is damaged: {error}", where=str(path), remedy=_WHOLE) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _unpack(archive: zipfile.ZipFile, folder: Path, path: Path) -> None:
    members = archive.infolist()
    digests = _read_digests(archive, members, path)
    if len(members) > _MOST_FILES:
        raise InputError(f"{len(members)} files are too many", where=str(path), remedy=_DISTRUST)
    total = sum(member.file_size for member in members)
    free = shutil.disk_usage(folder).free
    if total > min(_MOST_BYTES, free):
        raise InputError(
            f"unpacked it would take {format_size(total)}, and there are {format_size(free)}",
            where=str(path),
            remedy="Make room, or do not use it.",
        )
    seen: set[str] = set()
    for member in members:
        name = _check_name(member, seen, path)
        if name is None:
            continue
        digest = hashlib.sha256()
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        written = 0
        with archive.open(member) as content, target.open("xb") as handle:
            while piece := content.read(_PIECE_BYTES):
                written += len(piece)
                # A member may hold more than it says.
                if written > member.file_size:
                    raise InputError(f"{name} is longer than it says", where=str(path), remedy=_DISTRUST)
                digest.update(piece)
                handle.write(piece)
        if digests.pop(name, digest.hexdigest()) != digest.hexdigest():
            raise InputError(
                f"{name} is not what the metadata of the crate say: it was changed or damaged",
                where=str(path),
                remedy=_WHOLE,
            )
    if digests:
        raise InputError(f"{min(digests)} is missing", where=str(path), remedy=_WHOLE)


def check_archives(folder: Path) -> None:
    """Read a bundle whole, and hold its packages, loads and factors against the digests that its head has.

    Raises:
        InputError: it is damaged, or its head names an archive that is another one or elsewhere.
    """
    bundle = open_bundle(folder)
    bundle.read_records()
    items: list[BundlePackage | BundleFactor] = [*bundle.head.packages, *bundle.head.loads]
    for item in (*items, *bundle.head.factors):
        file = folder / item.file
        inside = ".." not in PurePosixPath(item.file).parts and not PurePosixPath(item.file).is_absolute()
        if not inside or not file.is_file():
            raise InputError(
                f"{item.file} is missing: the bundle was made without it", where=str(folder), remedy=_WHOLE
            )
        with file.open("rb") as handle:
            if hashlib.file_digest(handle, "sha256").hexdigest() != item.sha256:
                raise InputError(f"{item.file} is not what was measured", where=str(folder), remedy=_DISTRUST)


def _read_digests(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], path: Path) -> dict[str, str]:
    """Return the digests that the metadata say files of a bundle have.

    Raises:
        InputError: there are no metadata, or they say nothing of a bundle.
    """
    member = next((item for item in members if item.filename == METADATA_FILE), None)
    if member is None or not any(item.filename == "bundle.json" for item in members):
        missing = METADATA_FILE if member is None else "bundle.json"
        raise InputError(
            f"this zip file is not an RO-Crate of a bundle: {missing} is missing",
            where=str(path),
            remedy="Give one that datamill export or a coordinator made.",
        )
    if member.file_size > _MOST_METADATA:
        raise InputError("the metadata of the crate are too large", where=str(path), remedy=_DISTRUST)
    try:
        with archive.open(member) as content:
            found = msgspec.json.decode(content.read(_MOST_METADATA), type=_Metadata)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(
            f"the metadata of the crate cannot be read: {error}", where=str(path), remedy=_WHOLE
        ) from None
    digests = {
        unquote(entity.id).removeprefix("./"): entity.sha256 for entity in found.graph if entity.sha256
    }
    if "bundle.json" not in digests or "log.jsonl" not in digests:
        raise InputError(
            "the metadata of the crate do not say which log and which bundle it holds",
            where=str(path),
            remedy=_DISTRUST,
        )
    return digests


def _check_name(member: zipfile.ZipInfo, seen: set[str], path: Path) -> str | None:
    """Return the name of a file to be written below the root; None for a folder and the crate's own files.

    Raises:
        InputError: it is no plain file below the root, or there is a second one of its name.
    """
    name = member.filename
    pure = PurePosixPath(name)
    kind = stat.S_IFMT(member.external_attr >> 16)
    plain = kind in (0, stat.S_IFREG) or (member.is_dir() and kind == stat.S_IFDIR)
    sound = (
        plain
        and not pure.is_absolute()
        and ".." not in pure.parts
        and pure.parts
        and "\\" not in name
        and "\0" not in name
        and not member.flag_bits & 1
        and len(name) < 1000
    )
    # On a case-blind disk two of them would be one.
    if not sound or name.rstrip("/").lower() in seen:
        raise InputError(
            f'the crate holds "{name[:80]}", which is not a plain file below its root, or twice',
            where=str(path),
            remedy=_DISTRUST,
        )
    seen.add(name.rstrip("/").lower())
    return None if member.is_dir() or name == METADATA_FILE else pure.as_posix()
