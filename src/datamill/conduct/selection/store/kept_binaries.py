"""Binaries of a version: read, with the shared libraries of the same build, and kept to be executed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from datamill.conduct.selection.read_program import read_program
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.experiment.errors import InputError
from datamill.selection.history.joined_tables import name_program
from datamill.selection.history.records import Program
from datamill.selection.tables.function_table import FunctionTable


def keep_binaries(source: Path, paths: Sequence[str], keep: Sequence[str], store: SelectionStore) -> Program:
    """Read binaries below a folder into the store, and keep them with the paths of `keep`.

    Shared libraries that the build made and that these need are read and kept too: what changes in them
    changes the program. Binaries that differ from kept ones in the names of functions alone are the same
    program, with the names of those that are kept: these are profiled, by their names.

    Raises:
        InputError: one is not there, or cannot be read as a program.
    """
    made: dict[str, str] = {}
    tables: dict[str, FunctionTable] = {}
    waiting = list(dict.fromkeys(paths))
    while waiting:
        path = waiting.pop(0)
        if not (source / path).is_file():
            raise InputError(
                f"the build makes no {path}", where=str(source), remedy="See what binaries the settings name."
            )
        tables[path] = read_program(source / path)
        if tables[path].build.libraries and not made:
            made = _list_libraries(source)
        for name in tables[path].build.libraries:
            found = made.get(name)
            known = [*tables, *waiting]
            if found is not None and not any(_is_same(source / found, source / item) for item in known):
                waiting.append(found)
    name = name_program(tables)
    store.prepare()
    folder = store.place_programs(name)
    listed = store.programs.get(name)
    if listed is not None and folder.exists():
        return listed
    if listed is not None and store.has_profiles(name):
        # Its profiles have the names of binaries that are gone.
        program = listed
    else:
        program = Program(name, {path: store.keep_table(table) for path, table in tables.items()})
    new = folder.with_name(f".{name}.{os.getpid()}")
    shutil.rmtree(new, ignore_errors=True)
    for path in dict.fromkeys((*tables, *keep)):
        _copy(source / path, new / path)
    _link_libraries(source, new, tables, made)
    # What was kept by a command that ended before it was listed may have other names.
    shutil.rmtree(folder, ignore_errors=True)
    new.replace(folder)
    return program


def list_variables(program: Program, folder: Path) -> dict[str, str]:
    """Return variables with which programs kept in a folder find their shared libraries there.

    A build writes into its programs where it made their libraries: that place is gone, or holds those of
    another version.
    """
    places = [str(folder / path) for path in list_library_folders(program)]
    return {"LD_LIBRARY_PATH": ":".join(places)} if places else {}


def list_library_folders(program: Program) -> list[str]:
    """Return the folders of a program's shared libraries, as paths from where it is kept."""
    return sorted({str(PurePosixPath(path).parent) for path in program.tables if _is_library(path)})


def _is_library(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith(".so") or ".so." in name


def _list_libraries(folder: Path) -> dict[str, str]:
    """Shared libraries below a folder by their names, files and links, with the shortest path of each."""
    found: dict[str, str] = {}
    for place, _, names in os.walk(folder):
        for name in filter(_is_library, names):
            file = Path(place) / name
            path = str(file.relative_to(folder))
            shorter = name not in found or (path.count("/"), path) < (found[name].count("/"), found[name])
            if shorter and file.is_file():
                found[name] = path
    return found


def _link_libraries(
    source: Path, folder: Path, tables: Mapping[str, FunctionTable], made: Mapping[str, str]
) -> None:
    """Give kept libraries the names by which programs ask for them."""
    for name in {name for table in tables.values() for name in table.build.libraries if name in made}:
        for path in filter(_is_library, tables):
            link = (folder / path).with_name(name)
            if _is_same(source / made[name], source / path) and not link.exists():
                link.symlink_to(Path(path).name)


def _is_same(first: Path, second: Path) -> bool:
    return second.exists() and first.samefile(second)


def _copy(path: Path, to: Path) -> None:
    """Copy a file or folder; what a version does not have is left out."""
    if path.is_dir():
        shutil.copytree(path, to, symlinks=True, dirs_exist_ok=True)
    elif path.exists():
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, to)
