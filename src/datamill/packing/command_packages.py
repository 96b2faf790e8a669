"""Packages that are one command line, written as folders like any other."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from datamill.experiment.command_words import split_command
from datamill.experiment.experiment import CommandSource

#: Every private world has the worker's folder, and no host has.
_MARK = "/.datamill"
#: Status of a `run.sh` that did not come to its command.
_NOT_STARTED = 125

_GUARD = """\
if ! [ -d {mark} ]; then
    echo {message} >&2
    exit {status}
fi
"""


def write_command_package(
    folder: Path, command: CommandSource, directory: Path | None, *, changes_allowed: bool = False
) -> None:
    """Write the package of a command: what is in it depends on the arguments alone.

    In a private world `directory` is shown like the host's, and changes to it are the trial's own. A plain
    world has the host's own: there `run.sh` refuses, unless `changes_allowed`.

    Args:
        folder: of the package, which does not exist yet, or is empty.
        command: what is measured.
        directory: where it runs; None for a command that needs no files: it runs in the package's place.
        changes_allowed: whether it may change the directory's files in a plain world.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["#!/bin/sh\n"]
    if directory is not None:
        place = str(directory.absolute())
        if not changes_allowed:
            lines.append(_guard(place))
        lines.append(f"cd {shlex.quote(place)} || exit {_NOT_STARTED}\n")
    lines.append(f"exec {spell_command(command)}\n")
    write_script(folder / "run.sh", "".join(lines))


def write_script(path: Path, text: str) -> None:
    """Write an executable script; whatever a file may be called can stand in it."""
    path.write_bytes(text.encode(errors="surrogateescape"))
    path.chmod(0o755)


def _guard(place: str) -> str:
    message = (
        f"datamill: this machine gives trials no private world, so the command could change files in {place}"
        '. If it may, write isolation = "plain" under [experiment].'
    )
    return _GUARD.format(mark=_MARK, message=shlex.quote(message), status=_NOT_STARTED)


def spell_command(command: CommandSource) -> str:
    """The words of a command as a line of `run.sh`."""
    words = split_command(command)
    given = ("/bin/sh", "-c", command.text) if words is None else words
    return " ".join(_spell_word(word, dict(command.arguments)) for word in given)


def _spell_word(word: str, arguments: Mapping[str, str]) -> str:
    """One word of `run.sh`, with the variables that stand for parts of it."""
    if not any(part in word for part in arguments):
        return shlex.quote(word)
    parts = re.split(f"({'|'.join(map(re.escape, arguments))})", word)
    spelled = (f'"${arguments[part]}"' if part in arguments else shlex.quote(part) for part in parts if part)
    return "".join(spelled)
