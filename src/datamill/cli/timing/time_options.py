"""Values of the options of `datamill time`, some of which `datamill gate` has as well."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from datamill.conduct.timing.question import FEWEST_WITH_INTERVAL, MOST_ROUNDS
from datamill.experiment.command_lines import list_steps, split_values
from datamill.experiment.errors import InputError
from datamill.experiment.messages.suggestions import suggest_name
from datamill.experiment.quantities import parse_duration
from datamill.experiment.responses import BUILT_IN_UNITS, DEFAULT_RESPONSE, Response

if TYPE_CHECKING:
    from datamill.conduct.commits.time_revisions import RevisionQuestion

#: What people call responses, and the built-in values that they are.
_RESPONSES = {
    "user_time": "user_time_s",
    "system_time": "system_time_s",
    "peak_memory": "peak_memory_bytes",
}
#: Units of times as hyperfine calls them.
UNITS = {"microsecond": "µs", "millisecond": "ms", "second": "s"}


def choose_response(name: str) -> Response:
    """Return the response that a user names.

    Raises:
        InputError: when there is none of that name.
    """
    if name in ("time", "wall_time"):
        return DEFAULT_RESPONSE
    formula = _RESPONSES.get(name, name)
    if formula not in BUILT_IN_UNITS:
        known = ["time", *_RESPONSES, *BUILT_IN_UNITS]
        raise InputError(
            f'there is no response "{name}"', where="--response", remedy=suggest_name(name, known)
        )
    shown = name if name in _RESPONSES else formula
    # A response may not have the name of a built-in value that is not its formula.
    unit = BUILT_IN_UNITS[formula]
    known_unit = unit if unit in ("s", "B", "ns") else f"{{{unit}}}"
    return Response(
        name=f"{shown}_per_execution" if shown in BUILT_IN_UNITS else shown,
        unit=known_unit,
        formula=formula,
        direction="lower",
    )


def parse_seconds(text: str | None, option: str) -> float:
    """Return a duration in seconds, 0 where none is given.

    Raises:
        InputError: when the text is not a duration.
    """
    if text is None:
        return 0.0
    value: object = float(text) if text.isascii() and text.replace(".", "", 1).isdigit() else text
    return parse_duration(value, where=f"--{option}")


def check_writable(file: Path) -> None:
    """Refuse a file that cannot be written, as far as that can be seen without writing it.

    Raises:
        InputError: when it is a folder, its folder is not there, or the user has no right to write it.
    """
    folder = file.absolute().parent
    if file.is_dir():
        raise InputError("this is a folder", where=str(file), remedy="Name a file in it.")
    if not folder.is_dir():
        raise InputError(
            f"there is no folder {file.parent}", where=str(file), remedy="Make it, or write elsewhere."
        )
    if not os.access(file if file.exists() else folder, os.W_OK):
        raise InputError(
            "you may not write this file", where=str(file), remedy="Name one in a folder of yours."
        )


def parse_statuses(text: str | None) -> frozenset[int]:
    """Return the exit statuses that are no failure.

    Raises:
        InputError: when the text is not a list of them.
    """
    if text is None:
        return frozenset({0})
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) <= 255 for part in parts):
        raise InputError(
            f"{text!r} is not a list of exit statuses",
            where="--allow-status",
            remedy="Write numbers from 0 to 255 with commas between them, such as 0,1.",
        )
    return frozenset(map(int, parts))


def parse_scans(
    scans: Sequence[tuple[str, str, str]], step: str | None, lists: Sequence[tuple[str, str]]
) -> dict[str, tuple[str, ...]]:
    """Return the values of each parameter that is scanned.

    Raises:
        InputError: when bounds and step make no scan, or a parameter is scanned twice.
    """
    found: dict[str, tuple[str, ...]] = {}
    if step is not None and not scans:
        raise InputError(
            "this is the step of a scan, but nothing is scanned",
            where="--parameter-step-size",
            remedy="Add --parameter-scan NAME LOW HIGH.",
        )
    given = [(name, list_steps(low, high, step)) for name, low, high in scans]
    given += [(name, split_values(values)) for name, values in lists]
    for name, values in given:
        if name in found:
            raise InputError(f'the parameter "{name}" is scanned twice', remedy="Name each once.")
        found[name] = values
    return found


def choose_rounds(exact: int | None, least: int | None, most: int | None) -> tuple[int, int | None]:
    """Return how many rounds are measured at least and at most; None for as many as it takes.

    Raises:
        InputError: when bounds contradict each other, or leave no room for an interval.
    """
    for given, option in ((exact, "--runs"), (most, "--max-runs")):
        if given is not None and given < FEWEST_WITH_INTERVAL:
            raise InputError(
                "one execution has no interval: how far the next one would be from it is not known",
                where=option,
                remedy=f"Write {FEWEST_WITH_INTERVAL} or more.",
            )
    for given, option in ((exact, "--runs"), (least, "--min-runs"), (most, "--max-runs")):
        if given is not None and given > MOST_ROUNDS:
            raise InputError(
                f"there are at most {MOST_ROUNDS} executions of each: beyond, chance in single executions is "
                "no longer what an answer lacks",
                where=option,
                remedy=f"Write {MOST_ROUNDS} or less.",
            )
    if exact is not None and (least is not None or most is not None):
        raise InputError(
            "it says how many executions there are, so that none are left to bound",
            where="--runs",
            remedy="Write --runs alone, or --min-runs and --max-runs.",
        )
    if exact is not None:
        return exact, exact
    if least is not None and most is not None and least > most:
        raise InputError(
            f"{least} executions at least are more than {most} at most",
            where="--min-runs",
            remedy="Lower it, or raise --max-runs.",
        )
    return least or 0, most


def choose_shell(name: str | None, *, none: bool) -> tuple[bool | None, tuple[str, ...]]:
    """Return whether all commands have a shell around them (None: where one needs it), and the user's own.

    The words of a shell of the user's own are empty where it is `/bin/sh`.

    Raises:
        InputError: when it cannot be found, or the options contradict each other.
    """
    if none or name == "none":
        if name not in (None, "none"):
            raise InputError("it asks for a shell, and --no-shell for none", where="--shell")
        return False, ()
    if name is None or name == "default":
        return (None if name is None else True), ()
    try:
        words = shlex.split(name)
    except ValueError:
        words = []
    if not words or shutil.which(words[0]) is None:
        raise InputError(
            f"there is no shell {name!r}",
            where="--shell",
            remedy="Write default for /bin/sh, none, or a program such as bash.",
        )
    return True, tuple(words)


def put_reference(
    commands: tuple[str, ...], labels: tuple[str, ...], reference: str | None, name: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return commands and their names with the reference before them.

    Raises:
        InputError: when there is a name without a reference.
    """
    if reference is None:
        if name is not None:
            raise InputError(
                "there is no reference to name",
                where="--reference-name",
                remedy="Add --reference CMD.",
            )
        return commands, labels
    if labels or name is not None:
        labels = (name or reference, *(labels or commands))
    return (reference, *commands), labels


def read_revisions(text: str | None, build: str | None, *, series: bool) -> RevisionQuestion | None:
    """Return which revisions are compared; None where none are.

    Raises:
        InputError: when options need `--git`, or the text names no revisions.
    """
    if text is None:
        if build is not None or series:
            raise InputError(
                "it goes with revisions",
                where="--series" if series else "--build",
                remedy="Name them with --git BASE..HEAD, or build before you time.",
            )
        return None
    from datamill.conduct.commits.time_revisions import RevisionQuestion

    names = [part.strip() for part in text.split(",")]
    if len(names) == 1 and ".." in text:
        first, _, last = text.partition("..")
        last = last.removeprefix(".") or "HEAD"
        names = [f"{first or 'HEAD'}...{last}" if "..." in text else first or "HEAD", last]
    elif len(names) == 1:
        # Against what is not committed.
        names = [text or "HEAD", ""]
    elif not all(names):
        raise InputError(
            f"{text!r} does not name revisions", where="--git", remedy="Write BASE..HEAD, or A,B,C."
        )
    if series and len(names) != 2:
        raise InputError(
            "a series goes from one revision to another", where="--series", remedy="Write BASE..HEAD."
        )
    return RevisionQuestion(Path.cwd(), tuple(names), (build or "").strip(), series)
