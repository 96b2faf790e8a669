"""Commands of benchmarks and of what prepares them, as they are executed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from datamill.execution.command_session import CommandSession
from datamill.experiment.command_lines import fill, list_words
from datamill.experiment.errors import InputError
from datamill.protocol.commands import CommandAnswer, CommandRequest
from datamill.protocol.trial import SCHEMA_VERSION
from datamill.selection.history.settings import SelectionSettings

#: The folder of the settings, as commands name it.
HERE = "{here}"
#: The variable of builds that is that folder: a command may have its own `here`.
HERE_VARIABLE = "selection_here"
#: What a shell reads as one: quoted texts, signs after a backslash, comments.
_SHELL_PARTS = re.compile(
    rf"""\\.|'[^']*'|"(?:\\.|[^"\\])*"|(?<![^\s;&|()])\#[^\n]*|{re.escape(HERE)}""", re.DOTALL
)
_QUOTED_CHARACTERS = 300


def fill_command(text: str, here: Path) -> tuple[str, ...]:
    """Return the words of a command, in which `{here}` is the folder of the settings.

    Raises:
        InputError: the command is empty, or its quotes do not match.
    """
    return list_words(fill(text, {"here": str(here)}), shell=None)


def spell_here(command: str) -> str:
    """Return a shell's command with the variable of the folder of the settings in place of `{here}`.

    In quotes and without it is one word, whatever the folder is called.
    """
    value = f"${{{HERE_VARIABLE}}}"

    def spell(part: re.Match[str]) -> str:
        text = part[0]
        if text.startswith("#"):
            return text
        if text.startswith('"'):
            return text.replace(HERE, value)
        # Nothing stands for something else in single quotes: they end before it, and begin again.
        return text.replace(HERE, f"'\"{value}\"'" if text.startswith("'") else f'"{value}"')

    return _SHELL_PARTS.sub(spell, command)


def execute(
    session: CommandSession,
    command: tuple[str, ...],
    directory: Path,
    timeout_s: float,
    variables: Mapping[str, str] | None = None,
) -> CommandAnswer:
    """Execute a command once, measured by the worker; what it writes is read and dropped."""
    return session.measure(
        CommandRequest(
            schema=SCHEMA_VERSION,
            command=command,
            directory=str(directory),
            variables=dict(variables or {}),
            input=None,
            output="read",
            output_file=None,
            timeout_s=timeout_s,
            levels={},
        )
    )


def describe_problem(answer: CommandAnswer) -> str:
    """Return how an execution failed; empty where it did not."""
    if answer.failure is not None:
        return f"{answer.failure.message} {answer.failure.remedy}".strip()
    run = answer.run
    words = " ".join(answer.stderr_tail.split())[-_QUOTED_CHARACTERS:]
    said = f'; it said: "{words}"' if words else ""
    if run is None:
        return "could not be measured"
    if run.timed_out:
        return "takes longer than it may"
    if run.signal is not None:
        return f"was ended by signal {run.signal}{said}"
    return f"ended with status {run.exit_code}{said}" if run.exit_code != 0 else ""


def hide_folders(text: str, folders: Mapping[Path, str]) -> str:
    """Return a text in which folders of this machine have other names; what lies in one of no name has none.

    What a store holds goes to others, to whom the folders of this machine say nothing.
    """
    # The longest first: one may lie in the other.
    for folder in sorted(folders, key=lambda item: -len(str(item))):
        whole, name = re.escape(str(folder)), folders[folder]
        if not name:
            text = re.sub(f"{whole}/", "", text)
        parts = re.split(rf"{whole}(?![\w-]|\.\w)", text)
        text = (name or ".").join(parts)
    return text


def run_setup(session: CommandSession, settings: SelectionSettings, here: Path) -> None:
    """Execute what the benchmarks need once.

    Raises:
        InputError: it fails.
    """
    if not settings.setup.strip():
        return
    answer = execute(session, list_words(settings.setup, shell=True), here, settings.build_timeout_s)
    problem = describe_problem(answer)
    if problem:
        raise InputError(f"the setup {problem}", where=settings.setup, remedy="Run it alone to see why.")
