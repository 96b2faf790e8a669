"""What the verbs about platforms are given: names of machines, prices, and data with a fingerprint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict, TypeVar

import numpy as np
import polars as pl

from datamill.analysis.model_data.columns import Lines
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_given
from datamill.experiment.messages.suggestions import suggest_name
from datamill.platforms.fingerprint.fingerprint import join_scores
from datamill.platforms.prediction.platform_prediction import LIMIT
from datamill.platforms.scores.score_matrix import ApplicationTimes, ScoreMatrix
from datamill.platforms.scores.table_columns import name_some, read_names, read_numbers
from datamill.platforms.strategies.registry import find_strategy
from datamill.report.platforms.values import MeasuredMachine, PlatformNotes
from datamill.verbs.inputs.arguments import take_name, take_names
from datamill.verbs.inputs.data import locate_errors
from datamill.verbs.inputs.score_tables import load_scores_table
from datamill.verbs.inputs.scores import load_application, load_scores
from datamill.verbs.platforms.fingerprint_file import read_fingerprint

R = TypeVar("R")
#: Errors that a limit may be set at, as shares.
_LEAST_LIMIT, _MOST_LIMIT = 0.01, 10


@dataclass(frozen=True, slots=True, eq=False)
class PlatformData:
    """A suite without the application, the application's times, and what a report says about both.

    `strategy` is that of a fingerprint, else empty.
    """

    matrix: ScoreMatrix
    application: ApplicationTimes
    notes: PlatformNotes
    strategy: str = ""


def read_platform_data(
    scores: Any,
    application: Any,
    *,
    fingerprint: Any = None,
    machines: Any = None,
    name: str = "",
    response: str = "",
) -> PlatformData:
    """Read scores with the application's times, or with a fingerprint that has them.

    Raises:
        InputError: one cannot be used; both times and a fingerprint are given, or neither.
    """
    if (application is None) == (fingerprint is None):
        asked = f"{argument('application')} or {argument('fingerprint')}"
        raise InputError(
            f"give {asked}, not both" if fingerprint is not None else "the application's times are missing",
            remedy=f"Name them with {asked}.",
        )
    loaded = load_scores(scores, machines=machines, response=response)
    matrix, notes, strategy = loaded.matrix, loaded.notes, ""
    if fingerprint is not None:
        kept = read_fingerprint(Path(fingerprint))
        joined = join_scores(kept, matrix, loaded.source)
        matrix, notes, strategy = joined.matrix, (*notes, *joined.notes), kept.strategy
        application = kept.application
    found = load_application(application, matrix, name=name, response=response)
    return PlatformData(
        found.matrix, found.times, _describe(found.matrix, found.times, (*notes, *found.notes)), strategy
    )


def _describe(matrix: ScoreMatrix, times: ApplicationTimes, notes: tuple[str, ...]) -> PlatformNotes:
    values = times.seconds if times.kind == "seconds" else 1 / times.seconds
    return PlatformNotes(
        measured=tuple(
            MeasuredMachine(name, float(value)) for name, value in zip(times.machines, values, strict=True)
        ),
        benchmarks=len(matrix.benchmarks),
        machines=len(matrix.machines),
        notes=notes,
    )


def add_notes(result: R, told: Sequence[str]) -> R:
    """Return a result about platforms that also says `told` of its data, before its own notes."""
    if not told:
        return result
    notes: PlatformNotes = result.notes  # type: ignore[attr-defined]
    return replace(result, notes=replace(notes, notes=(*told, *notes.notes)))  # type: ignore[type-var]


class AskedStrategy(TypedDict, total=False):
    """The strategy that was asked for; without it the default predicts."""

    strategy: str


def ask_strategy(given: object, kept: str = "") -> AskedStrategy:
    """The strategy that is given, else the one that a fingerprint keeps, else none.

    Raises:
        InputError: it is no text, or there is no such strategy.
    """
    name = take_name("strategy", given) or kept
    if not name:
        return {}
    find_strategy(name)
    return {"strategy": name}


def take_limit(given: object) -> float:
    """The largest error, as a share, that would not be regretted; the usual one where None is given.

    Raises:
        InputError: it is not a number from 0.01 to 10.
    """
    if given is None:
        return LIMIT
    value = float(given) if isinstance(given, (int, float)) and not isinstance(given, bool) else np.nan
    if not _LEAST_LIMIT <= value <= _MOST_LIMIT:
        raise InputError(
            f"{argument('limit')} is {given!r}, which is not a share of error that can be a limit",
            remedy=f"Give a share from {format_given(_LEAST_LIMIT)} to {format_given(_MOST_LIMIT)}, such as "
            "0.5 for 50%.",
        )
    return value


def take_machines(name: str, given: object, known: Sequence[str]) -> tuple[str, ...]:
    """Names of machines of the scores, each once, in the order given; none where nothing is given.

    A text that is not a name itself may hold several with commas between them.

    Raises:
        InputError: one is no machine of the scores.
    """
    parts = (
        part
        for text in take_names(name, given)
        for part in ([text] if text in known else [item.strip() for item in text.split(",")])
    )
    names = tuple(dict.fromkeys(parts))
    for item in names:
        if item not in known:
            raise InputError(
                f'{argument(name)} names "{item}", which the scores do not have',
                remedy=_suggest_machine(item, known),
            )
    return names


def _suggest_machine(given: str, known: Sequence[str]) -> str:
    """The nearest name; where none is near, some of the names, of which suites may have hundreds."""
    suggestion = suggest_name(given, known)
    return suggestion if suggestion.startswith("Did") else f"The machines are: {name_some(known)}."


def read_prices(given: Any, machines: Iterable[str]) -> dict[str, float] | None:
    """Prices by machine: a mapping, or a table with columns machine and price; None stays None.

    Prices of other machines are left out.

    Raises:
        InputError: there is no such column, a price is not above zero, or no machine has one.
    """
    if given is None:
        return None
    if isinstance(given, Mapping) and not {"machine", "price"} <= set(given):
        given = {"machine": list(given), "price": list(given.values())}
    loaded = load_scores_table(given, "prices")
    with locate_errors(loaded.file, loaded.text_file):
        found = _read_price_table(loaded.table, Lines(loaded.file, loaded.first_line))
        known = set(machines)
        prices = {name: price for name, price in found.items() if name in known}
        if not prices:
            raise InputError(
                f"the prices are of {name_some(list(found))}, and none of these is a candidate",
                remedy="Name machines as the scores do.",
            )
    return prices


def _read_price_table(table: pl.DataFrame, lines: Lines) -> dict[str, float]:
    for column in ("machine", "price"):
        if column not in table.columns:
            raise InputError(
                f"there is no column {column}",
                where=lines.source,
                remedy="Give a table with columns machine and price.",
            )
    names, values = read_names(table, "machine", lines), read_numbers(table, "price", lines)
    prices: dict[str, float] = {}
    for row, (name, value) in enumerate(zip(names, values, strict=True)):
        if np.isnan(value):
            continue
        if not 0 < value < np.inf:
            raise InputError(
                f"the price of {name} is {format_given(float(value))}, which is not above zero",
                where=lines.locate(row),
                remedy="Correct it, or leave the cell empty.",
            )
        if name in prices:
            raise InputError(f"{name} has two prices", where=lines.locate(row), remedy="Leave one of them.")
        prices[name] = float(value)
    return prices
