"""Drift in plain words: did it matter when a trial ran, and does that touch the answer?"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, replace

from datamill.analysis.answer.response import ResponseAnalysis
from datamill.analysis.drift.drift import Drift
from datamill.analysis.interval import Interval
from datamill.experiment.experiment import Experiment
from datamill.experiment.messages.numbers import (
    format_count,
    format_figures,
    format_fixed,
    format_given,
    format_p,
)
from datamill.report.drift.figures import draw_blocks, draw_drift
from datamill.report.figures.views import FigureView, start_view
from datamill.report.words.scales import Scale, choose_scale, format_interval, format_percent

#: Packages whose mean places in the run differ by less than this share of it are spread evenly.
_EVENLY = 0.1


@dataclass(frozen=True, slots=True)
class DriftView:
    """What the page shows of drift."""

    sentences: tuple[str, ...]
    method: str
    figures: tuple[Future[FigureView], ...]


def view_drift(experiment: Experiment, drift: Drift | None, analysis: ResponseAnalysis) -> DriftView | None:
    """Put drift into words and pictures; None where there was nothing to look for it in."""
    if drift is None:
        return None
    scale, shown = _scale_drift(drift, analysis), drift
    if not drift.relative:
        shown = replace(drift, deviations=drift.deviations * scale.factor)
    drawn = (
        draw_drift(shown, analysis.response.name, scale.unit),
        draw_blocks(shown, analysis.response.name, scale.unit),
    )
    return DriftView(
        sentences=state_drift(experiment, drift, analysis),
        method=f"n = {format_count(drift.n)}, alpha = {format_given(drift.alpha)}; {drift.method}",
        figures=tuple(start_view(figure) for figure in drawn if figure is not None),
    )


def _scale_drift(drift: Drift, analysis: ResponseAnalysis) -> Scale:
    return choose_scale(analysis.unit, float(abs(drift.deviations).max()))


def state_drift(experiment: Experiment, drift: Drift, analysis: ResponseAnalysis) -> tuple[str, ...]:
    """Say what drift was found in an experiment's response; see `phrase_drift`."""
    return phrase_drift(
        drift,
        analysis.response.name,
        _scale_drift(drift, analysis),
        within_blocks=analysis.blocked is not None,
        asked_blocks=experiment.order == "interleaved" or experiment.block != "none",
    )


def warn_of_drift(experiment: Experiment, drift: Drift | None, analysis: ResponseAnalysis) -> str:
    """Return what the answer must say of drift, empty where none was found."""
    if drift is None or drift.kind == "none":
        return ""
    return " ".join(state_drift(experiment, drift, analysis)[:2])


def phrase_drift(
    drift: Drift, name: str, scale: Scale, *, within_blocks: bool, asked_blocks: bool = False
) -> tuple[str, ...]:
    """What drift was found, and what it does to the answer, a sentence each.

    `within_blocks` says that the answer compares within blocks, `asked_blocks` that the experiment
    wanted some.
    """
    change = _spell_size(drift.trend.change, drift, scale)
    references = int(drift.order.reference.sum())
    basis = f" The {references} reference trials are among the {drift.n}." if references else ""
    if drift.kind == "none":
        other = "" if drift.stretch is None else f", p = {format_p(drift.stretch.p)} for a while"
        return (
            f"No drift was detected in {name} (p = {format_p(drift.trend.p)} for a steady change{other}); "
            f"from the first trial to the last it changed by {change}.{basis}",
        )
    if drift.kind == "trend":
        found = (
            f"Drift: from the first trial to the last {name} changed by {change}, "
            f"p = {format_p(drift.trend.p)}."
        )
    else:
        assert drift.stretch is not None
        stretch = drift.stretch
        where = f"{stretch.block}, " if stretch.block else ""
        found = (
            f"Drift: {where}trials {stretch.first} to {stretch.last} of {format_count(drift.n)} in run order "
            f"lie apart: their {name} differed from that of like trials by "
            f"{_spell_size(stretch.shift, drift, scale)}, p = {format_p(stretch.p)}."
        )
    return (
        found,
        _phrase_consequence(drift, scale, within_blocks=within_blocks, asked_blocks=asked_blocks),
        *([basis.strip()] if basis else []),
    )


def _phrase_consequence(drift: Drift, scale: Scale, *, within_blocks: bool, asked_blocks: bool) -> str:
    if not drift.latest:
        return (
            "The mean is over all of this, so that it describes no one state of the machine; find out what "
            "changed, or measure longer."
        )
    size = _spell_number(drift.distortion, drift, scale)
    if within_blocks:
        return (
            "Differences are taken within blocks, which leaves out what drifted from block to block; else "
            f"up to {size} of the difference between packages could be drift."
        )
    if drift.imbalance >= _EVENLY:
        return (
            f"{drift.earliest} ran earlier than {drift.latest}, by "
            f"{format_fixed(100 * drift.imbalance, 0)}% of the run "
            f"on average: up to {size} of the difference between packages may be drift."
        )
    turns = f"Packages took turns, so that their comparison is hardly touched (by {size} at most)"
    if asked_blocks:
        # Its blocks could not be used, of which a warning of its own says why, or there was one only.
        return f"{turns}, but drift adds to the noise: find out what changed meanwhile."
    return (
        f"{turns}, but drift "
        'adds to the noise: order = "interleaved" or block = "hour" take most of it out of the comparison.'
    )


def _spell_size(value: Interval, drift: Drift, scale: Scale) -> str:
    if drift.relative:
        return format_percent(value, drift.confidence, signed=True)
    return format_interval(value, scale, drift.confidence, signed=True)


def _spell_number(value: float, drift: Drift, scale: Scale) -> str:
    if drift.relative:
        return f"{format_figures(value, 2)}%"
    return f"{format_fixed(value * scale.factor, 3)} {scale.unit}".strip()
