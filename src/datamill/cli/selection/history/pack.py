"""`datamill selection pack`: a store as few small files."""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.selection.history.project_options import find_project, project_options
from datamill.conduct.selection.store.packed_store import pack_store
from datamill.experiment.quantities import format_size


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@project_options
def pack(folder: Path, repo: Path | None, file: Path | None, store: Path | None) -> None:
    """Write function tables, profiles and observations into FOLDER: facts only, no binaries, no sources.

    What it holds can be trained and evaluated anywhere: datamill selection evaluate --store FOLDER
    """
    project = find_project(repo, file, store)
    size = pack_store(project.store, project.settings_file, folder)
    click.echo(f"{folder} holds {len(project.store.versions)} versions in {format_size(size)}.")
