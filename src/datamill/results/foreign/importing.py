"""From foreign files to one tidy table, with an account of what was found and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import polars as pl

from datamill.experiment.errors import InputError
from datamill.results.foreign.files import label_files, load_content
from datamill.results.foreign.foreign_results import ForeignResults
from datamill.results.foreign.recognise import recognise_format
from datamill.results.foreign.table import LabelledResults, build_foreign_table

#: The largest number in a column of whole numbers.
_MOST_ITERATIONS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """What one file turned out to be; `notes` are sentences of its reader."""

    path: str
    label: str
    title: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Imported:
    """The tidy table of several files, and what each of them was."""

    table: pl.DataFrame
    files: tuple[ImportedFile, ...]


def import_files(
    paths: Sequence[Path], *, forced: str = "", patterns: Sequence[str] = (), independent: bool = False
) -> Imported:
    """Read foreign files into one tidy table.

    `forced` names a format, `patterns` (as a shell has them) the benchmarks to take; `independent`
    as in `build_foreign_table`.

    Raises:
        InputError: a file cannot be read, is of no known format, holds nothing, or is given twice;
            no benchmark fits the patterns.
        OSError: a file cannot be read.
    """
    labels = label_files(paths)
    results: list[LabelledResults] = []
    files: list[ImportedFile] = []
    known: list[str] = []
    digests: dict[str, Path] = {}
    for path, label in zip(paths, labels, strict=True):
        content, digest = load_content(path)
        if digest in digests:
            raise InputError(
                f"the file has the same content as {digests[digest]}",
                where=str(path),
                remedy="Give it once: a copy is not a replicate.",
            )
        digests[digest] = path
        found = recognise_format(content, forced=forced)
        try:
            read = found.read(content)
        except OverflowError:
            raise InputError(
                f"this is {found.title}, but one of its whole numbers is beyond the range of doubles",
                where=str(path),
                remedy="Give the file as the tool wrote it.",
            ) from None
        if not any(series.values for execution in read.executions for series in execution.series):
            raise InputError(
                f"this is {found.title}, but it holds no observation",
                where=str(path),
                remedy="; ".join(read.notes) or "Measure again.",
            )
        _refuse_endless_iterations(read, found.title, str(path))
        known += [execution.benchmark for execution in read.executions]
        chosen = _choose(read, patterns)
        passed = len(read.executions) - len(chosen.executions)
        notes = list(read.notes)
        if passed:
            notes.append(f"{passed} executions of benchmarks that were not asked for were left out")
        results.append(LabelledResults(label, digest, chosen))
        files.append(ImportedFile(content.source, label, found.title, tuple(notes)))
    if not any(item.results.executions for item in results):
        raise InputError(
            f"no benchmark is called {' or '.join(patterns)}",
            remedy=f"The benchmarks are: {', '.join(dict.fromkeys(known))}.",
        )
    return Imported(build_foreign_table(results, independent=independent), tuple(files))


def _refuse_endless_iterations(read: ForeignResults, title: str, source: str) -> None:
    """Refuse numbers of iterations that no column holds."""
    for execution in read.executions:
        for series in execution.series:
            for count in series.iterations or ():
                if count is not None and not -_MOST_ITERATIONS <= count <= _MOST_ITERATIONS:
                    raise InputError(
                        f"this is {title}, but {execution.benchmark} has {count} iterations, beyond 64 bits",
                        where=source,
                        remedy="Give the file as the tool wrote it.",
                    )


def _choose(results: ForeignResults, patterns: Sequence[str]) -> ForeignResults:
    if not patterns:
        return results
    chosen = [
        execution
        for execution in results.executions
        if any(fnmatchcase(execution.benchmark, pattern) for pattern in patterns)
    ]
    return replace(results, executions=chosen)


def count_exclusions(table: pl.DataFrame) -> Counter[str]:
    """Count the excluded rows of a table by their reason."""
    return Counter(table.filter(~pl.col("valid"))["exclusion"].to_list())
