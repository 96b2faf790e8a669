"""`datamill fetch --tables`: the results of all experiments that one may read, as a folder of Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from datamill.cli.console import print_clean
from datamill.cli.coordinator.coordinator_client import CoordinatorClient
from datamill.cli.json_answer import spell_answer
from datamill.conduct.fleet.table_parts import keep_part, read_manifest
from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import count_nouns
from datamill.protocol.api.bundles import TABLES_SCHEMA, TablePart, TableParts

#: Time that the coordinator may take to make a table, in seconds.
_MAKING_S = 330.0


def fetch_tables(coordinator: CoordinatorClient, folder: Path, *, as_json: bool) -> None:
    """Bring a folder up to date with the coordinator: parts that changed are replaced, others stay."""
    manifest = read_manifest(folder, coordinator.url)
    fetched: list[TablePart] = []
    kept = 0
    left = set(manifest.versions)
    for part in list_parts(coordinator):
        left.discard(part.experiment)
        if manifest.versions.get(part.experiment) == part.version:
            kept += 1
            continue
        with coordinator.stream_made(f"/experiments/{part.experiment}/table", _MAKING_S) as answer:
            manifest = keep_part(folder, manifest, part, answer.iter_bytes())
        fetched.append(part)
    told = (
        f"{count_nouns(len(fetched), 'experiment')} fetched, {kept} unchanged, in {folder}/"
        if fetched or kept
        else "No experiment that you may see has a trial that counted"
    )
    warnings = [f"You may no longer see experiment {number}: its table stays." for number in sorted(left)]
    if as_json:
        click.echo(spell_answer(f"{told}.", folder=str(folder), fetched=tuple(fetched), warnings=warnings))
        return
    print_clean(told)
    for warning in warnings:
        print_clean(f"Warning: {warning}")


def list_parts(coordinator: CoordinatorClient) -> Iterator[TablePart]:
    """Yield all parts that there are, a page at a time.

    Raises:
        InputError: when the coordinator's tables have other columns.
    """
    after: int | None = 0
    while after is not None:
        page = coordinator.get("/tables", TableParts, after=after)
        if page.columns_version != TABLES_SCHEMA:
            raise InputError(
                f"the tables have the columns of version {page.columns_version}, not {TABLES_SCHEMA}",
                remedy="Have the older one of both updated.",
            )
        yield from page.parts
        after = page.next
