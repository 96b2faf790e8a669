"""Packages of revisions, as bundles hold them: with their files, so that they can be built again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from datamill.conduct.timing.question import TimingQuestion
from datamill.conduct.timing.timing_bundle import PackageOrigin, write_plain_package
from datamill.experiment.command_lines import CommandLine
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import CommandSource, Limits
from datamill.packing.git.git_packages import write_built_package
from datamill.packing.git.git_trees import GitTree, GitTrees
from datamill.packing.packages import PackageFacts, inspect_package


def describe_origins(
    trees: GitTrees,
    chosen: Sequence[GitTree],
    build: str,
    question: TimingQuestion,
    tell: Callable[[str], None],
) -> Mapping[str, PackageOrigin]:
    """Return where the package of each revision is from.

    A commit is one of its repository; what is not committed is what the bundle holds of it. Files that no
    package can have are left where they are: `tell` hears that.
    """
    return {
        command.name: PackageOrigin(
            _list_keys(trees, tree, build, command),
            partial(_write, trees, tree, build, question, command, tell),
        )
        for tree, command in zip(chosen, question.commands, strict=True)
    }


def _list_keys(trees: GitTrees, tree: GitTree, build: str, command: CommandLine) -> dict[str, object]:
    if not tree.commit:
        return {"path": f"packages/{command.name}.tar.gz"}
    keys: dict[str, object] = {"git": str(trees.top), "rev": tree.commit}
    if build:
        keys["build"] = _place(trees, build)
    return keys | {"command": _place(trees, command.text), "shell": command.in_shell or _is_below(trees)}


def _is_below(trees: GitTrees) -> bool:
    return trees.inner != Path()


def _place(trees: GitTrees, text: str) -> str:
    """A command as it is typed at the top of the repository."""
    return f"cd '{trees.inner}' && {text}" if _is_below(trees) else text


def _write(
    trees: GitTrees,
    tree: GitTree,
    build: str,
    question: TimingQuestion,
    command: CommandLine,
    tell: Callable[[str], None],
    place: Path,
    limits: Limits,
) -> PackageFacts:
    source = CommandSource(_place(trees, command.text), shell=command.in_shell or _is_below(trees))
    try:
        write_built_package(
            place,
            source,
            lambda folder: trees.export(tree, folder),
            title=tree.title,
            build=_place(trees, build) if build else "",
        )
        return inspect_package(command.name, place, limits)
    except InputError as problem:
        shutil.rmtree(place, ignore_errors=True)
        tell(f"the bundle does not hold the files of {tree.title}: {problem.args[0]}")
        return write_plain_package(question, command, place, limits)
