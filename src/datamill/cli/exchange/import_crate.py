"""A bundle taken out of an RO-Crate."""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.console import name_command
from datamill.results.bundles.opening import open_bundle
from datamill.results.crates.reading import unpack_crate


def import_crate(file: Path, out: Path | None) -> None:
    """Unpack the crate into a folder, and say what it is.

    Raises:
        InputError: it is no crate of a bundle, or a damaged one; the folder is not empty.
    """
    folder = out or Path(file.name.partition(".")[0] or "bundle")
    unpack_crate(file, folder)
    bundle = open_bundle(folder)
    trials = len({record.trial_id for record in bundle.read_records()})
    click.echo(
        f"{folder}: the bundle of experiment {bundle.experiment.name}, {trials} trials; all digests hold."
    )
    click.echo(f"Next: {name_command()} report {folder}, or {name_command()} reproduce {folder} --run")
