"""A program's functions, data and build, as the native module reads them from its file."""

from __future__ import annotations

import gc

import msgspec

from datamill.experiment.errors import InputError


# Nothing in a table points back at it: the collector of garbage need not go through thousands of rows.
class Function(msgspec.Struct, frozen=True, gc=False):
    """One function of a program.

    `name` occurs once in a table. `code` is a digest that moving the function or its data does not change;
    `code_without_lines` leaves out line numbers that the compiler put in (None without any), and
    `code_without_names` the names of the program's own functions and data (None where it names none). `size`
    is in bytes, `instructions` counts static ones. `clone_of` is the function that the compiler made this one
    of. `calls` and `refers_to` name functions and data once each, in the order of the code.
    """

    name: str
    code: str
    size: int
    instructions: int
    code_without_lines: str | None = None
    code_without_names: str | None = None
    loops: int = 0
    symbol: str = ""
    clone_of: str | None = None
    file: str | None = None
    aliases: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    refers_to: tuple[str, ...] = ()
    constants: tuple[int, ...] = ()


class DataObject(msgspec.Struct, frozen=True, gc=False):
    """Data with a name, a digest of what they hold, their size in bytes, and the section that holds them.

    `refers_to` are named data and functions that their pointers lead to, each once, in their order;
    `content_without_names` leaves their names out (None without any).
    """

    name: str
    content: str
    size: int
    section: str = ""
    refers_to: tuple[str, ...] = ()
    content_without_names: str | None = None


class Build(msgspec.Struct, frozen=True):
    """How a program was built: compilers with options, and shared libraries that it needs."""

    producers: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    build_id: str | None = None
    debug_link: str | None = None


class FunctionTable(msgspec.Struct, frozen=True):
    """A program as what two builds are compared by.

    `form` is the version of the digests, `content` one of all code and data: equal for programs that do the
    same. `source` says where the functions are from, `lost` what the file does not say, in sentences.
    """

    form: int
    machine: str
    source: str
    content: str
    functions: tuple[Function, ...]
    data: tuple[DataObject, ...] = ()
    build: Build = Build()
    lost: tuple[str, ...] = ()


_DECODER = msgspec.json.Decoder(FunctionTable)


def decode_table(json: bytes, where: str) -> FunctionTable:
    """Return the table that JSON holds; `where` names it in errors.

    Raises:
        InputError: it is no such table.
    """
    # Thousands of tuples become garbage later or never: looking for it meanwhile takes a quarter of the time.
    collects = gc.isenabled()
    gc.disable()
    try:
        return _DECODER.decode(json)
    except msgspec.MsgspecError as error:
        raise InputError(f"cannot be read as a table of functions: {error}", where=where) from error
    finally:
        if collects:
            gc.enable()


def encode_table(table: FunctionTable) -> bytes:
    """Return a table as JSON."""
    return msgspec.json.encode(table)
