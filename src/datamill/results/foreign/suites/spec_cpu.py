"""SPEC's result CSV, as `runspec` and `runcpu` write it for CPU2006 and CPU2017: one machine each."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import count_nouns
from datamill.results.foreign.content import Content
from datamill.results.foreign.suites.suite_results import SuiteFormat, SuiteResults, SuiteValue

_TITLE = "SPEC's result CSV"
#: The tables of results: of every iteration, and of the ones that SPEC counts.
_FULL, _SELECTED = "full results table", "selected results table"
#: Statuses of iterations that count: successful ones.
_SUCCESS = "s"
#: What SPEC calls its names for facts, each with ours; an earlier one is preferred.
_CLOCKS = ("cpu mhz", "nominal", "max mhz", "max mhz.")
_CORES = ("cpu(s) enabled", "enabled")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(KB|MB|GB|TB)", re.IGNORECASE)
_KILOBYTES = {"KB": 1.0, "MB": 1024.0, "GB": 1024.0**2, "TB": 1024.0**3}


def claims_spec_cpu(content: Content) -> bool:
    """Whether one of the first lines is the heading of a table of results."""
    return any(line.strip().strip('"').lower() in (_FULL, _SELECTED) for line in content.lines[:200])


def read_spec_cpu(content: Content) -> SuiteResults:
    """Return the base results of every successful iteration, and what the file says of the hardware.

    Of speed the values are run times, of rate (several copies) they are rates. The machine is called by its
    model and processor, or by the file where that says neither.

    Raises:
        InputError: the table has other columns than SPEC's, or no iteration succeeded.
    """
    rows = list(csv.reader(content.lines))
    start = _find_table(rows, _FULL)
    if start is None:
        start = _find_table(rows, _SELECTED)
    header = _find_header(rows, start, content)
    facts = _read_facts(rows)
    machine = _name_machine(rows, content.source)
    time, rate, copies, status = (
        _find_column(header, words)
        for words in (("base", "run time"), ("base", "rate"), ("base", "copies"), ("base", "status"))
    )
    column, kind, unit = (
        (rate, "score", "rate") if copies is not None and rate is not None else (time, "seconds", "s")
    )
    if column is None:
        raise InputError(
            f"this is {_TITLE}, but its table has no column of base run times",
            where=content.source,
            remedy="Give the .csv file as runcpu wrote it.",
        )
    counts: Counter[str] = Counter()
    values, failed = [], 0
    for row in rows[start + 1 :] if start is not None else []:
        if row == header:
            continue
        if len(row) < 3 or not re.match(r"\d{3}\.", row[0].strip()):
            if counts or failed:
                break
            continue
        cell = row[column].strip() if column < len(row) else ""
        state = row[status].strip().lower() if status is not None and status < len(row) else _SUCCESS
        found = _read_positive(cell)
        if found is None or state != _SUCCESS:
            failed += bool(cell) or state not in ("", "nr")
            continue
        name = row[0].strip()
        counts[name] += 1
        values.append(SuiteValue(machine, name, counts[name], found, kind, unit))  # type: ignore[arg-type]
    if not values:
        raise InputError(
            f"this is {_TITLE}, but no base run of it succeeded",
            where=content.source,
            remedy="Give a file with base results.",
        )
    notes = [f"{count_nouns(failed, 'iteration')} left out that did not succeed"] if failed else []
    if rows and len(rows[0]) > 1 and rows[0][0].strip().lower() == "valid" and rows[0][1].strip() == "0":
        notes.append("SPEC's tools call this result invalid")
    return SuiteResults(values, {machine: facts} if facts else {}, notes, one_system=True)


def _find_table(rows: Sequence[Sequence[str]], heading: str) -> int | None:
    return next(
        (index for index, row in enumerate(rows) if len(row) == 1 and row[0].strip().lower() == heading), None
    )


def _find_header(rows: Sequence[Sequence[str]], start: int | None, content: Content) -> Sequence[str]:
    for row in rows[start or 0 :]:
        if row and row[0].strip().lower() == "benchmark":
            return row
    raise InputError(
        f"this is {_TITLE}, but below the heading of its table stand no names of columns",
        where=content.source,
        remedy="Give the .csv file as runcpu wrote it.",
    )


def _find_column(header: Sequence[str], words: Sequence[str]) -> int | None:
    """The first column whose name has all the words, in their order; estimates are called `Est.`."""
    pattern = re.compile(".*".join(re.escape(word) for word in words) + r"\b", re.IGNORECASE)
    return next((index for index, name in enumerate(header) if pattern.search(name)), None)


def _read_positive(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None


def _list_pairs(rows: Sequence[Sequence[str]]) -> Mapping[str, str]:
    """What the file says besides its tables: the first text under each name."""
    pairs: dict[str, str] = {}
    for row in rows:
        if len(row) >= 2 and row[0].strip() and not row[0][0].isdigit():
            pairs.setdefault(row[0].strip().rstrip(":").lower(), row[1].strip())
    return pairs


def _name_machine(rows: Sequence[Sequence[str]], source: str) -> str:
    pairs = _list_pairs(rows)
    model = next((pairs[key] for key in ("hardware model", "model", "system") if pairs.get(key)), "")
    processor = pairs.get("cpu name", "")
    # A model often has its processor in its own name.
    parts = (model,) if processor and processor.lower() in model.lower() else (model, processor)
    told = " / ".join(part for part in parts if part and "--" not in part)
    return re.sub(r"\s+", " ", told) or PurePath(source).stem


def _read_facts(rows: Sequence[Sequence[str]]) -> dict[str, float]:
    pairs = _list_pairs(rows)
    facts: dict[str, float] = {}
    clock = next((pairs[key] for key in _CLOCKS if _NUMBER.search(pairs.get(key, ""))), "")
    if found := _NUMBER.search(clock):
        facts["clock_mhz"] = float(found[0].replace(",", ""))
    for key in _CORES:
        if cores := re.search(r"(\d+) cores?", pairs.get(key, "")):
            facts["cores"] = float(cores[1])
        if chips := re.search(r"(\d+) chips?", pairs.get(key, "")):
            facts["chips"] = float(chips[1])
    for name, keys in (
        ("l2_kb", ("l2", "secondary cache")),
        ("l3_kb", ("l3", "l3 cache")),
        ("memory_kb", ("memory",)),
    ):
        size = next((found for key in keys if (found := _SIZE.search(pairs.get(key, "")))), None)
        if size:
            facts[name] = float(size[1]) * _KILOBYTES[size[2].upper()]
    return facts


SPEC_CPU = SuiteFormat("spec-cpu", _TITLE, (".csv",), claims_spec_cpu, read_spec_cpu)
