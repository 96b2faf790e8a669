"""`plan --false-alarms`: how often a version seems to differ from itself, by the number of builds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.versions.false_alarms import FalseAlarms, simulate_false_alarms
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.phrases import finish_sentence
from datamill.experiment.messages.suggestions import suggest_name
from datamill.report.figures.figure import Figure
from datamill.report.plan.alarms_json import spell_alarms
from datamill.report.plan.alarms_statement import explain_alarms, phrase_alarms, state_alarms
from datamill.report.plan.figures import draw_alarms
from datamill.report.tables.statement import Part
from datamill.verbs.analyses.analysis import Analysis
from datamill.verbs.inputs.arguments import take_confidence, take_name, take_seed, take_whole
from datamill.verbs.inputs.data import locate_errors
from datamill.verbs.inputs.nested_data import AskedNested, build_nesting_columns, read_nested


@dataclass(frozen=True, slots=True, eq=False)
class FalseAlarmStudy(Analysis):
    """False alarms of one version against itself."""

    alarms: FalseAlarms

    @property
    def title(self) -> str:
        """What was simulated."""
        return f"False alarms in {self.alarms.response} of {self.alarms.version}"

    @property
    def lead(self) -> tuple[str, ...]:
        """How often it errs with one build and with many."""
        return phrase_alarms(self.alarms), *explain_alarms(self.alarms)[-1:]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer."""
        return self.alarms.warnings

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:
        """The table by the number of builds; `verbose`: the paper's equations."""
        return state_alarms(self.alarms, verbose=verbose)

    def numbers(self) -> dict[str, Any]:
        """The same with every digit."""
        return spell_alarms(self.alarms)

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """The picture of the paper's Figure 2."""
        return (partial(draw_alarms, self.alarms),)


def false_alarms(
    data: Any,
    *,
    only: str = "",
    group_sizes: Sequence[int] = (),
    comparisons: int = 10_000,
    confidence: float | None = None,
    seed: int = 1,
    **asked: Unpack[AskedNested],
) -> FalseAlarmStudy:
    """Compare random groups of one version's builds with each other, and count how often they seem to differ.

    `data` is a bundle, or a table with one row for each measurement and columns version, build, execution
    and value; `only` names one of several versions, else that with the most builds is taken.

    Raises:
        InputError: the data cannot be used, or have one build only; says what to do.
    """
    confidence, seed = take_confidence(confidence), take_seed(seed)
    count = take_whole("comparisons", comparisons, 100)
    sizes = [take_whole("group_sizes", size, 1) or 1 for size in group_sizes]
    read = read_nested(data, build_nesting_columns(asked, false_alarms))
    if read.notes and max(nested.build_count for nested in read.versions) < 2:
        raise InputError(
            "there is one build only, and false alarms are counted between builds",
            where=read.source,
            remedy=finish_sentence("; ".join(read.notes)),
        )
    with locate_errors(read.source):
        found = simulate_false_alarms(
            choose_version(read.versions, take_name("only", only)),
            sizes,
            confidence=read.choose_confidence(confidence),
            comparisons=count or 10_000,
            seed=seed,
        )
    return FalseAlarmStudy(replace(found, warnings=(*read.notes, *found.warnings)))


def choose_version(versions: Sequence[NestedValues], wanted: str) -> NestedValues:
    """Return the version of a name; without one the only one, or that with the most builds.

    Raises:
        InputError: there is none of that name.
    """
    if not wanted:
        return max(versions, key=lambda nested: nested.build_count)
    names = [nested.version for nested in versions]
    if wanted not in names:
        raise InputError(
            f'there is no version "{wanted}"',
            where=argument("only"),
            remedy=suggest_name(wanted, names),
        )
    return versions[names.index(wanted)]
