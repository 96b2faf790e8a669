"""From a table `[factors.NAME]` with `library` to a factor whose levels are versions of a library."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import SYSTEM_LIBRARY, Sweep
from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.file.fields import spell_value
from datamill.experiment.file.source import Source
from datamill.experiment.messages.suggestions import suggest_name

#: The variable in which the level is.
LIBRARY_PATH = "LD_LIBRARY_PATH"
_KEYS = ("library", "levels", "program")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_LEVEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}")
#: What stands in a script between blanks.
_PROGRAM = re.compile(r"[A-Za-z0-9_./@+-]{1,255}")
_EXAMPLE = (
    'Write library = ["system", "./libfoo-1.2"], or library = { old = "./foo-1.2", new = "./foo-1.3" }.'
)


def parse_library(name: str, table: Mapping[str, object], source: Source) -> Sweep:
    """Return the factor of a table with `library`: folders, which name their levels, or levels with folders.

    `levels` picks some of them; `program` is a file of the package that has to map the library.

    Raises:
        InputError: for the first that cannot be, with its line.
    """
    section = f"factors.{name}"

    def refuse(key: str, message: str, remedy: str) -> InputError:
        return InputError(message, where=source.locate(section, key), remedy=remedy)

    source.check_keys(table, _KEYS, section)
    if name in FACTORS or not _NAME.fullmatch(name):
        raise refuse(
            "library",
            f'"{name}" cannot name a factor of libraries',
            "Use small letters, digits and underscores, a letter first, and no built-in factor's name.",
        )
    folders = _read_folders(table["library"])
    if isinstance(folders, str):
        raise refuse("library", f'factor "{name}" {folders}', _EXAMPLE)
    levels = table.get("levels", list(folders))
    if not isinstance(levels, list) or not levels:
        raise refuse(
            "levels", f'levels of factor "{name}" must be a list of its libraries', "Leave it out for all."
        )
    unknown = next((level for level in levels if level not in folders), None)
    if unknown is not None or len(set(levels)) < len(levels):
        message = (
            f'factor "{name}" has no library {spell_value(unknown)}'
            if unknown is not None
            else "a level is named twice"
        )
        raise refuse(
            "levels", message, suggest_name(str(unknown), folders) if unknown is not None else "Name it once."
        )
    program = table.get("program", "")
    if not isinstance(program, str) or (program and not _PROGRAM.fullmatch(program)):
        raise refuse(
            "program",
            f"program must be a file of the package, not {spell_value(program)}",
            'Write, say, program = "app": a path below that of run.sh.',
        )
    return Sweep(name, LIBRARY_PATH, "", tuple(levels), tuple(folders[level] for level in levels), program)


def _read_folders(given: object) -> dict[str, str] | str:
    """Return the folder of each level, empty for the system's; or a clause that says what is wrong."""
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif isinstance(given, str):
        pairs = [(_name_level(given), given)]
    elif isinstance(given, list) and all(isinstance(item, str) for item in given):
        pairs = [(_name_level(item), item) for item in given]
    else:
        return f"has no folders of libraries, but {spell_value(given)}"
    folders: dict[str, str] = {}
    for level, folder in pairs:
        if not isinstance(folder, str) or not folder.isprintable() or not folder:
            return f"has a library that is not a path: {spell_value(folder)}"
        if not _LEVEL.fullmatch(level) or level == "mixed":
            return f"cannot have the level {spell_value(level)}"
        if level in folders:
            return f'has two libraries called "{level}"'
        folders[level] = "" if level == folder == SYSTEM_LIBRARY else folder
    return folders if folders else "has no library"


def _name_level(folder: str) -> str:
    return PurePosixPath(folder).name
