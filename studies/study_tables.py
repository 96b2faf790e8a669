"""What the studies' summaries have in common: Markdown tables, and a line that says whence figures come."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

import datamill

Row = tuple[str, ...]
#: Headers, and rows of as many cells.
Table = tuple[Row, list[Row]]


def write_table(table: Table) -> str:
    """A Markdown table with columns of even width; all but the first are set right."""
    head, rows = table
    widths = [max(3, *(len(row[at]) for row in (head, *rows))) for at in range(len(head))]

    def line(row: Row) -> str:
        cells = [
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return f"| {' | '.join(cells)} |"

    marks = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([line(head), line(tuple(marks)), *(line(row) for row in rows)])


def spell_p(p: float | None) -> str:
    """A p-value with two figures, or a bound; a dash where there is no test."""
    if p is None:
        return "–"
    if p < 0.0001:
        return "< 0.0001"
    return f"{p:.4f}" if p < 0.01 else f"{p:.2f}"


def read_trials(path: Path) -> pl.DataFrame:
    """Read the tidy table of a bundle, or a table of the same columns (`.csv`, `.parquet`).

    Raises:
        InputError: there is no table of trials.
    """
    file = path / "table.parquet" if path.is_dir() else path
    remedy = "Give the folder that `datamill run --out` made, or a table with one row for each observation."
    try:
        # Levels are texts, whatever they look like; only one CSV column is a number for certain.
        table = (
            pl.read_parquet(file)
            if file.suffix == ".parquet"
            else pl.read_csv(file, infer_schema=False).with_columns(
                pl.col("value").cast(pl.Float64), valid=pl.col("valid") == "true"
            )
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        raise datamill.InputError(str(error).splitlines()[0], where=str(path), remedy=remedy) from None
    missing = {"trial_id", "package", "response", "value", "valid"} - set(table.columns)
    if missing:
        raise datamill.InputError(
            f"it has no column {' and '.join(sorted(missing))}", where=str(file), remedy=remedy
        )
    return table


def describe_origin(path: Path) -> str:
    """Machine and time of the trials of a bundle (or table), and how many there are, count, and are doubtful.

    Raises:
        InputError: as `read_trials`.
    """
    table = read_trials(path)
    machine = "machine unknown"
    log = path / "log.jsonl"
    if log.is_file():
        with log.open(encoding="utf-8") as lines:
            host = json.loads(next(lines))["host"]
        machine = f"{host['cpu_model']}, {host['cores']} processors, Linux {host['kernel']}"
    elif "machine" in table.columns:
        machine = str(table["machine"][0])
    parts = [machine]
    if "started_unix_ns" in table.columns:
        started = table["started_unix_ns"].cast(pl.Int64).drop_nulls().to_list()
        first, last = (datetime.fromtimestamp(at / 1e9, UTC) for at in (min(started), max(started)))
        parts.append(f"{first:%Y-%m-%d %H:%M} to {last:%H:%M} UTC")
    usable = table.group_by("trial_id").agg(pl.col("valid").any())["valid"]
    parts.append(f"{usable.len()} trials" + (f", {(~usable).sum()} left out" if not usable.all() else ""))
    if "doubt" in table.columns:
        doubtful = table.filter(pl.col("doubt").is_not_null())["trial_id"].n_unique()
        parts.append(
            f"{doubtful} of them doubtful, since the host was not quiet" if doubtful else "none doubtful"
        )
    return f"{path.stem if path.is_file() else path.name}: {'; '.join(parts)}."
