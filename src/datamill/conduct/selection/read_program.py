"""A program's function table from its file."""

from __future__ import annotations

from pathlib import Path

from datamill import _native
from datamill.experiment.errors import InputError
from datamill.selection.tables.function_table import Build, DataObject, Function, FunctionTable


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
