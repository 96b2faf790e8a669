"""From `command` in a table `[[package]]` or `[[load]]` to a package that is a command line."""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from dataclasses import replace

from datamill.experiment.command_words import split_command
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import CommandSource, PackageNeeds
from datamill.experiment.file.fields import spell_value
from datamill.experiment.file.source import Source
from datamill.experiment.messages.mistakes import Mistakes
from datamill.experiment.messages.numbers import format_count

#: Keys that go with `command` alone.
COMMAND_KEYS = ("directory", "shell")
#: The kernel takes words of 128 KiB, one of which is the whole command where a shell runs it.
LONGEST_COMMAND = 1 << 16
_LONGEST_PATH = 4096


def parse_command(entry: Mapping[str, object], source: Source, section: str, index: int) -> CommandSource:
    """Return the command line of a table that has one.

    Raises:
        InputError: when nothing could run it, or its folder or shell is not of their kind, with the line.
    """

    def refuse(key: str, message: str, remedy: str) -> InputError:
        return InputError(message, where=source.locate(section, key, occurrence=index), remedy=remedy)

    def read_text() -> str:
        text = entry["command"]
        if not isinstance(text, str) or not text.strip():
            raise refuse("command", "command must be a command line", 'Write, say, command = "gzip -9 file".')
        if "\0" in text or len(text) > LONGEST_COMMAND:
            raise refuse(
                "command",
                "no program can be given this command: it has a NUL character"
                if "\0" in text
                else f"a command has at most {format_count(LONGEST_COMMAND)} characters",
                "Put what it does into a script, and name that.",
            )
        return text

    def read_directory() -> str:
        directory = entry.get("directory", ".")
        if not isinstance(directory, str) or "\0" in directory or len(directory) > _LONGEST_PATH:
            raise refuse(
                "directory",
                f"directory must be the path of a folder, not {spell_value(directory)}",
                'Write, say, directory = "data"; it is relative to the experiment file.',
            )
        return directory

    def read_shell() -> bool | None:
        shell = entry.get("shell")
        if shell is not None and not isinstance(shell, bool):
            raise refuse(
                "shell",
                f"shell must be true or false, not {spell_value(shell)}",
                "Leave it out: a command has a shell around it where it needs one.",
            )
        return shell

    mistakes = Mistakes()
    text = mistakes.attempt(read_text, "")
    directory = mistakes.attempt(read_directory, ".")
    shell = mistakes.attempt(read_shell, None)
    mistakes.refuse()
    command = CommandSource(text, directory, shell)
    _check_words(command, source.locate(section, "command", occurrence=index))
    return command


def _check_words(command: CommandSource, where: str) -> None:
    try:
        words = split_command(command)
    except ValueError:
        raise InputError(
            f"the quotes of the command do not match: {spell_value(command.text)}",
            where=where,
            remedy="Close what is open; write \\\\ for a backslash, and put a text in '...' that has \".",
        ) from None
    # What begins with a sign is an option to a shell as well.
    if words is None and command.text.lstrip().startswith(("-", "+")):
        words = ()
    if words is not None and (not words or not words[0] or words[0].startswith("-")):
        raise InputError(
            f"the command does not begin with a program: {spell_value(command.text)}",
            where=where,
            remedy='Write, say, command = "gzip -9 file".',
        )


def add_directory(needs: PackageNeeds, command: CommandSource) -> PackageNeeds:
    """The needs of a package, with the folder of its command once it is known where that is."""
    folder = os.path.normpath(command.directory)
    if not folder.startswith("/") or folder in needs.folders:
        return needs
    return replace(needs, folders=(*needs.folders, folder))
