"""`datamill selection init`: begin the settings of a project."""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.json_answer import spell_answer
from datamill.conduct.selection.collecting.begun_settings import begin_settings


@click.command()
@click.argument("repo", type=click.Path(path_type=Path), default=Path())
@click.option("--overwrite", is_flag=True, help="Replace a file that is there.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def init(repo: Path, overwrite: bool, as_json: bool) -> None:
    """Write selection.toml for REPO: how to build a version, its binaries, its benchmarks.

    make, autotools, cmake, meson and cargo are recognised by their files, binaries by what a build left in
    REPO. Then write the benchmarks into the file.
    """
    begun = begin_settings(repo, overwrite=overwrite)
    first = begun.builds[0]
    sentences = [f"{begun.path} is written: built by {first.system} ({first.command})."]
    if begun.missing:
        sentences.append(f"{begun.missing} is not installed here: no version can be built before it is.")
    if begun.binaries:
        sentences.append(f"Binaries: {', '.join(begun.binaries)}.")
    else:
        sentences.append(
            "No build was found in the repository: write the paths of its binaries into the file."
        )
    sentences.append("Write the benchmarks into it, then collect: datamill selection collect.")
    if as_json:
        click.echo(
            spell_answer(
                *sentences,
                file=str(begun.path),
                builds=[{"system": item.system, "command": item.command} for item in begun.builds],
                binaries=list(begun.binaries),
                missing=begun.missing,
            )
        )
        return
    click.echo("\n".join(sentences))
