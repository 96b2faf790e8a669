"""`quantiles`: quantile regression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack, get_args

import polars as pl

from datamill.analysis.linear.mean_lines import MeanLines, find_mean_lines
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.question import ModelData, ModelQuestion
from datamill.analysis.quantile.model import fit_quantiles
from datamill.analysis.quantile.quantile_model import (
    ERROR_METHODS,
    Described,
    QuantileModel,
    StreamedResponse,
)
from datamill.analysis.quantile.stream import code_combinations_seen, fit_quantile_stream
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.messages.arguments import argument, tell, verb
from datamill.report.figures.figure import Figure
from datamill.report.quantiles.answer import state_quantiles
from datamill.report.quantiles.figures import Coding, draw_effects_by_quantile
from datamill.report.quantiles.json import spell_quantiles
from datamill.report.quantiles.statement import state_quantile_model
from datamill.report.quantiles.warnings import list_quantile_warnings
from datamill.report.tables.statement import Part
from datamill.results.tables.row_validity import is_tidy
from datamill.results.tables.table_batches import count_combinations, is_large_table, iterate_cells
from datamill.verbs.analyses.analysis import Analysis, Asked, build_question
from datamill.verbs.analyses.by_level import split_by_level
from datamill.verbs.inputs.arguments import (
    FEWEST_REPLICATES,
    check_choice,
    take_alpha,
    take_confidence,
    take_quantiles,
    take_seed,
    take_whole,
)
from datamill.verbs.inputs.data import locate_errors, read_data

#: The quantiles of ASPLOS 2013, section 6.
USUAL_QUANTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)
#: Level of p-values, adjusted for the number of terms, below which a term counts as detected.
USUAL_ALPHA = 0.05
#: Rules for the width of the window that densities are taken from.
BANDWIDTHS = ("hall-sheather", "bofinger")
#: Bytes of numbers beyond which a table is read in passes.
_LARGEST_IN_MEMORY = 2 * 10**9

_SHARED_BUILDS = (
    "executions of one build are taken for independent: where builds differ, intervals of what a build has "
    f"(package, build factors) are too narrow; {verb('compare')} judges means by builds"
)


@dataclass(frozen=True, slots=True, eq=False)
class Quantiles(Analysis):
    """Effects on each quantile with their intervals."""

    observations: Described
    model: QuantileModel
    mean: MeanLines | None = None
    coding: Coding = "effect"

    @property
    def title(self) -> str:
        """What was analysed."""
        return f"Quantile regression of {self.observations.response}"

    @property
    def lead(self) -> tuple[str, ...]:
        """Which factor acts on the tail, and how much."""
        return state_quantiles(self.model, self.observations.response, self.observations.unit)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer."""
        return list_quantile_warnings(self.model, self.observations.response, self.observations.unit)

    def label_groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Levels of the factors."""
        return tuple((factor.name, factor.levels) for factor in self.model.factors)

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:  # noqa: ARG002
        """Effects by quantile, and the table of ASPLOS 2013 (Table 4)."""
        return state_quantile_model(
            self.observations, self.model, mean=self.mean, with_changes=self.coding == "zero-one"
        )

    def numbers(self) -> dict[str, Any]:
        """Every quantile with every digit."""
        return spell_quantiles(self.observations, self.model, self.mean)

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """Effect by quantile, a panel an effect (ASPLOS 2013, Figure 7)."""
        draw = partial(
            draw_effects_by_quantile, self.observations, self.model, mean=self.mean, coding=self.coding
        )
        return (draw,)


@split_by_level(USUAL_ALPHA)
def quantiles(
    data: Any,
    *,
    quantiles: Sequence[float] = USUAL_QUANTILES,
    errors: str = "auto",
    bandwidth: str = "hall-sheather",
    confidence: float | None = None,
    alpha: float | None = None,
    replicates: int | None = None,
    seed: int = 1,
    block_length: int | None = None,
    stream: bool = False,
    coding: Coding = "effect",
    **asked: Unpack[Asked],
) -> Quantiles:
    """Fit quantiles of a response to factors and covariates.

    `data` is as in `anova`; the measurements of one trial are taken one by one, and the intervals
    know it. `errors` is a key of `ERROR_METHODS`. With `stream`, and by itself beyond 2 GB of
    numbers, a Parquet file is read in passes with bounded memory. With the `coding` "zero-one" the
    coefficients of the 0/1 coding are shown as well, from the first level of each factor; they are in
    `model.fits[i].changes` in any case, and in `mean` what least squares give.

    Raises:
        InputError: the data cannot be used, or do not allow the model; says what to do.
    """
    question = build_question(asked, _VERB)
    wanted = take_quantiles(quantiles)
    check_choice("errors", errors, ERROR_METHODS)
    check_choice("bandwidth", bandwidth, BANDWIDTHS)
    check_choice("coding", coding, get_args(Coding))
    confidence, seed = take_confidence(confidence), take_seed(seed)
    alpha = None if alpha is None else take_alpha(alpha)
    replicates = take_whole("replicates", replicates, FEWEST_REPLICATES)
    block_length = take_whole("block_length", block_length, 1)
    if stream or _should_stream(data, question, errors):
        if not isinstance(data, (str, Path)) or errors not in ("auto", "nid"):
            raise InputError(
                f"only a Parquet file can be streamed, and {errors} errors may need the data in memory",
                where=argument("stream"),
                remedy=f"Give a file and {argument('errors', 'nid')}.",
            )
        with locate_errors(str(data)):
            level = 0.95 if confidence is None else confidence
            model = _fit_stream(
                Path(data),
                question,
                wanted,
                confidence=level,
                alpha=USUAL_ALPHA if alpha is None else alpha,
                bandwidth=bandwidth,
            )
        return Quantiles(StreamedResponse(question.response), model, coding=coding)
    read = read_data(data, question, average=False)
    read.ask_about_identifiers(question)
    with locate_errors(read.source):
        model = fit_quantiles(
            read.selected,
            wanted,
            errors=errors,
            bandwidth=bandwidth,
            confidence=read.choose_confidence(confidence),
            alpha=read.choose_alpha(alpha, USUAL_ALPHA),
            replicates=replicates,
            seed=seed,
            block_length=block_length,
        )
    by_builds = read.selected.observations.units == "builds"
    if read.experiment is not None and _shares_builds(read.experiment) and not by_builds:
        model = replace(model, warnings=(*model.warnings, tell(_SHARED_BUILDS)))
    model = replace(model, warnings=(*model.warnings, *read.notes))
    return Quantiles(read.selected.observations, model, fit_mean_lines(read.selected, model), coding)


#: The verb under a name that its own argument does not hide.
_VERB = quantiles


def fit_mean_lines(data: ModelData, model: QuantileModel) -> MeanLines | None:
    """Fit the terms of a quantile model to the mean; None where least squares cannot."""
    observations = data.observations
    try:
        linear = fit_linear_model(
            observations.cells,
            terms=model.terms,
            covariates=observations.covariates,
            blocks=data.blocks,
            confidence=model.confidence,
            transform=observations.transform,
        )
    except InputError:
        return None
    same = [row.term.name for row in linear.terms] == [term.name for term in model.terms]
    return find_mean_lines(linear) if same else None


def _shares_builds(experiment: Experiment) -> bool:
    """Whether several trials measured each of several builds, so that trials are not independent."""
    nested = experiment.replication
    return nested is not None and nested.builds > 1 and (nested.executions > 1 or bool(experiment.factors))


def _should_stream(data: Any, question: ModelQuestion, errors: str) -> bool:
    """Whether a table is too large for memory and the question one that passes over it can answer."""
    plain = not (question.formula or question.covariates or question.trial or question.run_order)
    plain = plain and not question.where
    named = question.factors and question.response and not question.blocks
    if not isinstance(data, (str, Path)) or not plain or not named or errors not in ("auto", "nid"):
        return False
    return is_large_table(Path(data), len(question.factors) + 1, _LARGEST_IN_MEMORY)


def _fit_stream(
    file: Path,
    question: ModelQuestion,
    quantiles: Sequence[float],
    *,
    confidence: float,
    alpha: float,
    bandwidth: str,
) -> QuantileModel:
    """Fit a model to a table that stays on the disk.

    Raises:
        InputError: the question needs the data in memory, or whatever keeps it from being answered.
    """
    factors, response = question.factors, question.response
    if (
        question.formula
        or question.covariates
        or question.trial
        or question.run_order
        or question.blocks
        or question.where
    ):
        raise InputError(
            f"a streamed table is asked by {argument('response')} and {argument('factors')} alone",
            remedy=f"Leave {argument('stream')} out, or formula, covariates, blocks, trial and order of "
            "the observations.",
        )
    if not response or not factors:
        raise InputError(
            f"{argument('factors' if response else 'response')} is missing",
            remedy=f"Name the columns to be read{_list_file_columns(file)}.",
        )
    if response in factors or len(set(factors)) < len(factors):
        raise InputError("a column is named twice", remedy="Name each once.")
    if _is_tidy_file(file):
        raise InputError(
            "this is datamill's own table, whose rows are of several responses and not all valid: it cannot "
            "be streamed",
            remedy=f"Leave {argument('stream')} out, or write the valid rows of one response to their "
            "own table.",
        )
    seen = count_combinations(file, factors, response)
    cells, number_of = code_combinations_seen(
        factors, seen.labels, seen.counts, seen.low, seen.high, seen.levels
    )
    return fit_quantile_stream(
        cells,
        lambda: iterate_cells(file, factors, response, number_of),
        quantiles,
        order=question.order or (len(factors) if len(factors) <= 3 else 2),
        confidence=confidence,
        alpha=alpha,
        bandwidth=bandwidth,
    )


def _list_file_columns(file: Path) -> str:
    """`, of a, b, c` of a Parquet file; nothing where it is none, which reading it will say."""
    try:
        return f", of {', '.join(pl.read_parquet_schema(file))}"
    except (pl.exceptions.PolarsError, OSError):
        return ""


def _is_tidy_file(file: Path) -> bool:
    """Whether a Parquet file is datamill's own table; reading it says what it is otherwise."""
    try:
        return is_tidy(pl.DataFrame(schema=pl.read_parquet_schema(file)))
    except (pl.exceptions.PolarsError, OSError):
        return False
