"""Packages that an experiment file describes in a few words: their folders are written when it is read."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from datamill.experiment.command_words import split_command
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import CommandSource, Experiment, GitSource, Package
from datamill.experiment.file.packages.parse_command import add_directory
from datamill.experiment.file.packages.pin_text import Pin, pin_values
from datamill.experiment.file.source import Source
from datamill.experiment.messages.mistakes import Mistakes
from datamill.packing.command_packages import write_command_package
from datamill.packing.git.asked_git import RevisionError, find_revision
from datamill.packing.git.git_packages import (
    list_submodules,
    list_uncommitted,
    write_git_package,
)
from datamill.packing.made_factors.library_factors import write_library_factor
from datamill.packing.made_factors.sweep_factors import write_sweep_factor

#: Where trials look for programs.
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class WrittenFolder:
    """A temporary folder that is there as long as this object is: who needs the one keeps the other."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="datamill-packages-"))
        self._remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class MadePackages:
    """An experiment whose packages all have a place on this machine.

    `text` is that of its file, with what was found out. `folders` has those that were written, by kind and
    number, and `factors` those of the sweeps; they are there as long as `written` is. `notes`
    say what of a repository has no part in its package.
    """

    experiment: Experiment
    text: str
    folders: Mapping[tuple[str, int], Path] = field(default_factory=dict)
    factors: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    written: WrittenFolder | None = None


def make_packages(experiment: Experiment, source: Source, folder: Path) -> MadePackages:
    """Write the packages that are commands, as they are found from the folder of the file, and the sweeps.

    Raises:
        InputError: when a command's folder or program is not there, or a library is not, each with its line.
    """
    mistakes = Mistakes()
    pins: list[Pin] = []
    folders: dict[tuple[str, int], Path] = {}
    made: dict[str, list[Package]] = {"package": [], "load": []}
    written = None
    notes: list[str] = []
    for kind, index, package in _list_packages(experiment):
        if package.command is not None:
            written = written or WrittenFolder()
            place = written.path / kind / package.name
            package = mistakes.attempt(
                partial(
                    _make_package, package, place, experiment, folder, (source, kind, index), notes.append
                ),
                package,
            )
            pins += _list_pins(package, kind, index)
            folders[kind, index] = place
        made[kind].append(package)
    mistakes.refuse()
    factors = []
    for sweep in experiment.sweeps:
        written = written or WrittenFolder()
        factors.append(written.path / "factor" / sweep.name)
        if sweep.libraries:
            where = source.locate(f"factors.{sweep.name}", "library")
            mistakes.attempt(partial(write_library_factor, factors[-1], sweep, folder, where), None)
        else:
            write_sweep_factor(factors[-1], sweep)
    mistakes.refuse()
    experiment = replace(experiment, packages=tuple(made["package"]), loads=tuple(made["load"]))
    return MadePackages(experiment, pin_values(source, pins), folders, tuple(factors), tuple(notes), written)


def _list_packages(experiment: Experiment) -> Iterator[tuple[str, int, Package]]:
    for kind, packages in (("package", experiment.packages), ("load", experiment.loads)):
        for index, package in enumerate(packages):
            yield kind, index, package


def _list_pins(package: Package, kind: str, index: int) -> Iterator[Pin]:
    if package.command is not None and package.command.directory:
        yield Pin(kind, index, "directory", package.command.directory)
    if package.git is not None:
        yield Pin(kind, index, "git", package.git.repository)
        yield Pin(kind, index, "rev", package.git.revision)


def _make_package(
    package: Package,
    place: Path,
    experiment: Experiment,
    folder: Path,
    where: tuple[Source, str, int],
    tell: Callable[[str], None],
) -> Package:
    source, kind, index = where
    assert package.command is not None
    if package.git is not None:
        return _make_git_package(package, package.git, place, folder, where, tell)
    directory = None
    command = package.command
    if command.directory:
        directory = (folder / Path(command.directory).expanduser()).resolve()
        if not directory.is_dir():
            raise InputError(
                f'the directory of {kind} "{package.name}" is not there: {directory}',
                where=source.locate(kind, "directory", occurrence=index),
                remedy="Correct the path; it is relative to the experiment file.",
            )
        command = replace(command, directory=str(directory))
        if experiment.isolation != "guest":
            _check_program(package.name, command, source.locate(kind, "command", occurrence=index), kind)
    write_command_package(place, command, directory, changes_allowed=experiment.isolation == "plain")
    return replace(package, command=command, needs=add_directory(package.needs, command))


def _make_git_package(
    package: Package,
    git: GitSource,
    place: Path,
    folder: Path,
    where: tuple[Source, str, int],
    tell: Callable[[str], None],
) -> Package:
    source, kind, index = where
    assert package.command is not None
    repository = (folder / Path(git.repository).expanduser()).resolve()
    try:
        revision = find_revision(repository, git.revision)
        write_git_package(place, package.command, repository, revision, git.build)
    except RevisionError as error:
        raise InputError(
            f'{kind} "{package.name}": {error}',
            where=source.locate(kind, error.key, occurrence=index),
            remedy=error.remedy,
        ) from None
    for left_out in (*list_submodules(repository, revision), *list_uncommitted(repository, revision)):
        tell(f'{kind} "{package.name}" has no part of {left_out}.')
    return replace(package, git=replace(git, repository=str(repository), revision=revision))


def _check_program(name: str, command: CommandSource, where: str, kind: str) -> None:
    """Refuse a command whose program is not where trials look for it; of a shell's nobody knows."""
    words = split_command(command)
    if words is None or any(part in words[0] for part, _ in command.arguments):
        return
    program = words[0]
    if "/" not in program:
        if shutil.which(program, path=SEARCH_PATH) is None:
            found = shutil.which(program)
            raise InputError(
                f'{kind} "{name}" runs {program}, which is in none of the folders of programs',
                where=where,
                remedy=f"Write its whole path: {found}."
                if found is not None
                else f"Install it, or write its path; trials look in {SEARCH_PATH}.",
            )
    elif shutil.which(str(Path(command.directory) / program)) is None:
        raise InputError(
            f'{kind} "{name}" runs {program}, which is not a program in {command.directory}',
            where=where,
            remedy="Correct the path; it is relative to directory, else to the experiment file.",
        )
