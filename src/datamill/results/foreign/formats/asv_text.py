"""What `asv run` prints: values rounded for people, with tables over parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from datamill.experiment.errors import InputError
from datamill.results.foreign.content import Content
from datamill.results.foreign.foreign_results import (
    FAILED,
    SKIPPED,
    Execution,
    ForeignFormat,
    ForeignResults,
    Series,
)
from datamill.results.foreign.formats.asv import KINDS

_TITLE = "asv run's printed results"
_LINE = re.compile(r"\[\s*[0-9.]+%\] ·{3} (?P<name>\w+\.[\w.]+)\s+(?P<value>\S.*?)\s*$")
_MARK = re.compile(r"^\[\s*[0-9.]+%\] ·{3}")
_RULE = re.compile(r"^(\[\s*[0-9.]+%\] ·{3})?\s*=+( =+)+\s*$")
_VALUE = re.compile(
    r"(?P<number>[0-9.]+(?:e[+-]?[0-9]+)?)(?:±[0-9.]+(?:e[+-]?[0-9]+)?)?(?P<unit>[a-zA-Zμµ]*)"
)
_SIZES = {"": "B", "k": "kB", "K": "kB", "M": "MB", "G": "GB", "T": "TB"}
_NO_VALUE = {"failed": FAILED, "n/a": f"{SKIPPED} (n/a)", "ok": ""}


def claims_asv_text(content: Content) -> bool:
    """Whether a line is a benchmark's result as asv prints it."""
    return any(_LINE.match(line) for line in content.lines)


def read_asv_text(content: Content) -> ForeignResults:
    """Return one execution for each printed value.

    Raises:
        InputError: a table cannot be read; names the line.
    """
    executions: list[Execution] = []
    lines = content.lines
    for index, line in enumerate(lines):
        match = _LINE.match(line)
        if match is None:
            continue
        follows = index + 1 < len(lines) and _RULE.match(lines[index + 1])
        if not follows:
            executions.append(_make_execution(match["name"], {}, match["value"]))
            continue
        table = list(_take_table(lines, index + 1))
        executions += _read_table(match["name"], table, f"{content.source}:{index + 2}")
    note = "asv prints rounded values; import results/MACHINE/*.json for all digits"
    return ForeignResults(executions, [note])


def _take_table(lines: Sequence[str], first: int) -> Iterator[str]:
    """Lines of a table without the progress mark, to the blank line that ends it."""
    for line in lines[first:]:
        text = _MARK.sub(lambda mark: " " * len(mark[0]), line)
        if not text.strip():
            return
        yield text


def _read_table(name: str, table: Sequence[str], where: str) -> list[Execution]:
    """Executions of a table: the first parameters lead the rows, the others head the columns.

    A dashed rule ends each line of the head; its first dashes span the columns that lead.
    """
    dashes = next((index for index, line in enumerate(table) if set(line.strip()) == {"-", " "}), 0)
    spans = [match.span() for match in re.finditer("=+", table[0])]
    rules = sum(bool(_RULE.match(line)) for line in table)
    if not dashes or rules not in (2, 3) or not _RULE.match(table[-1]):
        raise InputError(
            "the table of this benchmark is not whole",
            where=where,
            remedy="Import the JSON file in asv's folder results instead.",
        )
    groups = [match.span() for match in re.finditer("-+", table[dashes])]
    leading = sum(begin < groups[0][1] for begin, _ in spans)
    # With one parameter there is nothing above the values: no third rule, and no line of levels.
    several = rules == 3
    over = table[1][groups[-1][0] :].strip().split(" / ") if several else []
    heads = _cut(table[dashes + 1] if several else table[1], spans)
    executions = []
    for line in table[dashes + 3 if several else dashes + 1 : -1]:
        cells = _cut(line, spans)
        factors = dict(zip(heads[:leading], cells[:leading], strict=True))
        for head, cell in zip(heads[leading:], cells[leading:], strict=True):
            columns = dict(zip(over, head.split(" / "), strict=False))
            executions.append(_make_execution(name, {**factors, **columns}, cell))
    return executions


def _cut(line: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    return [line[begin:end].strip() for begin, end in spans]


def _make_execution(name: str, factors: dict[str, str], text: str) -> Execution:
    kind = name.rpartition(".")[2].partition("_")[0]
    response, unit = KINDS.get(kind, ("value", ""))
    unit = "" if kind == "track" else unit
    if text in _NO_VALUE:
        return Execution(
            name, factors, [Series(response, unit, [None], exclusion=_NO_VALUE[text] or "no value printed")]
        )
    match = _VALUE.fullmatch(text)
    if match is None:
        return Execution(
            name, factors, [Series(response, unit, [None], exclusion=f'"{text}" is not a number')]
        )
    number = float(match["number"])
    if unit == "bytes":
        return Execution(
            name, factors, [Series(response, _SIZES.get(match["unit"], match["unit"]), [number])]
        )
    return Execution(name, factors, [Series(response, match["unit"] or unit, [number])])


ASV_TEXT = ForeignFormat("asv-text", _TITLE, claims_asv_text, read_asv_text)
