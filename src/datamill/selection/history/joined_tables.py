"""Function tables of several programs as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import msgspec

from datamill.selection.tables.function_table import Build, DataObject, Function, FunctionTable


def name_program(tables: Mapping[str, FunctionTable]) -> str:
    """Return a name that versions share whose binaries hold the same code and data, and were built alike."""
    import hashlib

    digest = hashlib.sha256()
    for path, table in sorted(tables.items()):
        told = (path, table.content, table.build.producers, table.build.libraries)
        digest.update(repr(told).encode())
    return digest.hexdigest()[:24]


def label_programs(paths: Collection[str]) -> dict[str, str]:
    """Return what stands before names of functions: file names without the version of a library.

    Another build may make them elsewhere, and the next version has another number. Two files of one name keep
    their paths.
    """
    short = {}
    for path in paths:
        name, point, _ = path.rpartition("/")[2].partition(".so")
        short[path] = name + point
    seen = Counter(short.values())
    return {path: label if seen[label] == 1 else path for path, label in short.items()}


def join_tables(tables: Mapping[str, FunctionTable], *, is_labelled: bool = False) -> FunctionTable:
    """Return one table of all programs; with several, names begin with the program's label.

    `is_labelled`: also with one, since another version has several.

    Programs do not see into each other: a function that calls one of another program calls an unknown one.
    """
    if len(tables) == 1 and not is_labelled:
        return next(iter(tables.values()))
    functions: list[Function] = []
    data: list[DataObject] = []
    labels = label_programs(tables)
    for path, table in sorted(tables.items()):
        label = labels[path]
        known = {item.name for item in table.functions} | {item.name for item in table.data}

        def place(name: str, label: str = label, known: set[str] = known) -> str:
            return f"{label}: {name}" if name in known else name

        functions += [
            msgspec.structs.replace(
                item,
                name=place(item.name),
                calls=tuple(map(place, item.calls)),
                refers_to=tuple(map(place, item.refers_to)),
            )
            for item in table.functions
        ]
        data += [
            msgspec.structs.replace(item, name=place(item.name), refers_to=tuple(map(place, item.refers_to)))
            for item in table.data
        ]
    every = [table for _, table in sorted(tables.items())]
    first = every[0]
    return FunctionTable(
        form=first.form,
        machine=first.machine,
        source=first.source if len({table.source for table in every}) == 1 else "several sources",
        content=name_program(tables),
        functions=tuple(functions),
        data=tuple(data),
        build=Build(
            tuple(dict.fromkeys(item for table in every for item in table.build.producers)),
            tuple(dict.fromkeys(item for table in every for item in table.build.libraries)),
        ),
        lost=tuple(dict.fromkeys(item for table in every for item in table.lost)),
    )
