"""The results of a fleet's experiments as a folder of Parquet: a part for each experiment, replaced whole."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from datamill.experiment.errors import InputError
from datamill.protocol.api.bundles import TABLES_SCHEMA, TablePart
from datamill.results.bundles.opening import open_bundle

#: What tells which version of each part is there; readers of data sets pass over names that begin so.
MANIFEST_FILE = "_datamill.json"
PART_FILE = "part.parquet"


class Manifest(msgspec.Struct, frozen=True):
    """Which parts a folder has, from which coordinator, in which version of the columns."""

    columns_version: int
    coordinator: str
    versions: dict[int, str] = {}


def write_part_of_bundle(folder: str, owner: str, target: str) -> int:
    """Write the part of an experiment whose bundle is in a folder; return how many rows it has.

    Raises:
        InputError: its log is damaged.
    """
    # Tables take a while to load.
    from datamill.results.exporting.fleet_part import write_part

    bundle = open_bundle(Path(folder))
    return write_part(bundle.build_table(bundle.read_records()), owner, Path(target))


def read_manifest(folder: Path, coordinator: str) -> Manifest:
    """Return what a folder holds; nothing where it is empty, or its columns are those of another version.

    Raises:
        InputError: when it is of another coordinator, or holds something else.
    """
    file = folder / MANIFEST_FILE
    if not file.exists():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(
                "the folder holds something else than tables of a fleet",
                where=str(folder),
                remedy="Name another one, or one that does not exist.",
            )
        return Manifest(TABLES_SCHEMA, coordinator)
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Manifest)
    except msgspec.MsgspecError as error:
        raise InputError(f"the file is damaged: {error}", where=str(file), remedy="Remove it.") from None
    if found.coordinator != coordinator:
        raise InputError(
            f"the tables in this folder are of the coordinator at {found.coordinator}",
            where=str(folder),
            remedy="Experiments of two coordinators have the same numbers: name another folder.",
        )
    return found if found.columns_version == TABLES_SCHEMA else Manifest(TABLES_SCHEMA, coordinator)


def keep_part(folder: Path, manifest: Manifest, part: TablePart, pieces: Iterable[bytes]) -> Manifest:
    """Put a part in its place when it is whole, note its version, and return the new manifest.

    Raises:
        InputError: when what came is no whole part.
        OSError: when the disk is full, or the folder cannot be written; the old part stays.
    """
    place = folder / f"experiment={part.experiment}"
    place.mkdir(parents=True, exist_ok=True)
    draft = place / f".{PART_FILE}"
    try:
        with draft.open("wb") as handle:
            for piece in pieces:
                handle.write(piece)
        _check_whole(draft, part)
        draft.replace(place / PART_FILE)
    finally:
        draft.unlink(missing_ok=True)
    versions = {**manifest.versions, part.experiment: part.version}
    manifest = msgspec.structs.replace(manifest, versions=versions)
    file = folder / f".{MANIFEST_FILE}"
    file.write_bytes(msgspec.json.format(msgspec.json.encode(manifest)))
    file.replace(folder / MANIFEST_FILE)
    return manifest


def _check_whole(draft: Path, part: TablePart) -> None:
    """Refuse what was cut off: a Parquet file ends as it begins."""
    size = draft.stat().st_size
    with draft.open("rb") as handle:
        first = handle.read(4)
        handle.seek(max(0, size - 4))
        last = handle.read(4)
    if size < 12 or first != b"PAR1" or last != b"PAR1":
        raise InputError(
            f"the table of experiment {part.experiment} was cut off", remedy="Type the command again."
        )
