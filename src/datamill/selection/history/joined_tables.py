"""Function tables of several programs as one."""

from __future__ import annotations

from collections.abc import Mapping

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


def join_tables(tables: Mapping[str, FunctionTable]) -> FunctionTable:
    """Return one table of all programs; with several, names begin with the program's path.

    Programs do not see into each other: a function that calls one of another program calls an unknown one.
    """
    if len(tables) == 1:
        return next(iter(tables.values()))
    functions: list[Function] = []
    data: list[DataObject] = []
    for path, table in sorted(tables.items()):
        known = {item.name for item in table.functions} | {item.name for item in table.data}

        def place(name: str, path: str = path, known: set[str] = known) -> str:
            return f"{path}: {name}" if name in known else name

        functions += [
            msgspec.structs.replace(
                item,
                name=place(item.name),
                calls=tuple(map(place, item.calls)),
                refers_to=tuple(map(place, item.refers_to)),
            )
            for item in table.functions
        ]
        data += [msgspec.structs.replace(item, name=place(item.name)) for item in table.data]
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
