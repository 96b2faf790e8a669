"""Options that say which project, and which store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from datamill.conduct.selection.collecting.settings_file import Project

_F = TypeVar("_F", bound=Callable[..., Any])
_REPOSITORY = click.Path(path_type=Path)


def project_options(command: _F) -> _F:
    """Give a verb --repo, --file and --store."""
    for option in (
        click.option("--repo", type=_REPOSITORY, metavar="FOLDER", help="Clone of the project [.]."),
        click.option(
            "--file", type=_REPOSITORY, metavar="FILE", help="Settings [selection.toml at its top]."
        ),
        click.option(
            "--store", type=_REPOSITORY, metavar="FOLDER", help="Store [.datamill/selection in it]."
        ),
    ):
        command = option(command)
    return command


def find_project(
    repo: Path | None, file: Path | None, store: Path | None, named: Path | None = None
) -> Project:
    """Return the project that options and an argument name.

    Raises:
        InputError: two different repositories are named, or the project cannot be read.
    """
    from datamill.conduct.selection.collecting.settings_file import open_project

    if repo is not None and named is not None and repo.resolve() != named.resolve():
        raise click.UsageError("the repository is named twice: as an argument and by --repo")
    return open_project(named or repo or Path(), file, store)
