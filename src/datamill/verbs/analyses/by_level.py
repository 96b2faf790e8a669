"""The same analysis for each level of a factor, as one answer whose intervals hold together."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, signature
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from datamill.analysis.contrasts.multiplicity import share_alpha, share_confidence
from datamill.analysis.model_data.rows.chosen_rows import choose_rows, find_column, list_labels
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_count, format_level
from datamill.report.figures.figure import Figure
from datamill.report.levels.figure import MOST_PANELS, combine_figures
from datamill.report.levels.statement import LevelStatement, combine_statements
from datamill.report.tables.statement import Part
from datamill.results.tables.row_validity import is_tidy, read_validity
from datamill.verbs.analyses.analysis import Analysis
from datamill.verbs.inputs.arguments import (
    take_alpha,
    take_confidence,
    take_level_lists,
    take_name,
)
from datamill.verbs.inputs.data import locate_errors
from datamill.verbs.inputs.nested_data import LoadedTable, load_table

#: Levels that one answer is split by.
_MOST_LEVELS = 60

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")
A = TypeVar("A", bound=Analysis)


@dataclass(frozen=True, slots=True, eq=False)
class ByLevel(Analysis, Generic[A]):
    """An analysis for each level of the factor `by`, in the order of the levels.

    `problems` has the levels that allow no analysis, each with the reason. `confidence` is that of all
    intervals of one kind together: each analysis has them at `own_confidence`, and judges at a share of alpha
    as small (Bonferroni).
    """

    by: str
    results: Mapping[str, A]
    problems: Mapping[str, str]
    confidence: float
    own_confidence: float

    @property
    def count(self) -> int:
        """The number of analyses that the error rate is shared by."""
        return len(self.results) + len(self.problems)

    @property
    def title(self) -> str:
        """What was analysed."""
        return f"{next(iter(self.results.values())).title} by {self.by}"

    @property
    def lead(self) -> tuple[str, ...]:
        """The first sentence of each level's answer, then how the error rate is shared."""
        said = [f"{self._name(level)}: {result.lead[0]}" for level, result in self.results.items()]
        said += [f"{self._name(level)}: no analysis, {why}." for level, why in self.problems.items()]
        if self.count > 1:
            said.append(
                f"Intervals of the same thing hold at all {format_count(self.count)} levels together with "
                f"{format_level(self.confidence)}: each is a {format_level(self.own_confidence)} "
                f"interval (Bonferroni), and each analysis judges at 1/{self.count} of alpha; its p-values "
                "are its own."
            )
        return tuple(said)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answers; what holds for every level stands there once."""
        every = [set(result.warnings) for result in self.results.values()]
        common = set.intersection(*every) if len(every) == self.count else set()
        said = [warning for warning in next(iter(self.results.values())).warnings if warning in common]
        for level, result in self.results.items():
            said += [f"{self._name(level)}: {text}" for text in result.warnings if text not in common]
        return tuple(said)

    def label_groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The levels of the analyses' factors."""
        groups: dict[str, dict[str, None]] = {}
        for result in self.results.values():
            for name, levels in result.label_groups():
                groups.setdefault(name, {}).update(dict.fromkeys(levels))
        return tuple((name, tuple(levels)) for name, levels in groups.items())

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:
        """The sentences, then one table over all levels where their tables are alike."""
        parts = [
            LevelStatement(level, result.statement(verbose=verbose), result.lead, result.warnings)
            for level, result in self.results.items()
        ]
        return combine_statements(self.by, parts, self.lead, self.warnings)

    def numbers(self) -> dict[str, Any]:
        """The numbers of each level, with what they have in common before them."""
        return {
            "by": self.by,
            "confidence": self.confidence,
            "own_confidence": self.own_confidence,
            "levels": [
                {"level": level, **result.numbers(), "warnings": list(result.warnings)}
                for level, result in self.results.items()
            ],
            "problems": [{"level": level, "problem": why} for level, why in self.problems.items()],
        }

    def draw(self, draw: Callable[[A], Figure]) -> Figure:
        """One figure of all levels, from what draws that of one.

        Raises:
            InputError: as `draw`, or there are too many levels.
        """
        if len(self.results) > MOST_PANELS:
            raise InputError(
                f"{len(self.results)} levels are too many for one figure",
                remedy=f"Choose up to {MOST_PANELS} with {argument('where')}.",
            )
        drawn = {self._name(level): draw(result) for level, result in self.results.items()}
        return combine_figures(self.by, drawn)

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """The figures of the analyses, each with a panel a level."""
        counts = {len(result.drawings()) for result in self.results.values()}
        return tuple(partial(self._draw_number, number) for number in range(min(counts, default=0)))

    def _draw_number(self, number: int) -> Figure:
        return self.draw(lambda result: result.drawings()[number]())

    def _name(self, level: str) -> str:
        return f"{self.by} {level}"


class Splittable(Protocol[P, R_co]):
    """A verb that, with `by`, answers for each level of a factor."""

    @overload
    def __call__(self, data: Any, *, by: str, **given: Any) -> ByLevel[Any]: ...

    @overload
    def __call__(self, data: Any, *, by: str | None, **given: Any) -> R_co | ByLevel[Any]: ...

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


def split_by_level(usual_alpha: float | None = None) -> Callable[[Callable[P, R]], Splittable[P, R]]:
    """Let a verb take `by`, a factor: the same analysis for each of its levels, together at one error rate.

    `usual_alpha` is the level of p-values where neither the call nor the bundle names one; None for a verb
    that judges by its confidence alone.
    """

    def let_split(analyze: Callable[P, R]) -> Splittable[P, R]:
        @functools.wraps(analyze)
        def ask(*args: Any, by: str | None = None, **given: Any) -> Any:
            name = take_name("by", by)
            if not name:
                return analyze(*args, **given)
            return _ask_each(analyze, args, name, given, usual_alpha)

        plain = signature(analyze)
        own = [item for item in plain.parameters.values() if item.kind is not Parameter.VAR_KEYWORD]
        rest = [item for item in plain.parameters.values() if item.kind is Parameter.VAR_KEYWORD]
        more = Parameter("by", Parameter.KEYWORD_ONLY, default=None, annotation="str | None")
        ask.__signature__ = plain.replace(parameters=[*own, more, *rest])  # type: ignore[attr-defined]
        return cast("Splittable[P, R]", ask)

    return let_split


def _ask_each(
    analyze: Callable[..., Any],
    args: tuple[Any, ...],
    by: str,
    given: Mapping[str, object],
    usual_alpha: float | None,
) -> ByLevel[Any]:
    (data,) = args
    confidence = take_confidence(given.get("confidence"))
    where = take_level_lists("where", given.get("where"))
    loaded = load_table(data)
    with locate_errors(loaded.file):
        levels = _list_levels(loaded, by, where, given)
    experiment = loaded.experiment
    if confidence is None:
        confidence = experiment.confidence if experiment is not None else 0.95
    own = share_confidence(confidence, len(levels))
    asked = {**given, "confidence": own}
    if usual_alpha is not None:
        alpha = given.get("alpha")
        if alpha is None:
            alpha = experiment.alpha if experiment is not None else usual_alpha
        asked["alpha"] = share_alpha(take_alpha(alpha), len(levels))
    factors = given.get("factors")
    if isinstance(factors, Iterable) and not isinstance(factors, str):
        # The split takes the factor's place in the model.
        asked["factors"] = [name for name in factors if name != by]
    results, problems, first = {}, {}, None
    for level in levels:
        try:
            results[level] = analyze(data, **{**asked, "where": {**dict(where), by: [level]}})
        except InputError as error:
            problems[level] = error.message
            first = first or error
    if first is not None and not results:
        raise first
    return ByLevel(by, results, problems, confidence, own)


def _list_levels(
    loaded: LoadedTable,
    by: str,
    where: tuple[tuple[str, tuple[str, ...]], ...],
    given: Mapping[str, object],
) -> tuple[str, ...]:
    """The levels that rows of the question have.

    Raises:
        InputError: there is no such column, it has no level, or too many.
    """
    table = choose_rows(loaded.table, where, loaded.file)
    if is_tidy(table):
        table = read_validity(table, loaded.file, None)
        table = table.filter(table["valid"].fill_null(value=False))
        response = given.get("response")
        if isinstance(response, str) and response in table["response"]:
            table = table.filter(table["response"] == response)
    column = find_column(table, by, loaded.file)
    levels = list_labels(table, column, loaded.levels)
    if not levels or len(levels) > _MOST_LEVELS:
        raise InputError(
            f"{by} has {format_count(len(levels))} levels to split by",
            where=loaded.file,
            remedy=f"Name a factor with up to {_MOST_LEVELS} levels, or choose with {argument('where')}.",
        )
    return levels
