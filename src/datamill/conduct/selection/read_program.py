"""A program's function table from its file."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path

from datamill import _native
from datamill.experiment.errors import InputError
from datamill.selection.tables.function_table import Build, DataObject, Function, FunctionTable

#: A program of one instruction: the header of an ELF file for x86-64, and one segment that holds all of it.
_SMALLEST = (
    struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 62, 1, 0x1000, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    + struct.pack("<IIQQQQQQ", 1, 5, 0, 0x1000, 0x1000, 121, 121, 0x1000)
    + b"\xc3"
)


@cache
def read_form() -> int:
    """Return the version of the digests that this datamill makes, as the table of a program says it."""
    # Imported late: most who read programs know the version from their tables.
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="datamill-") as file:
        file.write(_SMALLEST)
        file.flush()
        return read_program(Path(file.name)).form


def read_program(path: Path) -> FunctionTable:
    """Read the functions and data of a program or shared library (ELF).

    Names also come from its separate debug file, where it has one.

    Raises:
        InputError: it cannot be read, or is no linked program of an architecture that is understood.
    """
    try:
        told, functions, data, build, lost = _native.read_function_table(str(path), Function, DataObject)
    except ValueError as error:
        raise InputError(
            str(error), where=str(path), remedy="Name a program or shared library that the build makes."
        ) from error
    return FunctionTable(*told, functions, data, Build(*build), lost)
