"""Versions compared, as JSON with every digit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from datamill.analysis.interval import Ratio
from datamill.analysis.versions.history import VersionHistory
from datamill.analysis.versions.version_comparison import VersionChange, VersionComparison, VersionMean
from datamill.report.compare.answer import judge_direction
from datamill.report.tables.interval_json import spell_interval


def spell_comparison(
    comparison: VersionComparison,
    history: VersionHistory | None = None,
    excluded: int = 0,
    basis: str = "",
    put_aside: Sequence[tuple[str, int]] = (),
) -> dict[str, Any]:
    """Write a comparison of versions as a JSON object; differences are version minus baseline."""
    return {
        "response": comparison.response,
        "unit": comparison.unit,
        "direction": comparison.direction,
        "n": comparison.n,
        "excluded": excluded,
        "put_aside": dict(put_aside),
        "threshold": comparison.threshold,
        "confidence": comparison.confidence,
        "adjust": comparison.adjustment,
        "consecutive": comparison.consecutive,
        "baseline": None
        if comparison.consecutive
        else {"version": comparison.changes[0].baseline, "reason": basis},
        "method": comparison.method,
        "versions": [_spell_mean(mean) for mean in comparison.means],
        "changes": [_spell_change(change, comparison) for change in comparison.changes],
        "history": None if history is None else _spell_history(history),
    }


def _spell_mean(mean: VersionMean) -> dict[str, Any]:
    return {
        "version": mean.version,
        "builds": mean.builds,
        "executions": mean.executions,
        "measurements": mean.measurements,
        "n": mean.n,
        "units": mean.units,
        "level": mean.level,
        "mean": spell_interval(mean.value),
        "df": mean.df,
        "paper": spell_interval(mean.paper),
        "spread": mean.spread,
    }


def _spell_change(change: VersionChange, comparison: VersionComparison) -> dict[str, Any]:
    cost = change.cost
    return {
        "version": change.version,
        "baseline": change.baseline,
        "verdict": change.verdict,
        "direction": (judge_direction(change, comparison.direction) or None) if change.detected else None,
        "detected": change.detected,
        "within_threshold": change.within,
        "beyond_threshold": change.beyond,
        "difference": spell_interval(change.difference),
        "ratio": _spell_ratio(change.ratio),
        "df": change.df,
        "confidence": change.confidence,
        "p": change.p,
        "paper_detects": change.paper_detects,
        "common_builds": change.common_builds,
        "cost_to_tell": None
        if cost is None
        else {"builds": cost.builds, "seconds": cost.seconds, "reason": cost.reason or None},
    }


def _spell_history(history: VersionHistory) -> dict[str, Any]:
    names = [mean.version for mean in history.means]
    return {
        "alpha": history.alpha,
        "confidence": history.confidence,
        "penalty": history.penalty,
        "seed": history.seed,
        "method": history.method,
        "changes": [
            {
                "version": item.version,
                "difference": spell_interval(item.difference),
                "ratio": _spell_ratio(item.ratio),
            }
            for item in history.changes
        ],
        "stand_out": [
            {
                "version": item.version,
                "difference": spell_interval(item.difference),
                "ratio": _spell_ratio(item.ratio),
            }
            for item in history.lone
        ],
        "segments": [
            {
                "first": names[item.first],
                "last": names[item.last],
                "mean": spell_interval(item.mean),
                "df": item.df,
                "without": [names[at] for at in item.alone],
            }
            for item in history.segments
        ],
    }


def _spell_ratio(ratio: Ratio | None) -> dict[str, Any] | None:
    if ratio is None:
        return None
    return {"estimate": ratio.estimate, "low": ratio.low, "high": ratio.high, "note": ratio.note or None}
