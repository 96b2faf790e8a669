"""Nested repetition on the page: what n counts, the error term, and where the uncertainty comes from."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from datamill.analysis.answer.levels_of_repetition import MOST_VERSIONS, LevelsOfRepetition
from datamill.analysis.answer.response import ResponseAnalysis
from datamill.analysis.levels.comparison import PackageMean
from datamill.analysis.random_effects.variance_estimate import PLURALS
from datamill.analysis.versions.variances import VersionVariances
from datamill.design.design import Design
from datamill.experiment.experiment import Experiment
from datamill.experiment.messages.numbers import format_count, format_level, format_to_error
from datamill.report.figures.views import FigureView, start_view
from datamill.report.tables.table import Table, build_table
from datamill.report.variance.answer import phrase_variances
from datamill.report.variance.figures import draw_builds, draw_shares
from datamill.report.words.scales import Scale, round_shares


@dataclass(frozen=True, slots=True)
class UncertaintyView:
    """What the page shows of the levels of repetition."""

    sentences: tuple[str, ...]
    table: Table
    figures: tuple[Future[FigureView], ...]
    method: str


def counts_builds(experiment: Experiment, analysis: ResponseAnalysis) -> bool:
    """Whether an observation stands for a build, rather than for an execution."""
    nested = experiment.replication
    of_build = nested is not None and nested.builds > 1 and nested.executions == 1
    return of_build or analysis.observations.units == "builds"


def describe_n(experiment: Experiment, analysis: ResponseAnalysis, mean: PackageMean) -> str:
    """`n = 8 builds of 3 executions`; without nested repetition the bare number."""
    nested = experiment.replication
    if nested is None:
        return f"n = {format_count(mean.n)}"
    if not counts_builds(experiment, analysis):
        one = " of one build" if nested.builds == 1 else ""
        return f"n = {format_count(mean.n)} execution{'s' if mean.n > 1 else ''}{one}"
    shared = analysis.observations.cells.count_builds(analysis.package_factor, mean.package)
    count, points = (mean.n, 1) if shared is None else shared
    each = "" if nested.executions == 1 else f" of {format_count(nested.executions)} executions"
    text = f"n = {format_count(count)} build{'s' if count > 1 else ''}{each}"
    return text if points == 1 else f"{text} at each of {format_count(points)} design points"


def describe_error_term(experiment: Experiment, analysis: ResponseAnalysis) -> str:
    """What differences are judged by; empty where an experiment does not nest its repetitions."""
    if experiment.replication is None:
        return ""
    if counts_builds(experiment, analysis):
        return "error term: variation between builds"
    return "error term: variation between executions of one build"


def describe_replicates(experiment: Experiment, design: Design) -> str:
    """How often each design point is measured: `8 builds × 3 executions`, else `24 replicates`."""
    nested = experiment.replication
    if nested is None or nested.builds * nested.executions != design.replicates:
        return f"{design.replicates} replicates"
    parts = [
        f"{format_count(number)} {name}{'s' if number > 1 else ''}"
        for number, name in ((nested.builds, "build"), (nested.executions, "execution"))
    ]
    return " × ".join(parts)


def view_uncertainty(
    experiment: Experiment, found: LevelsOfRepetition | None, scale: Scale
) -> UncertaintyView | None:
    """Say where the uncertainty of each package's mean comes from; None where nothing is nested or known."""
    if found is None:
        return None
    known = found.versions
    sentences = phrase_variances(known, scale)
    if found.count > len(experiment.packages):
        sentences.append("A version here is a package under one combination of the other factors.")
    if found.count > MOST_VERSIONS:
        sentences.append(f"The first {MOST_VERSIONS} of {found.count} design points are looked at.")
    drawn = [start_view(draw_shares(known))]
    if known[0].nested.build_count > 1:
        drawn.append(start_view(draw_builds(known, scale)))
    return UncertaintyView(
        sentences=tuple(sentences),
        table=_tabulate_levels(known, scale),
        figures=tuple(drawn),
        method=(
            f"{known[0].estimate.method}; variances from mean squares (Kalibera and Tuma 2006, equations 14 "
            "to 16), from each of which what chance of the levels below adds is taken off"
        ),
    )


def _tabulate_levels(versions: Sequence[VersionVariances], scale: Scale) -> Table:
    """Standard deviation and share of each level, one row a level of a version."""
    several = len(versions) > 1
    rows = []
    for item in versions:
        for share in item.estimate.uncertainty:
            spread = item.estimate.deviations.get(share.level, 0.0) * scale.factor
            rows.append(
                (
                    *((item.nested.version,) if several else ()),
                    PLURALS[share.level],
                    format_to_error(spread, spread or 1.0),
                    round_shares(share).phrase(),
                )
            )
    unit = f" ({scale.unit})" if scale.unit else ""
    level = format_level(versions[0].estimate.confidence)
    headers = (
        *(("version",) if several else ()),
        "between",
        f"standard deviation{unit}",
        f"share of the uncertainty ({level} interval)",
    )
    return build_table(headers, tuple(rows), words=2 if several else 1)
