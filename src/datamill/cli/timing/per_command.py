"""Options of `datamill time` that stand once for all commands, or once for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from datamill.conduct.timing.question import Redirection
from datamill.experiment.command_lines import CommandLine, fill
from datamill.experiment.errors import InputError

#: What may become of standard output; `pipe` is what hyperfine calls `capture`.
_WHERE = {"capture": "capture", "pipe": "capture", "null": "null", "inherit": "inherit"}


def check_count(texts: Sequence[str], commands: Sequence[str], option: str) -> None:
    """Refuse an option that stands neither once nor once for each command that was typed.

    Raises:
        InputError: when that is so.
    """
    if len(texts) not in (0, 1, len(commands)):
        raise InputError(
            f"there are {len(texts)} of them for {len(commands)} commands",
            where=f"--{option}",
            remedy="Give one for all commands, or one for each.",
        )


def spread(texts: tuple[str, ...], commands: Sequence[CommandLine]) -> tuple[str, ...]:
    """Return texts that stand once for each typed command as one for each value of its parameters, too."""
    return texts if len(texts) < 2 else tuple(texts[command.place] for command in commands)


def choose_redirections(
    places: tuple[str, ...], commands: Sequence[CommandLine], *, shown: bool = False
) -> tuple[Redirection, ...]:
    """Return what becomes of standard output: one redirection for all commands, or one for each.

    Raises:
        InputError: when output is to be shown and to go elsewhere, or a file cannot be there.
    """
    if shown and any(place != "inherit" for place in places):
        raise InputError(
            "output cannot be shown and go elsewhere", where="--show-output", remedy="Leave one of them out."
        )
    if shown:
        places = ("inherit",)
    return tuple(_redirect(place) for place in spread(places, commands)) or (Redirection(),)


def _redirect(place: str) -> Redirection:
    match _WHERE.get(place):
        case "capture":
            return Redirection()
        case "null":
            return Redirection("null")
        case "inherit":
            return Redirection("inherit")
    file = Path(place).absolute()
    if file.is_dir() or not file.parent.is_dir():
        raise InputError(
            "this is a folder" if file.is_dir() else f"there is no folder {file.parent}",
            where="--output",
            remedy="Name a file, or one of capture, null and inherit.",
        )
    return Redirection("file", file)


def refuse_shared_setups(
    commands: Sequence[CommandLine], setup: tuple[str, ...], prepare: tuple[str, ...]
) -> None:
    """Refuse commands that are the same but for what sets them up, which all of them would share.

    Commands take turns after all of them were set up: what the last one left behind would be timed under
    the names of all.

    Args:
        commands: with the values of their parameters.
        setup: one text for all commands, or one for each of them.
        prepare: the same of what runs before each execution.

    Raises:
        InputError: when there are such commands.
    """
    seen: dict[tuple[tuple[str, ...], str], tuple[str, CommandLine]] = {}
    for number, command in enumerate(commands):
        made = _fill_own(setup, number, command)
        key = (command.words, _fill_own(prepare, number, command))
        other, first = seen.setdefault(key, (made, command))
        if other != made:
            raise InputError(
                f"{first.label} and {command.label} execute the same and differ in this alone: commands take "
                "turns after all of them were set up, so that what the last one made would be timed for both",
                where="--setup",
                remedy="Have each make another file, such as prog-{compiler}, and name that in the command; "
                "or write it into --prepare, which runs before each execution.",
            )


def _fill_own(texts: tuple[str, ...], number: int, command: CommandLine) -> str:
    if not texts:
        return ""
    return fill(texts[0] if len(texts) == 1 else texts[number], command.parameters)
