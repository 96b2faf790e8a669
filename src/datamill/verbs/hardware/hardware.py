"""`hardware`: what a dimension of hardware does, machines being what was sampled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack, get_args

import polars as pl

from datamill.analysis.hardware.dimension import DimensionAnalysis, Scale, analyze_dimension
from datamill.analysis.model_data.observations import list_tidy_factors
from datamill.analysis.model_data.question import select_model_data
from datamill.analysis.model_data.rows.chosen_rows import choose_rows, find_column
from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.report.figures.figure import Figure
from datamill.report.hardware.figure import draw_dimension
from datamill.report.hardware.json import spell_dimension
from datamill.report.hardware.statement import state_dimension, word_dimension
from datamill.report.tables.statement import Part
from datamill.report.tests.statement import ResponseNotes
from datamill.results.tables.row_validity import is_tidy, read_validity
from datamill.results.tables.table import CONTEXT_PREFIX
from datamill.results.trials.hardware import HARDWARE_COLUMNS
from datamill.verbs.analyses.analysis import Analysis, Asked, build_question
from datamill.verbs.analyses.by_level import split_by_level
from datamill.verbs.analyses.notes import describe_response
from datamill.verbs.inputs.arguments import check_choice, take_alpha, take_confidence, take_name
from datamill.verbs.inputs.data import AskedTable, load_asked_table, locate_errors


@dataclass(frozen=True, slots=True, eq=False)
class Hardware(Analysis):
    """A dimension of hardware with its machines, and the other factors on them."""

    found: DimensionAnalysis
    notes: ResponseNotes

    @property
    def title(self) -> str:
        """What was analysed."""
        return f"{self.found.response} by {self.found.dimension}"

    @property
    def lead(self) -> tuple[str, ...]:
        """What the dimension does, and whether other factors' effects depend on it."""
        return word_dimension(self.found)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer."""
        return self.found.warnings

    def label_groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Machines and levels of the dimension."""
        machines = tuple(item.machine for item in self.found.machines)
        return ((self.found.machine, machines),)

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:
        """The sentences and tables; `verbose` is the same."""
        del verbose
        return state_dimension(self.found, self.notes)

    def numbers(self) -> dict[str, Any]:
        """The same with every digit."""
        return spell_dimension(self.found, self.notes)

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """The machines by level."""
        return (partial(draw_dimension, self.found),)


@split_by_level(0.01)
def hardware(
    data: Any,
    *,
    dimension: str,
    machine: str = "",
    scale: Scale | None = None,
    confidence: float | None = None,
    alpha: float | None = None,
    **asked: Unpack[Asked],
) -> Hardware:
    """Say what a dimension of hardware does to a response, and to other factors' effects on it.

    `data` is as in `anova`. Machines are nested in the `dimension`, such as "arch", and are what was sampled:
    each gives one value, however many trials it made. `machine` is the column that tells machines apart, that
    of the bundle unless named. `scale` is "log", ratios, or "linear", differences; ratios where all values
    are above zero. Where each level has one machine nothing can be told, and there is no interval.

    Raises:
        InputError: the data cannot be used, or machines are not nested in the dimension; says what to do.
    """
    confidence = take_confidence(confidence)
    alpha = None if alpha is None else take_alpha(alpha)
    dimension, machine = take_name("dimension", dimension), take_name("machine", machine)
    if scale is not None:
        check_choice("scale", scale, get_args(Scale))
    question = build_question(asked, hardware)
    if question.formula or question.covariates or question.blocks:
        raise InputError(
            "hardware compares machines over factors: a formula, covariates or blocks cannot be given",
            remedy=f"Name the other {argument('factors')}.",
        )
    loaded = load_asked_table(data, question)
    with locate_errors(loaded.source):
        table = choose_rows(loaded.table, question.where, loaded.source)
        machine = find_column(table, machine, loaded.source) if machine else _find_machines(table)
        column = _find_dimension(table, dimension, loaded.source)
        wanted = (machine, column, *_list_others(table, loaded, machine, column))
        selected = select_model_data(
            table,
            replace(loaded.question, factors=wanted, where=(), order=1),
            levels=loaded.levels,
            source=loaded.source,
        )
        found = analyze_dimension(
            selected.observations,
            machine,
            column,
            scale=scale,
            confidence=loaded.choose_confidence(confidence),
            alpha=loaded.choose_alpha(alpha, 0.01),
        )
    return Hardware(found, describe_response(selected.observations))


def _find_machines(table: pl.DataFrame) -> str:
    """The column that tells machines apart.

    Raises:
        InputError: there is none of the usual names.
    """
    for name in (MACHINE_FACTOR, "worker"):
        if name in table.columns:
            return name
    raise InputError(
        "nothing tells machines apart",
        remedy=f"Name the column with {argument('machine')}: {', '.join(table.columns)}.",
    )


def _find_dimension(table: pl.DataFrame, dimension: str, source: str) -> str:
    if not dimension:
        known = [name for name in HARDWARE_COLUMNS if f"{CONTEXT_PREFIX}{name}" in table.columns]
        raise InputError(
            "no dimension of hardware is named",
            where=source,
            remedy=f"Name one with {argument('dimension')}: {', '.join(known or table.columns)}.",
        )
    return find_column(table, dimension, source)


def _list_others(table: pl.DataFrame, loaded: AskedTable, machine: str, column: str) -> tuple[str, ...]:
    """The factors that were varied on the machines: those named, else all of a tidy table."""
    question = loaded.question
    if question.factors:
        return tuple(name for name in question.factors if name not in (machine, column))
    if not is_tidy(table):
        return ()
    rows = read_validity(table, loaded.source, None)
    response = question.response or str(rows["response"].drop_nulls()[0])
    rows = rows.filter((pl.col("response") == response) & pl.col("valid"))
    return tuple(name for name in list_tidy_factors(rows) if name not in (machine, column, "worker"))
