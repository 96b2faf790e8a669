"""What is asked of a table: the response, and the terms that are to explain it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from datamill.analysis.model_data.coding import Term, list_formula_terms
from datamill.analysis.model_data.formula import (
    ModelFormula,
    Variable,
    list_factorial_terms,
    parse_model_formula,
)
from datamill.analysis.model_data.identifiers import refuse_identifier_columns, refuse_identifiers
from datamill.analysis.model_data.observations import (
    Observations,
    list_tidy_factors,
    read_columns,
    select_response,
)
from datamill.analysis.model_data.rows.chosen_rows import Where, choose_rows, find_column, list_single_levels
from datamill.analysis.model_data.unit_columns import refuse_mixed_units
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument, verb
from datamill.results.tables.row_validity import is_tidy, read_validity


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """A response and what explains it, as a user names them; empty where nothing was said.

    `formula` replaces `factors`, `covariates` and `order`, the largest interaction. `trial` is the
    column that tells trials apart and `run_order` the one that says when they came; only tables
    that are not datamill's own need them. `blocks` are columns of nuisance conditions: they enter
    additively, before all other terms. `usual_factor` is the factor of a plain table where neither
    `factors` nor `formula` names one. `where` are the levels of columns that rows must have; a factor of
    which they leave one level explains nothing and drops out.
    """

    response: str = ""
    factors: tuple[str, ...] = ()
    covariates: tuple[str, ...] = ()
    formula: str = ""
    order: int | None = None
    trial: str = ""
    run_order: str = ""
    blocks: tuple[str, ...] = ()
    usual_factor: str = ""
    where: Where = ()


@dataclass(frozen=True, slots=True, eq=False)
class ModelData:
    """The observations that a question selects, and the terms of its model, the `blocks` among them first."""

    observations: Observations
    terms: tuple[Term, ...]
    blocks: tuple[str, ...] = ()


def list_columns(question: ModelQuestion) -> tuple[str, ...]:
    """The columns of a plain table that a question is about; none where it names no response.

    Raises:
        InputError: the formula is none.
    """
    formula = parse_model_formula(question.formula) if question.formula else None
    response = _name_response(question, formula, "")
    if response is None:
        return ()
    named = [response.column, *question.blocks, *question.factors, *question.covariates]
    named += [variable.column for variable in formula.variables] if formula is not None else []
    named += [name for name in (question.trial, question.run_order, question.usual_factor) if name]
    named += [name for name, _ in question.where]
    return tuple(dict.fromkeys(named))


def select_model_data(
    table: pl.DataFrame,
    question: ModelQuestion,
    *,
    levels: Mapping[str, Sequence[str]] | None = None,
    usual_order: int | None = None,
    average: bool = True,
    allow_no_factor: bool = False,
    source: str = "table",
    first_line: int | None = 2,
) -> ModelData:
    """Select the observations that a question asks for from a plain or a tidy table.

    In a formula, columns of text are factors and columns of numbers covariates; `C(column)` and
    `question.factors` make numbers levels, and so do `levels`. A tidy table needs neither response nor
    factors named. With `average`, several observations of one trial become one, since they are no
    replicates; with `allow_no_factor` a table needs no factor: all rows of a plain one are one group,
    and of a tidy one where no factor varies.
    Interactions go up to `question.order`, else `usual_order`, else all for 3 factors or fewer,
    else 2. `levels` are as in `select_response`.

    Raises:
        InputError: whatever keeps the question from being asked of the table.
    """
    if question.where:
        table = choose_rows(table, question.where, source)
        single = list_single_levels(question.where)
        kept = tuple(name for name in question.factors if name not in single)
        question = replace(question, factors=kept or question.factors)
        # Lines of the file are no longer those of the rows.
        first_line = None
    if not question.formula:
        question = _find_columns(table, question, source)
    formula = parse_model_formula(question.formula) if question.formula else None
    if formula is not None and (question.covariates or question.order):
        raise InputError(
            "a formula says all: covariates and the order of interactions cannot be given besides",
            remedy="Write them into the formula.",
        )
    if is_tidy(table):
        return _select_tidy(
            table, question, formula, levels or {}, usual_order, average, allow_no_factor, source, first_line
        )
    response = _name_response(question, formula, "")
    if question.usual_factor and not question.factors and formula is None:
        question = replace(question, factors=(question.usual_factor,))
    factors, covariates = _sort_variables(table, question, formula, {})
    explained = allow_no_factor or (*factors, *covariates, *question.blocks)
    if response is None:
        remedy = _offer_responses(table, question, alone=bool(explained))
        raise InputError(f"{argument('response')} is missing", where=source, remedy=remedy)
    if not explained:
        others = [name for name in table.columns if name != response.column]
        raise InputError(
            f"{argument('factors')} is missing",
            where=source,
            remedy=f"Name what explains it with {argument('factors')}, one column or several separated "
            "by commas: "
            f"{_list_names(others)}.",
        )
    refuse_identifier_columns(table, factors, source)
    named = (*factors, *question.blocks, *(item.column for item in covariates), response.column)
    refuse_mixed_units(table, response.column, (*named, question.trial, question.run_order), source)
    observations = read_columns(
        table,
        response,
        (*question.blocks, *factors),
        covariates=covariates,
        trial=question.trial,
        order=question.run_order,
        source=source,
        average=average,
        first_line=first_line,
    )
    refuse_identifiers(observations.cells, question.blocks, source)
    return ModelData(observations, _list_terms(observations, question, formula, usual_order), question.blocks)


def _find_columns(table: pl.DataFrame, question: ModelQuestion, source: str) -> ModelQuestion:
    """The question with columns under their whole names, where a tidy table tells of circumstances."""
    if not is_tidy(table):
        return question

    def find(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(find_column(table, name, source) for name in names)

    return replace(question, factors=find(question.factors), blocks=find(question.blocks))


def _select_tidy(
    table: pl.DataFrame,
    question: ModelQuestion,
    formula: ModelFormula | None,
    levels: Mapping[str, Sequence[str]],
    usual_order: int | None,
    average: bool,
    allow_no_factor: bool,
    source: str,
    first_line: int | None,
) -> ModelData:
    table = read_validity(table, source, first_line)
    known = table["response"].drop_nulls()
    if known.len() == 0:
        raise InputError("the table has no rows", where=source, remedy="Give a table with observations.")
    response = _name_response(question, formula, str(known[0]))
    assert response is not None
    if question.trial not in ("", "trial_id"):
        raise InputError(
            f"{argument('trial', question.trial)} cannot be used: this table says by its column "
            "trial_id which rows are "
            "one trial",
            where=source,
            remedy="Leave it out, or rename the column trial_id.",
        )
    factors, covariates = _sort_variables(table, question, formula, levels)
    # Covariates stand beside the table's factors; a formula alone says that there are none.
    if not factors and formula is None:
        rows = table.filter((pl.col("response") == response.column) & pl.col("valid"))
        factors = tuple(name for name in list_tidy_factors(rows) if name not in question.blocks)
        if rows.height and not (factors or covariates or allow_no_factor):
            raise InputError(
                f"no factor has valid data of {response.column} at two levels",
                where=source,
                remedy=f"There is nothing to explain; {verb('analyze summary')} describes the values.",
            )
    observations = select_response(
        table,
        response,
        (*question.blocks, *factors),
        levels=levels,
        covariates=covariates,
        order=question.run_order,
        average=average,
        source=source,
        first_line=first_line,
    )
    refuse_identifiers(observations.cells, (*question.blocks, *levels), source)
    return ModelData(observations, _list_terms(observations, question, formula, usual_order), question.blocks)


def _name_response(question: ModelQuestion, formula: ModelFormula | None, usual: str) -> Variable | None:
    written = formula.response if formula is not None else None
    if written is not None and question.response not in ("", written.column, written.name):
        raise InputError(
            f"the response is {written.name} in the formula and {question.response} outside it",
            remedy="Name it once.",
        )
    if written is not None:
        return written
    name = question.response or usual
    return Variable(name, name) if name else None


def _sort_variables(
    table: pl.DataFrame,
    question: ModelQuestion,
    formula: ModelFormula | None,
    levels: Mapping[str, Sequence[str]],
) -> tuple[tuple[str, ...], tuple[Variable, ...]]:
    """The columns that are factors, and the variables that are covariates."""
    if formula is None:
        return question.factors, tuple(Variable(name, name) for name in question.covariates)
    marked = {*formula.levels, *question.factors}
    factors, covariates = [], []
    for variable in formula.variables:
        # A factor of an experiment has levels, also where these are numbers.
        is_text = variable.column in levels or not _holds_numbers(table, variable.column)
        if not variable.transform and (variable.column in marked or is_text):
            factors.append(variable.column)
        else:
            covariates.append(variable)
    for name in marked:
        if not any(variable.column == name for variable in formula.variables):
            raise InputError(f"{name} is named as a factor and is not in the formula", remedy="Add it there.")
    return tuple(factors), tuple(covariates)


def _offer_responses(table: pl.DataFrame, question: ModelQuestion, *, alone: bool) -> str:
    """The columns that may be the response: those of numbers that are not named as something else.

    Unless it is missing `alone`, what explains it is asked for at once.
    """
    named = {*question.factors, *question.covariates, *question.blocks, question.trial, question.run_order}
    numbers = [name for name in table.columns if name not in named and _holds_numbers(table, name)]
    if not numbers:
        nearly = (_name_exception(table[name]) for name in table.columns if name not in named)
        said = next((words for words in nearly if words), "")
        return f"No column holds numbers{said}; the columns are: {', '.join(table.columns)}."
    factors = "" if alone else f" And name what explains it with {argument('factors')}."
    return f"Name a column of numbers with {argument('response')}: {_list_names(numbers)}.{factors}"


def _list_names(names: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return " or ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), *names[-1:]])


def _holds_numbers(table: pl.DataFrame, column: str) -> bool:
    if column not in table.columns:
        return False
    values = table[column]
    if values.dtype != pl.String:
        return values.dtype.is_numeric()
    numbers = values.str.strip_chars().cast(pl.Float64, strict=False)
    return bool((numbers.is_not_null() | values.is_null()).all())


def _name_exception(values: pl.Series) -> str:
    """The first value that keeps a column from being one of numbers; empty where most are no numbers."""
    if values.dtype != pl.String:
        return ""
    wrong = values.filter(values.str.strip_chars().cast(pl.Float64, strict=False).is_null())
    few = 2 * wrong.len() < values.len()
    return f' ({values.name} would, but for "{wrong.drop_nulls()[0]}")' if few else ""


def _list_terms(
    observations: Observations, question: ModelQuestion, formula: ModelFormula | None, usual_order: int | None
) -> tuple[Term, ...]:
    factors = observations.cells.factors
    covariates = [covariate.name for covariate in observations.covariates]
    blocks = tuple((name,) for name in question.blocks)
    if formula is not None:
        return list_formula_terms(factors, covariates, (*blocks, *formula.terms))
    crossed = [factor.name for factor in factors if factor.name not in question.blocks]
    count = len(crossed)
    order = min(question.order or usual_order or (count if count <= 3 else 2), max(count, 1))
    named = list_factorial_terms(crossed, order)
    return list_formula_terms(factors, covariates, (*blocks, *named, *((name,) for name in covariates)))
