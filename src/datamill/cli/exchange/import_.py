"""`datamill import`: result files of other tools become tidy tables."""

from __future__ import annotations

import shlex
from io import BytesIO
from pathlib import Path

import click
import polars as pl
from msgspec.structs import replace

from datamill.cli.console import name_command
from datamill.cli.exchange.import_crate import import_crate
from datamill.cli.json_answer import spell_answer
from datamill.cli.verbs import DataArgument
from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import count_nouns, finish_sentence
from datamill.results.bundles.replaced_file import replace_file
from datamill.results.crates.reading import is_crate
from datamill.results.foreign.files import STANDARD_INPUT
from datamill.results.foreign.importing import import_files
from datamill.results.foreign.recognise import FORMATS
from datamill.results.foreign.units import find_conversion
from datamill.results.tables.csv_files.formula_cells import mark_cells
from datamill.verbs.exchange.import_summary import ImportSummary, summarize_import

_FORMAT_LIST = "\n".join(f"  {item.name:18}{item.title}" for item in FORMATS)
#: Levels of a factor that the summary spells out.
_MOST_LEVELS = 6


@click.command(
    name="import",
    short_help="Make a table of the results of another tool.",
    epilog="\b\nFormats, recognised from the content:\n" + _FORMAT_LIST,
)
@click.argument(
    "files",
    metavar="FILE…",
    cls=DataArgument,
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="TABLE",
    help="Where to write the table: a .csv or .parquet file, or - for CSV on standard output [FILE's name, "
    "or imported for several, with .csv, in this folder]; of a crate the new folder [FILE's name].",
)
@click.option("--format", "forced", metavar="NAME", default="", help="Read as this format [recognised].")
@click.option(
    "--benchmark",
    "patterns",
    metavar="PATTERN",
    multiple=True,
    help="Take only benchmarks of this name; * stands for anything. May be given several times.",
)
@click.option(
    "--independent",
    is_flag=True,
    help="State that measurements inside one process are independent: each counts as a replicate.",
)
@click.option("--force", is_flag=True, help="Overwrite TABLE.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def import_(
    files: tuple[Path, ...],
    out: Path | None,
    forced: str,
    patterns: tuple[str, ...],
    independent: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Make one tidy table of result FILEs of other tools, for datamill analyze and datamill export.

    The table has one row for each observation: its benchmark and parameters, the response with unit
    and value, and the process that it comes from (trial_id). Times become seconds and sizes bytes,
    by moving the decimal point. Several measurements inside one process (repetitions, iterations)
    are not replicates, and datamill averages them; --independent states otherwise. Several FILEs
    are told apart by the column file. Nothing is dropped: warm-ups, failures and aggregates are
    rows with a reason in the column exclusion. FILE - is standard input.

    Of an RO-Crate, which datamill export --rocrate or a coordinator made, the bundle comes out as a folder.

    \b
      datamill import results.json
      datamill import before.json after.json --out both.parquet
      for i in 1 2 3 4 5; do go test -bench .; done | datamill import - --out sort.csv
      datamill import target/criterion
    """  # noqa: D301 - click needs the backspace itself
    if len(files) == 1 and is_crate(files[0]):
        import_crate(files[0], out)
        return
    target = None if out == Path("-") else out or _choose_target(files)
    if target is not None:
        _refuse_target(target, files, force)
    imported = import_files(files, forced=forced, patterns=patterns, independent=independent)
    if target is None:
        click.echo(mark_cells(imported.table).write_csv(), nl=False)
    else:
        replace_file(target, [_encode_table(imported.table, target)])
    summary = summarize_import(imported, target, independent=independent)
    if summary.next:
        # As this user typed the command, so that what we print can be typed again.
        typed = shlex.quote(name_command()) + summary.next.removeprefix("datamill")
        summary = replace(summary, next=typed)
    text = spell_summary(summary) if as_json else format_summary(summary)
    click.echo(text, err=target is None)


def _choose_target(files: tuple[Path, ...]) -> Path:
    known = len(files) == 1 and files[0] != STANDARD_INPUT
    stem = files[0].resolve().name.partition(".")[0] if known else "imported"
    target = Path(f"{stem or 'imported'}.csv")
    # A CSV file of another tool in this folder is not overwritten by its own table.
    is_taken = any(target.resolve() == file.resolve() for file in files)
    return target.with_stem(f"{target.stem}-table") if is_taken else target


def _refuse_target(target: Path, files: tuple[Path, ...], force: bool) -> None:
    if target.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(
            "the name of the table says neither .csv nor .parquet",
            where=str(target),
            remedy="End the name in one of the two.",
        )
    if any(target.resolve() == file.resolve() for file in files):
        raise InputError(
            "this file is itself to be imported", where=str(target), remedy="Choose another with --out."
        )
    if not target.parent.is_dir():
        raise InputError("there is no such folder", where=str(target.parent), remedy="Make it first.")
    if target.is_dir():
        raise InputError("this is a folder", where=str(target), remedy="Name a file in it.")
    if target.exists() and not force:
        raise InputError(
            "the file exists already",
            where=str(target),
            remedy="Choose another with --out, or overwrite it with --force.",
        )


def _encode_table(table: pl.DataFrame, target: Path) -> bytes:
    buffer = BytesIO()
    if target.suffix.lower() == ".csv":
        mark_cells(table).write_csv(buffer)
    else:
        table.write_parquet(buffer)
    return buffer.getvalue()


def spell_summary(summary: ImportSummary) -> str:
    """Return the summary as JSON; its notes are the warnings."""
    notes = [f"{item.path}: {note}" for item in summary.files for note in item.notes]
    return spell_answer(
        f"{count_nouns(summary.rows, 'row')} came from {count_nouns(len(summary.files), 'file')}.",
        imported=summary,
        warnings=[finish_sentence(note) for note in (*notes, *summary.notes)],
    )


def format_summary(summary: ImportSummary) -> str:
    """Return the summary as lines for people."""
    lines = [f"{item.path}: {item.format}" for item in summary.files]
    lines.append(count_nouns(summary.rows, "row"))
    for name, levels in summary.factors.items():
        shown = ", ".join(levels[:_MOST_LEVELS])
        more = f" and {len(levels) - _MOST_LEVELS} more" if len(levels) > _MOST_LEVELS else ""
        lines.append(f"  factor {name}: {shown}{more}")
    for item in summary.responses:
        units = ", ".join(unit for unit in item.units if unit)
        unit = f" in {units}" if units else ""
        changed = [name for name in item.reported_units if not find_conversion(name).is_none]
        origin = f" (reported in {', '.join(changed)})" if changed else ""
        values, executions = count_nouns(item.values, "value"), count_nouns(item.executions, "execution")
        lines.append(f"  response {item.name}{unit}{origin}: {values} of {executions}")
    lines += [
        f"  not used: {count_nouns(count, 'row')}: {reason}" for reason, count in summary.left_out.items()
    ]
    lines += [f"Note ({item.path}): {note}." for item in summary.files for note in item.notes]
    lines += [f"Note: {note}." for note in summary.notes]
    if summary.table is not None:
        lines.append(f"Table: {summary.table}")
    if summary.next:
        lines.append(f"Next: {summary.next}")
    return "\n".join(lines)
