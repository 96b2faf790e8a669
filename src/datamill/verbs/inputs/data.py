"""Where the data of an analysis come from: a file, a bundle, or a table in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from datamill.analysis.model_data.formula import parse_model_formula
from datamill.analysis.model_data.identifiers import ask_about_identifiers
from datamill.analysis.model_data.observations import Observations
from datamill.analysis.model_data.question import ModelData, ModelQuestion, list_columns, select_model_data
from datamill.analysis.model_data.unit_columns import name_unit_columns
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.messages.arguments import argument, verb
from datamill.results.bundles.opening import open_bundle
from datamill.results.tables.csv_files.csv_lines import correct_line
from datamill.results.tables.table import CONTEXT_PREFIX
from datamill.results.tables.table_files import has_plain_columns, is_text_table, read_table_file
from datamill.results.trials.hardware import HARDWARE_COLUMNS
from datamill.verbs.inputs.frames import take_frame
from datamill.verbs.inputs.stopped import warn_of_stopping


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """What a verb works on; `experiment` is that of a bundle, `source` names the data in messages.

    `notes` are warnings about the data.
    """

    selected: ModelData
    experiment: Experiment | None
    source: str
    notes: tuple[str, ...] = ()

    def ask_about_identifiers(self, question: ModelQuestion) -> None:
        """Ask whether a factor of very many levels is one; see the function of that name.

        Raises:
            InputError: there is one that nobody called a factor.
        """
        marked = parse_model_formula(question.formula).levels if question.formula else ()
        known = () if self.experiment is None else tuple(item.name for item in self.experiment.factors)
        ask_about_identifiers(
            self.selected.observations.cells,
            self.selected.terms,
            (*self.selected.blocks, *marked, *known, "package"),
            self.source,
        )

    def choose_confidence(self, given: float | None) -> float:
        """Level of intervals: the given one, else that of the bundle's experiment, else 0.95."""
        if given is not None:
            return given
        return self.experiment.confidence if self.experiment else 0.95

    def choose_alpha(self, given: float | None, usual: float) -> float:
        """Level of p-values: the given one, else that of the bundle's experiment, else the usual one."""
        if given is not None:
            return given
        return self.experiment.alpha if self.experiment else usual


def read_data(
    data: Any,
    question: ModelQuestion,
    *,
    average: bool = True,
    allow_no_factor: bool = False,
    describes: bool = False,
) -> Data:
    """Read a table or bundle, and select the observations that are asked for.

    A dimension of hardware is refused as a factor unless the verb only `describes`: its trials would pass for
    independent, and few machines for many.

    Raises:
        InputError: whatever keeps that from being done; names the file.
    """
    read = _read_selected(data, question, average=average, allow_no_factor=allow_no_factor)
    if not describes:
        with locate_errors(read.source):
            refuse_hardware(read.selected.observations, question)
    return read


def refuse_hardware(observations: Observations, question: ModelQuestion) -> None:
    """Refuse dimensions of hardware of a tidy table in a model that takes trials for independent.

    Raises:
        InputError: a factor is one.
    """
    dimensions = [f"{CONTEXT_PREFIX}{name}" for name in HARDWARE_COLUMNS]
    for factor in observations.cells.factors:
        if factor.name in dimensions and factor.name not in question.blocks:
            name = factor.name.removeprefix(CONTEXT_PREFIX)
            raise InputError(
                f"{name} is a dimension of hardware: machines were chosen from it, not trials, so that "
                "taking trials for independent would promise far too much",
                remedy=f"Ask {verb('analyze hardware')} with {argument('dimension', name)}, or describe the "
                f"levels by {verb('analyze summary')}.",
            )


def _read_selected(data: Any, question: ModelQuestion, *, average: bool, allow_no_factor: bool) -> Data:
    """Read a table or bundle, and select the observations that are asked for.

    `data` is the path of a CSV or Parquet file or of a bundle, or a table: polars, pandas, Arrow, a
    dict of columns. With `allow_no_factor` a table that names or has none needs no factor: its rows are
    one group.

    Raises:
        InputError: whatever keeps that from being done; names the file.
    """
    if not isinstance(data, (str, Path)):
        with locate_errors("table"):
            frame = take_frame(data)
            _refuse_odd_columns(frame, question)
            selected = select_model_data(
                frame,
                question,
                average=average,
                allow_no_factor=allow_no_factor,
                source="table",
                first_line=1,
            )
        return Data(selected, None, "table")
    file = Path(data)
    if file.is_dir():
        return _read_bundle(file, question, average=average, allow_no_factor=allow_no_factor)
    with locate_errors(str(file)):
        columns = list_columns(question)
    # A message about a column that is missing names those that are there: then all are read.
    beside = name_unit_columns(columns[0]) if columns else ()
    table = read_table_file(file, (*columns, *beside) if has_plain_columns(file, columns) else ())
    with locate_errors(str(file), file if is_text_table(file) else None):
        _refuse_odd_columns(table, question)
        selected = select_model_data(
            table,
            question,
            average=average,
            allow_no_factor=allow_no_factor,
            source=str(file),
            first_line=2 if is_text_table(file) else 1,
        )
    return Data(selected, None, str(file))


def _read_bundle(folder: Path, question: ModelQuestion, *, average: bool, allow_no_factor: bool) -> Data:
    bundle = open_bundle(folder)
    if not question.response and not question.formula.partition("~")[1]:
        question = replace(question, response=bundle.experiment.responses[0].name)
    with locate_errors(str(bundle.table_file)):
        selected = select_model_data(
            bundle.read_table(),
            question,
            levels={factor.name: factor.levels for factor in bundle.design.crossed},
            usual_order=bundle.experiment.interaction_order,
            average=average,
            allow_no_factor=allow_no_factor,
            source=str(bundle.table_file),
            first_line=1,
        )
    return Data(selected, bundle.experiment, str(folder), warn_of_stopping(bundle))


def _refuse_odd_columns(table: pl.DataFrame, question: ModelQuestion) -> None:
    """Refuse columns of types that have neither numbers nor a text for each value."""
    named = (*list_columns(question), *question.factors, *question.blocks, question.trial)
    for name in dict.fromkeys(named):
        kind = table.schema.get(name)
        odd = (pl.Duration, pl.Binary, pl.Object, pl.BaseExtension)
        if kind is not None and (kind.is_nested() or isinstance(kind, odd)):
            raise InputError(
                f"column {name} holds {kind}, neither numbers nor texts",
                remedy="Make numbers or texts of it, such as seconds of a duration, or name another column.",
            )


@dataclass(frozen=True, slots=True, eq=False)
class AskedTable:
    """A whole table with the question that is asked of it.

    Of a bundle there are the `experiment`, the `levels` of its factors and the `usual_order` of interactions;
    `source` names the data in messages.
    """

    table: pl.DataFrame
    question: ModelQuestion
    experiment: Experiment | None
    levels: Mapping[str, Sequence[str]]
    usual_order: int | None
    source: str

    def choose_confidence(self, given: float | None) -> float:
        """Level of intervals: the given one, else that of the bundle's experiment, else 0.95."""
        if given is not None:
            return given
        return self.experiment.confidence if self.experiment else 0.95

    def choose_alpha(self, given: float | None, usual: float) -> float:
        """Level of p-values: the given one, else that of the bundle's experiment, else the usual one."""
        if given is not None:
            return given
        return self.experiment.alpha if self.experiment else usual


def load_asked_table(data: Any, question: ModelQuestion) -> AskedTable:
    """Load the whole table of a path or bundle, or one in memory.

    Of a bundle its first response is asked for, unless the question names one.

    Raises:
        InputError: there is none that can be read; names the file.
    """
    if not isinstance(data, (str, Path)):
        with locate_errors("table"):
            frame = take_frame(data)
            _refuse_odd_columns(frame, question)
        return AskedTable(frame, question, None, {}, None, "table")
    file = Path(data)
    if not file.is_dir():
        table = read_table_file(file)
        with locate_errors(str(file)):
            _refuse_odd_columns(table, question)
        return AskedTable(table, question, None, {}, None, str(file))
    bundle = open_bundle(file)
    if not question.response and not question.formula.partition("~")[1]:
        question = replace(question, response=bundle.experiment.responses[0].name)
    levels = {factor.name: factor.levels for factor in bundle.design.crossed}
    order = bundle.experiment.interaction_order
    table = bundle.read_table()
    return AskedTable(table, question, bundle.experiment, levels, order, str(bundle.table_file))


@contextmanager
def locate_errors(source: str, text_file: Path | None = None) -> Iterator[None]:
    """Say which file an error is about, where the error does not say so itself.

    Of a `text_file`, a CSV whose rows an error counts, it says the line where the row begins.
    """
    try:
        yield
    except InputError as error:
        if text_file is not None:
            error = correct_line(error, text_file)
        raise (error if error.where else error.moved(source)) from None
