"""`variance`: where the uncertainty of a mean comes from, builds, executions or measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack, get_args

from datamill.analysis.random_effects.variance import VarianceMethod
from datamill.analysis.versions.variances import VersionVariances, analyze_version
from datamill.report.figures.figure import Figure
from datamill.report.tables.statement import Part
from datamill.report.variance.answer import choose_variance_scale, phrase_variances
from datamill.report.variance.figures import draw_builds, draw_shares
from datamill.report.variance.json import spell_variances
from datamill.report.variance.statement import collect_variance_warnings, state_variances
from datamill.verbs.analyses.analysis import Analysis
from datamill.verbs.analyses.by_level import split_by_level
from datamill.verbs.inputs.arguments import check_choice, take_confidence, take_level_lists, take_seed
from datamill.verbs.inputs.data import locate_errors
from datamill.verbs.inputs.nested_data import AskedNested, build_nesting_columns, read_nested


@dataclass(frozen=True, slots=True, eq=False)
class Variances(Analysis):
    """Variances of builds, executions and measurements of each version; `excluded` rows were invalid.

    `notes` are warnings about the data; `put_aside` counts rows that are no observations, by what they are.
    """

    versions: tuple[VersionVariances, ...]
    excluded: int
    seed: int
    notes: tuple[str, ...]
    put_aside: tuple[tuple[str, int], ...]

    @property
    def title(self) -> str:
        """What was analysed."""
        return f"Where the uncertainty of {self.versions[0].nested.response} comes from"

    @property
    def lead(self) -> tuple[str, ...]:
        """Which level makes the mean uncertain, and what would help."""
        return tuple(phrase_variances(self.versions, choose_variance_scale(self.versions)))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer."""
        return (*self.notes, *collect_variance_warnings(self.versions))

    def label_groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Levels of the factors."""
        return (("version", tuple(item.nested.version for item in self.versions)),)

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:
        """Means, variances by level, impact of builds; `verbose`: the paper's interval and squares."""
        return state_variances(self.versions, self.excluded, self.notes, self.put_aside, verbose=verbose)

    def numbers(self) -> dict[str, Any]:
        """The same with every digit."""
        return spell_variances(self.versions, self.excluded, self.seed, self.put_aside)

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """Execution means by build, and the shares of the levels."""
        return (
            partial(draw_builds, self.versions, choose_variance_scale(self.versions)),
            partial(draw_shares, self.versions),
        )


@split_by_level()
def variance(
    data: Any,
    *,
    method: VarianceMethod = "means",
    where: Mapping[str, str | Sequence[str]] | None = None,
    confidence: float | None = None,
    seed: int = 1,
    **asked: Unpack[AskedNested],
) -> Variances:
    """Estimate how much builds, executions and measurements vary, and what makes the mean uncertain.

    `data` is the path of a table or bundle, or a table in memory, with a row for each measurement and columns
    `version`, `build`, `execution`, `measurement`, `value`, of which only the last is needed; the keywords of
    these names (and `unit`, `response`) name other columns. `where` has the levels
    of columns that rows must have. `method` is "means" (mean squares of
    unweighted means) or "reml".

    Raises:
        InputError: the data cannot be used; says what to do.
    """
    check_choice("method", method, get_args(VarianceMethod))
    confidence, seed = take_confidence(confidence), take_seed(seed)
    read = read_nested(data, build_nesting_columns(asked, variance), take_level_lists("where", where))
    level = read.choose_confidence(confidence)
    with locate_errors(read.source):
        versions = tuple(analyze_version(nested, level, method=method, seed=seed) for nested in read.versions)
    return Variances(versions, read.excluded, seed, read.notes, read.put_aside)
