"""An experiment of packages that come with datamill."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from datamill.experiment.errors import InputError
from datamill.packing.package_placing import place_package
from datamill.packing.shipped_packages import ShippedPackage, ShippedResponse, find_shipped_package

#: Behind the table of a response that [replication] can repeat within an execution.
_REPEATED = "  # measured as often as [replication] asks: put it first to answer from those"


def make_experiment_from(folder: Path, names: tuple[str, ...], given: Mapping[str, Path]) -> None:
    """Make `folder` with an experiment of the named packages, complete with their sources.

    Background loads among them become levels of the factor `background_load`. A failure leaves
    nothing behind.

    Raises:
        InputError: for an unknown or repeated package, loads alone, or sources that are not available.
    """
    packages = [find_shipped_package(name) for name in names]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f'package "{name}" is named twice', remedy="Name each package once.")
    measured = [package for package in packages if package.kind != "load"]
    loads = [package for package in packages if package.kind == "load"]
    if not measured:
        raise InputError(
            f"{loads[0].name} is a background load: it never ends by itself, and measures nothing",
            remedy=f"Also name a package to measure, such as --from xz --from {loads[0].name}.",
        )
    fetched = {source for package in packages for source in package.list_fetched()}
    for source in given:
        if source not in fetched:
            raise InputError(
                f'no package here has sources called "{source}"',
                where="--source",
                remedy=f"Needed are {', '.join(sorted(fetched))}." if fetched else "Leave --source out.",
            )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as made:
        draft = Path(made) / folder.name
        (draft / "packages").mkdir(parents=True)
        for package in packages:
            place_package(package, draft / "packages" / package.name, given, click.echo)
        text = write_experiment(folder.name, measured, loads)
        (draft / "experiment.toml").write_text(text, encoding="utf-8")
        draft.rename(folder)


def list_obstacles(names: tuple[str, ...], folder: Path) -> list[str]:
    """What must be done before the experiment can run, one sentence each."""
    obstacles = []
    for package in map(find_shipped_package, names):
        absent = package.list_missing_programs()
        if absent:
            obstacles.append(f"{package.name} cannot run here yet; not on this machine: {', '.join(absent)}.")
        if package.missing:
            obstacles.append(
                f"{package.name} needs {package.missing} ({folder / 'packages' / package.name / 'env'})."
            )
    return obstacles


def write_experiment(name: str, measured: list[ShippedPackage], loads: list[ShippedPackage]) -> str:
    """The text of an experiment file for packages in the folder `packages/` beside it."""
    names = [package.name for package in measured]
    question = (
        measured[0].question
        if len(measured) == 1
        else f"How do {', '.join(names[:-1])} and {names[-1]} compare?"
    )
    parts = [
        "# What is asked, of what, and how. Every key: docs/reference/experiment-file.md of datamill.\n\n"
        f"[experiment]\nname = {_quote(name)}\nquestion = {_quote(question)}\nreplicates = 5\nseed = 1\n"
        'build = "shared"                 # setup.sh runs once, not in each trial\n'
    ]
    for table, packages in (("package", measured), ("load", loads)):
        parts.extend(
            f"[[{table}]]\nname = {_quote(package.name)}\npath = {_quote(f'packages/{package.name}')}\n"
            for package in packages
        )
    factors = (
        "[factors]                        # hidden factors to vary: no answer should hang on one level\n"
        'aslr = ["on", "off"]\n'
        "env_padding = [0, 10928]         # bytes\n"
    )
    if loads:
        levels = ", ".join(_quote(level) for level in ("none", *(load.name for load in loads)))
        factors += f"background_load = [{levels}]\n"
    parts.append(factors)
    parts.extend(_write_response(response) for response in _choose_responses(measured))
    parts.append('[limits]\nrun_timeout = "5min"\n')
    return "\n".join(parts)


def _choose_responses(packages: list[ShippedPackage]) -> list[ShippedResponse]:
    """What all packages have and one direction of is better, or the time where there is none."""
    first, *others = packages
    shared = [
        response
        for response in first.responses
        if response.direction and all(response in package.responses for package in others)
    ]
    return shared or [ShippedResponse("wall_time", "s", "lower", "wall_time_s")]


def _write_response(response: ShippedResponse) -> str:
    formula = f"formula = {_quote(response.formula)}\n" if response.formula else ""
    return (
        f"[responses.{response.name}]{_REPEATED if response.repeated else ''}\n"
        f"unit = {_quote(response.unit)}\n"
        f"{formula}direction = {_quote(response.direction)}\n"
    )


def _quote(text: str) -> str:
    """Write a text as TOML; JSON's strings are TOML's."""
    return json.dumps(text, ensure_ascii=False)
