"""A store as few small files, which hold facts alone: to be committed, sent, and evaluated elsewhere."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

import msgspec

from datamill.conduct.selection.store.fleet_origin import ORIGIN_FILE, SUBMITTED_FILE
from datamill.conduct.selection.store.kept_commands import ASSUMED_FILE, COMMANDS_FILE
from datamill.conduct.selection.store.selection_store import (
    PACKED_PROFILES,
    PACKED_TABLES,
    PackedTable,
    ProgramProfiles,
    SelectionStore,
)
from datamill.experiment.errors import InputError
from datamill.selection.history.settings import SETTINGS_FILE

_COPIED = (
    "versions.json",
    "programs.json",
    "counts.json",
    "observations.parquet",
    COMMANDS_FILE,
    ASSUMED_FILE,
    ORIGIN_FILE,
)


def pack_store(store: SelectionStore, settings: Path, folder: Path) -> int:
    """Write function tables, profiles, observations and settings into a folder; return its size in bytes.

    Neither binaries nor sources are in it. Tables of neighbouring versions hardly differ, so that together
    they take little more than one.

    Raises:
        InputError: the folder holds something already or cannot be made, or a session is not finished.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError("is not empty", where=str(folder), remedy="Name a folder that is not there yet.")
    if store.read_session() is not None or (store.folder / SUBMITTED_FILE).exists():
        raise InputError(
            "was not measured to its end", where=str(store.folder), remedy="Collect again: it goes on."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot be made: {error.strerror}", where=str(folder), remedy="Name another folder."
        ) from error
    for name in _COPIED:
        if (store.folder / name).exists():
            shutil.copyfile(store.folder / name, folder / name)
    shutil.copyfile(settings, folder / SETTINGS_FILE)
    names = dict.fromkeys(name for item in store.programs.values() for name in item.tables.values())
    tables = [PackedTable(name, store.read_one_table(name)) for name in names]
    (folder / PACKED_TABLES).write_bytes(_compress(tables))
    profiles = [
        ProgramProfiles(program, tuple(store.read_profiles(program).values()))
        for program in store.programs
        if store.has_profiles(program)
    ]
    (folder / PACKED_PROFILES).write_bytes(_compress(profiles))
    return sum(path.stat().st_size for path in folder.iterdir())


def _compress(lines: list[PackedTable] | list[ProgramProfiles]) -> bytes:
    text = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": 1 << 26}]
    return lzma.compress(text, filters=filters)
