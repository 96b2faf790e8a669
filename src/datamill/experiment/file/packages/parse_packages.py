"""From the tables `[[package]]` and `[[load]]` of an experiment file to packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Package, PackageNeeds
from datamill.experiment.file.fields import NAME, take_tables
from datamill.experiment.file.packages.parse_command import COMMAND_KEYS, add_directory, parse_command
from datamill.experiment.file.packages.parse_git import GIT_KEYS, parse_git
from datamill.experiment.file.packages.parse_needs import NEED_KEYS, parse_needs
from datamill.experiment.file.source import Source
from datamill.experiment.messages.mistakes import Mistakes

#: Where a package comes from: one of these, and with `git` a command as well.
_ORIGINS = ("path", "command", "git")


def parse_packages(tables: Mapping[str, Any], section: str, source: Source) -> tuple[Package, ...]:
    """Return the packages that the tables `[[package]]` or `[[load]]` name.

    Raises:
        InputError: when one lacks a name or does not say where it comes from, or two have the same name.
    """
    packages: dict[str, Package] = {}
    mistakes = Mistakes()

    def read(index: int, entry: Mapping[str, Any]) -> None:
        name = entry.get("name")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise InputError(
                f"a {section} needs a name of letters, digits, dots, underscores and dashes",
                where=source.locate(section, "name", occurrence=index),
                remedy=f'Write name = "{section}-{index + 1}", or what you call it.',
            )
        if name in packages:
            raise InputError(
                f'two {section}s are called "{name}"',
                where=source.locate(section, "name", occurrence=index),
                remedy=f"Give each {section} its own name.",
            )
        packages[name] = Package(name, "")
        packages[name] = _parse_package(name, entry, source, section, index)

    for index, entry in enumerate(take_tables(tables, section, source)):
        keys = ("name", *_ORIGINS, *GIT_KEYS, *COMMAND_KEYS, *NEED_KEYS)
        mistakes.attempt(partial(source.check_keys, entry, keys, section, occurrence=index), None)
        mistakes.attempt(partial(read, index, entry), None)
    mistakes.refuse()
    return tuple(packages.values())


def _parse_package(
    name: str, entry: Mapping[str, object], source: Source, section: str, index: int
) -> Package:
    def locate(key: str) -> str:
        return source.locate(section, key, occurrence=index)

    def check_origin() -> None:
        given = [key for key in _ORIGINS if key in entry]
        if len(given) > 1 and given != ["command", "git"]:
            raise InputError(
                f'{section} "{name}" has {" and ".join(given)}, and comes from one of them',
                where=locate(given[-1]),
                remedy="Keep one; two packages are two tables.",
            )
        if given == ["git"]:
            raise InputError(
                f'{section} "{name}" does not say what is measured',
                where=locate("git"),
                remedy='Write command = "./program arguments", which runs in the files of the revision.',
            )
        for key in GIT_KEYS:
            if key in entry and "git" not in entry:
                raise InputError(
                    f"{key} says something of a repository, and there is none",
                    where=locate(key),
                    remedy=f'Write git = "FOLDER", or leave {key} out.',
                )
        if "git" in entry and "directory" in entry:
            raise InputError(
                f'{section} "{name}" runs in the files of its revision',
                where=locate("directory"),
                remedy='Leave directory out, or write command = "cd FOLDER && ...".',
            )
        for key in COMMAND_KEYS:
            if key in entry and "command" not in entry:
                raise InputError(
                    f"{key} says how a command runs, and there is none",
                    where=locate(key),
                    remedy=f'Write command = "...", or leave {key} out.',
                )

    def read_path() -> str:
        path = entry.get("path")
        if "command" in entry or "git" in entry:
            return ""
        if not isinstance(path, str) or not path:
            raise InputError(
                f'{section} "{name}" needs a path or a command',
                where=locate("path"),
                remedy='Write path = "folder", path = "file.tar.gz" or command = "program arguments".',
            )
        return path

    mistakes = Mistakes()
    mistakes.attempt(check_origin, None)
    package = Package(
        name,
        mistakes.attempt(read_path, ""),
        mistakes.attempt(lambda: parse_needs(entry, source, section, index), PackageNeeds()),
    )
    command = None
    if "command" in entry:
        command = mistakes.attempt(lambda: parse_command(entry, source, section, index), None)
    git = None
    if "git" in entry:
        git = mistakes.attempt(lambda: parse_git(entry, source, section, index), None)
    mistakes.refuse()
    if command is None:
        return package
    if git is not None:
        return Package(name, "", package.needs, replace(command, directory=""), git)
    return Package(name, "", add_directory(package.needs, command), command)


def list_named_paths(source: Source) -> Iterator[tuple[str, str, int, str, str]]:
    """Yield section, name, occurrence, key and path of each file or folder that an experiment file names.

    Whatever is wrong with the file is passed over.
    """
    try:
        tables = source.parse()
    except InputError:
        return
    for section in ("package", "load", "factor"):
        entries = tables.get(section)
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            for key in ("path", "directory", "git"):
                path = entry.get(key) if isinstance(entry, dict) else None
                if isinstance(path, str) and path and "\0" not in path:
                    yield section, str(entry.get("name", "")), index, key, path
