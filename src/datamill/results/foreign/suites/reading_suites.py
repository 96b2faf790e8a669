"""Files of suites, one or many, as one table of machines and benchmarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import list_first
from datamill.results.foreign.content import Content
from datamill.results.foreign.files import load_content
from datamill.results.foreign.suites.phoronix import PHORONIX
from datamill.results.foreign.suites.spec_cpu import SPEC_CPU
from datamill.results.foreign.suites.suite_results import SuiteFormat, SuiteResults, SuiteValue

#: All formats; no content is claimed by two.
SUITE_FORMATS: tuple[SuiteFormat, ...] = (SPEC_CPU, PHORONIX)
#: Bytes by which a format is known.
_HEAD = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class SuiteTable:
    """Columns machine, benchmark, replicate, seconds, score, unit and facts; sentences about the files."""

    table: pl.DataFrame
    notes: tuple[str, ...]


def find_suite_format(path: Path) -> SuiteFormat | None:
    """The format of a file of a suite; None where it is none, or there is no such file.

    Raises:
        OSError: the file cannot be read.
    """
    if not path.is_file() or not any(path.suffix.lower() in item.suffixes for item in SUITE_FORMATS):
        return None
    with path.open("rb") as file:
        head = file.read(_HEAD)
    # A table of a hundred megabytes need not be read to see that it is one.
    content = Content(str(path), head.decode("utf-8-sig", errors="replace"))
    return next((item for item in SUITE_FORMATS if item.claims(content)), None)


def list_suite_files(folder: Path) -> list[Path]:
    """The files of suites in a folder and its folders, in the order of their names."""
    return [path for path in _list_named_alike(folder) if find_suite_format(path) is not None]


def list_empty_files(folder: Path) -> list[Path]:
    """The files in a folder and its folders that are named as a suite's and have no content."""
    return [path for path in _list_named_alike(folder) if path.is_file() and path.stat().st_size == 0]


def _list_named_alike(folder: Path) -> list[Path]:
    suffixes = {suffix for item in SUITE_FORMATS for suffix in item.suffixes}
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in suffixes)


def read_suites(paths: Sequence[Path]) -> SuiteTable:
    """Read files of suites into one table.

    Files of one machine that have no benchmark in common are one machine's (integer and floating point come
    apart); where they have, they are several machines of one name, told apart by the names of the files.

    Raises:
        InputError: a file is none of a suite, cannot be read, or has the same content as another.
    """
    read: list[tuple[Path, SuiteResults]] = []
    notes: list[str] = []
    digests: dict[str, Path] = {}
    for path in paths:
        content, digest = load_content(path)
        if digest in digests:
            raise InputError(
                f"the file has the same content as {digests[digest]}",
                where=str(path),
                remedy="Give it once: a copy is not a replicate.",
            )
        digests[digest] = path
        found = next((item for item in SUITE_FORMATS if item.claims(content)), None)
        if found is None:
            titles = " nor ".join(item.title for item in SUITE_FORMATS)
            raise InputError(
                f"this is neither {titles}", where=str(path), remedy="Leave it out, or give a table alone."
            )
        results = found.read(content)
        notes += [f"{path.name}: {note}" for note in results.notes]
        read.append((path, results))
    names = _tell_apart(read)
    merged = [name for name, count in Counter(names.values()).items() if count > 1]
    if merged:
        notes.append(
            f"files with different benchmarks of one machine are taken together: {list_first(merged, 3)}"
        )
    return SuiteTable(_build_table(read, names), tuple(notes))


def _tell_apart(read: Sequence[tuple[Path, SuiteResults]]) -> dict[Path, str]:
    """The name of the machine of each file of one machine; empty for files of several."""
    by_name: dict[str, list[tuple[Path, set[str]]]] = {}
    for path, results in read:
        if results.one_system:
            benchmarks = {value.benchmark for value in results.values}
            by_name.setdefault(results.values[0].machine, []).append((path, benchmarks))
    names: dict[Path, str] = {}
    for name, files in by_name.items():
        together = sum(len(benchmarks) for _, benchmarks in files)
        distinct = len(set().union(*(benchmarks for _, benchmarks in files)))
        for path, _ in files:
            names[path] = name if together == distinct else f"{name} ({path.stem})"
    return names


def _build_table(read: Sequence[tuple[Path, SuiteResults]], names: dict[Path, str]) -> pl.DataFrame:
    facts: dict[str, dict[str, float]] = {}
    rows: list[tuple[str, SuiteValue]] = []
    counts: Counter[tuple[str, str]] = Counter()
    for path, results in read:
        for name, found in results.facts.items():
            facts.setdefault(names.get(path, name), {}).update(found)
        rows += [(names.get(path, value.machine), value) for value in results.values]
    columns: dict[str, list[object]] = {
        "machine": [], "benchmark": [], "replicate": [], "seconds": [], "score": [], "unit": [],
    }  # fmt: skip
    known = dict.fromkeys(name for found in facts.values() for name in found)
    for machine, value in rows:
        # Several files may have values of one system: their replicates go on counting.
        counts[machine, value.benchmark] += 1
        columns["machine"].append(machine)
        columns["benchmark"].append(value.benchmark)
        columns["replicate"].append(counts[machine, value.benchmark])
        columns["seconds"].append(value.value if value.kind == "seconds" else None)
        columns["score"].append(value.value if value.kind == "score" else None)
        columns["unit"].append(value.unit)
    schema = {"seconds": pl.Float64, "score": pl.Float64, "replicate": pl.Int64}
    table = pl.DataFrame(columns, schema_overrides=schema)
    return table.with_columns(
        pl.Series(name, [facts.get(machine, {}).get(name) for machine, _ in rows], dtype=pl.Float64)
        for name in known
    )
