"""What came from other tools: what the table holds, what was left out, and which analysis can answer next."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec
import polars as pl

from datamill.experiment.messages.arguments import argument, command, tell
from datamill.results.foreign.importing import Imported, count_exclusions
from datamill.results.foreign.table import FACTOR_PREFIX, list_factors


class ResponseSummary(msgspec.Struct, frozen=True):
    """A response of the table: its units, its usable values, and the processes that they come from."""

    name: str
    units: tuple[str, ...]
    values: int
    executions: int
    reported_units: tuple[str, ...]


class FileSummary(msgspec.Struct, frozen=True):
    """A file that was imported, as which format, and what is to be said about it."""

    path: str
    label: str
    format: str
    notes: tuple[str, ...]


class ImportSummary(msgspec.Struct, frozen=True):
    """What was imported; `left_out` counts excluded rows by their reason, `next` is a command to type."""

    files: tuple[FileSummary, ...]
    rows: int
    benchmarks: tuple[str, ...]
    factors: dict[str, tuple[str, ...]]
    responses: tuple[ResponseSummary, ...]
    left_out: dict[str, int]
    table: str | None
    notes: tuple[str, ...]
    next: str


def summarize_import(imported: Imported, target: Path | None, *, independent: bool) -> ImportSummary:
    """Say what an imported table holds, what was left out, and what to type next.

    Args:
        imported: the table with the files that it came from.
        target: where the table was written; None when it was written to standard output.
        independent: whether measurements inside one process count as replicates.
    """
    table = imported.table
    valid = table.filter("valid")
    names = ("file", "benchmark", *list_factors(table))
    factors = {name: tuple(valid[name].drop_nulls().unique(maintain_order=True)) for name in names}
    responses = tuple(
        _summarize_response(valid.filter(pl.col("response") == name), name)
        for name in table["response"].unique(maintain_order=True)
    )
    varied = [name for name in names if valid[name].n_unique() > 1]
    notes = _note_doubts(valid, responses, list_factors(table), independent=independent)
    usable = [item.name for item in responses if item.values and len(item.units) == 1]
    following, note = "", ""
    if target and usable:
        rows = valid.filter(pl.col("response") == usable[0])
        following, note = _suggest_analysis(target, usable[0], rows, names)
        notes += [note] if note else []
    return ImportSummary(
        files=tuple(FileSummary(item.path, item.label, item.title, item.notes) for item in imported.files),
        rows=table.height,
        benchmarks=factors["benchmark"],
        factors={name: levels for name, levels in factors.items() if name in varied},
        responses=responses,
        left_out=dict(count_exclusions(table)),
        table=None if target is None else str(target),
        notes=tuple(notes),
        next=following,
    )


def _note_doubts(
    valid: pl.DataFrame, responses: Sequence[ResponseSummary], factors: Sequence[str], *, independent: bool
) -> list[str]:
    """What a reader of the valid rows must know before an analysis, a note each."""
    notes = []
    unshared = [name for name in factors if 0 < valid[name].null_count() < valid.height]
    if unshared:
        notes.append(
            tell(
                f"not every benchmark has {', '.join(unshared)}: choose benchmarks with "
                f"{argument('benchmark', verb='import')}, or factors with {argument('factors')}"
            )
        )
    if not independent and any(item.values > item.executions for item in responses):
        notes.append(
            tell(
                "several measurements inside one process count as one replicate; repeat the process, or "
                f"state with {argument('independent', verb='import')} that they are independent"
            )
        )
    notes += [
        f"the parameter {name.removeprefix(FACTOR_PREFIX)} is the column {name}, because the table uses that "
        "name itself"
        for name in factors
        if name.startswith(FACTOR_PREFIX)
    ]
    notes += [
        tell(
            f"{item.name} is in several units: {', '.join(unit or 'none' for unit in item.units)}; choose "
            f"benchmarks with {argument('benchmark', verb='import')}"
        )
        for item in responses
        if len(item.units) > 1
    ]
    return notes


def _summarize_response(rows: pl.DataFrame, name: str) -> ResponseSummary:
    reported = rows["context.reported_unit"].unique(maintain_order=True).to_list()
    units = rows["unit"].unique(maintain_order=True).to_list()
    return ResponseSummary(
        name, tuple(units), rows.height, rows["trial_id"].n_unique(), tuple(sorted(reported))
    )


def _suggest_analysis(
    target: Path, response: str, rows: pl.DataFrame, names: Sequence[str]
) -> tuple[str, str]:
    """A command that can answer about the valid rows of a response, and why it is not `anova`, if so."""
    factors: list[str] = []
    points = 1
    for name in names:
        levels = rows[name].n_unique()
        if levels == 1 or rows[name].null_count():
            continue
        # What says the same as the factors before it, or they as it, cannot be told from them.
        found = rows.select(*factors, name).n_unique()
        if found > max(points, levels) or not factors:
            factors.append(name)
            points = found
    chosen = {"factors": shlex.quote(",".join(factors))} if factors else {}
    product = math.prod(rows[name].n_unique() for name in factors)
    note = ""
    if factors and points < product:
        note = tell(
            f"only {points} of the {product} combinations of {', '.join(factors)} were measured: choose "
            f"benchmarks with {argument('benchmark', verb='import')}, or factors with {argument('factors')}"
        )
    elif factors and rows.select("trial_id", *factors).n_unique() <= points:
        note = tell(
            f"each combination of {', '.join(factors)} was measured in one process only, so that chance "
            "and effects cannot be told apart: measure in several processes (for Go, run go test several "
            f"times instead of -count), or state with {argument('independent', verb='import')} that "
            "measurements inside one are independent"
        )
    verb = "anova" if factors and not note else "summary"
    table, asked = shlex.quote(str(target)), shlex.quote(response)
    return command("analyze", verb, table, response=asked, **chosen), note
