"""Values of the options of `datamill time`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datamill.experiment.command_lines import list_steps
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Response
from datamill.experiment.messages.suggestions import suggest_name
from datamill.experiment.quantities import parse_duration
from datamill.experiment.responses import BUILT_IN_UNITS, DEFAULT_RESPONSE

if TYPE_CHECKING:
    from datamill.conduct.commits.time_revisions import RevisionQuestion

#: What people call responses, and the built-in values that they are.
_RESPONSES = {
    "user_time": "user_time_s",
    "system_time": "system_time_s",
    "peak_memory": "peak_memory_bytes",
}
_WHERE = ("capture", "null", "inherit")


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
    scans: Sequence[tuple[str, str, str]], step: str, lists: Sequence[tuple[str, str]]
) -> dict[str, tuple[str, ...]]:
    """Return the values of each parameter that is scanned.

    Raises:
        InputError: when bounds and step make no scan, or a parameter is scanned twice.
    """
    found: dict[str, tuple[str, ...]] = {}
    given = [(name, list_steps(low, high, step)) for name, low, high in scans]
    given += [(name, tuple(values.split(","))) for name, values in lists]
    for name, values in given:
        if name in found:
            raise InputError(f'the parameter "{name}" is scanned twice', remedy="Name each once.")
        found[name] = values
    return found


def choose_output(where: str) -> dict[str, Any]:
    """Return what becomes of standard output, as fields of a `TimingQuestion`."""
    if where == "pipe":
        # As hyperfine calls it.
        where = "capture"
    if where in _WHERE:
        return {"output": where}
    return {"output": "file", "output_file": Path(where).absolute()}


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
