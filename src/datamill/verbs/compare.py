"""`compare`: has performance changed between versions?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack, get_args

from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.versions.compare import compare_versions
from datamill.analysis.versions.history import ChangePoint, VersionHistory, find_changes
from datamill.analysis.versions.means import list_unit_means
from datamill.analysis.versions.version_comparison import VersionAdjustment, VersionChange, VersionComparison
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Direction
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import format_given
from datamill.experiment.quantities import parse_share
from datamill.report.compare.answer import is_worse_than_threshold, state_answer
from datamill.report.compare.history_figure import draw_history
from datamill.report.compare.json import spell_comparison
from datamill.report.compare.statement import list_warnings, state_comparison
from datamill.report.compare.version_figure import draw_changes
from datamill.report.figures.figure import Figure
from datamill.report.tables.statement import Part
from datamill.verbs.analyses.analysis import Analysis
from datamill.verbs.inputs.arguments import (
    check_choice,
    take_alpha,
    take_confidence,
    take_levels,
    take_name,
    take_seed,
)
from datamill.verbs.inputs.data import locate_errors
from datamill.verbs.inputs.nested_data import AskedNested, build_nesting_columns
from datamill.verbs.inputs.versions import (
    add_put_aside,
    explain_baseline,
    find_costs,
    find_direction,
    name_versions,
    read_source,
    warn_of_order,
    warn_of_sources,
)


@dataclass(frozen=True, slots=True, eq=False)
class Compare(Analysis):
    """Versions compared; `history` where they are a series; `basis` says why this one is the baseline.

    `excluded` counts rows judged invalid, `put_aside` those that are no observations, by what they are.
    `units` has the means of each version's builds, or of what stands in for them, in ascending order.
    `origins` says of each version, in their order, which argument it came from, counted from 0.
    """

    comparison: VersionComparison
    history: VersionHistory | None
    notes: tuple[str, ...]
    excluded: int
    basis: str
    put_aside: tuple[tuple[str, int], ...]
    units: Mapping[str, FloatArray]
    origins: tuple[int, ...]

    @property
    def title(self) -> str:
        """What was compared."""
        return f"{self.comparison.response} of {len(self.comparison.means)} versions"

    @property
    def lead(self) -> tuple[str, ...]:
        """Which versions changed, by how much, and what it would take to tell of the others."""
        return state_answer(self.comparison, self.history)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer."""
        return list_warnings(self.comparison, self.history, self.notes)

    @property
    def worse(self) -> tuple[str, ...]:
        """Versions that changed for the worse by more than the threshold; of a series where it does, too."""
        places = () if self.history is None else self.history.changes
        changes: list[VersionChange | ChangePoint] = [*self.comparison.changes, *places]
        found = [item.version for item in changes if is_worse_than_threshold(item, self.comparison)]
        return tuple(mean.version for mean in self.comparison.means if mean.version in found)

    def label_groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Levels of the factors."""
        return (("version", tuple(mean.version for mean in self.comparison.means)),)

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:
        """The verdicts, then every mean and every difference; `verbose`: what the paper's rule says."""
        return state_comparison(
            self.comparison,
            self.history,
            self.notes,
            self.excluded,
            self.basis,
            self.put_aside,
            verbose=verbose,
        )

    def numbers(self) -> dict[str, Any]:
        """The same with every digit."""
        return spell_comparison(self.comparison, self.history, self.excluded, self.basis, self.put_aside)

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """Changes on their intervals and the means of versions; of a series its history first."""
        changes = partial(draw_changes, self.comparison, self.units)
        means = partial(draw_history, self.comparison, self.history)
        return (means, changes) if self.history is not None else (changes, means)


def compare(
    *data: Any,
    baseline: str = "",
    series: bool = False,
    threshold: str | float = 0.01,
    confidence: float | None = None,
    alpha: float | None = None,
    adjust: VersionAdjustment = "bonferroni",
    direction: Direction | None = None,
    where: Mapping[str, str] | None = None,
    seed: int = 1,
    **asked: Unpack[AskedNested],
) -> Compare:
    """Compare versions, of one argument or several, by their means over builds.

    `data` are paths of CSV or Parquet files or of bundles, or tables (polars, pandas, Arrow, dicts of
    columns), one row a measurement; each may hold several versions. All are compared with `baseline`, the
    first unless named; with `series` each with the one before, and changes of the whole series are
    looked for. `threshold` is the relative change that is too small to matter. `alpha` is 1 − `confidence`
    said the other way. `where` keeps rows with these levels only.

    Raises:
        InputError: the data cannot be used, or do not allow the comparison; says what to do.
    """
    columns = build_nesting_columns(asked, compare)
    check_choice("adjust", adjust, get_args(VersionAdjustment))
    if direction is not None:
        check_choice("direction", direction, get_args(Direction))
    baseline, seed = take_name("baseline", baseline), take_seed(seed)
    share = parse_share(threshold, where="threshold")
    level = _take_level(confidence, alpha)
    if not data:
        raise InputError("no data are given", remedy="Give a file, a bundle or a table.")
    chosen = take_levels("where", where)
    sources = [read_source(item, columns, chosen, number) for number, item in enumerate(data, start=1)]
    versions = name_versions(sources)
    if direction is None and versions:
        direction = find_direction(sources, versions[0].response)
    if level is None:
        known = (source.experiment.confidence for source in sources if source.experiment is not None)
        level = next(known, 0.95)
    with locate_errors(" and ".join(source.place for source in sources)):
        ask = partial(
            compare_versions,
            versions,
            baseline=baseline,
            consecutive=series and not baseline,
            threshold=share,
            confidence=level,
            adjustment=adjust,
            direction=direction,
        )
        comparison = ask()
        if any(change.cost is not None for change in comparison.changes):
            # Only who cannot tell needs to know what builds take, for which all records are read.
            comparison = ask(costs=find_costs(sources, comparison.means[0].measurements))
        history = None
        if series:
            history = find_changes(comparison.means, confidence=level, alpha=1 - level, seed=seed)
    return Compare(
        comparison,
        history,
        (*warn_of_sources(sources), *warn_of_order(sources, series)),
        sum(source.excluded for source in sources),
        "as asked for"
        if baseline
        else tell(f"{explain_baseline(sources)}; {argument('baseline')} names another"),
        add_put_aside(sources),
        {
            mean.version: list_unit_means(values, mean.level)
            for mean, values in zip(comparison.means, versions, strict=True)
        },
        tuple(place for place, source in enumerate(sources) for _ in source.versions),
    )


def _take_level(confidence: float | None, alpha: float | None) -> float | None:
    """The level of intervals, which is that of verdicts as well."""
    level = take_confidence(confidence)
    if alpha is None:
        return level
    of_alpha = 1 - take_alpha(alpha)
    if level is not None and abs(level - of_alpha) > 1e-9:
        raise InputError(
            f"confidence {format_given(level)} and alpha {format_given(alpha)} contradict each other: "
            "verdicts rest on the intervals",
            remedy=f"Give one of them; alpha {format_given(alpha)} is confidence {format_given(of_alpha)}.",
        )
    return of_alpha
