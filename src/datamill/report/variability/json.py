"""Variability as JSON with every digit; null stands for what does not exist or is unbounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from datamill.analysis.distribution.variability import PointVariabilities
from datamill.analysis.distribution.variability_comparison import FactorVariability
from datamill.analysis.distribution.windows import WindowAnalysis
from datamill.report.tables.interval_json import spell_known
from datamill.report.tests.json import spell_pair, spell_test
from datamill.report.tests.statement import ResponseNotes


def spell_variability(
    notes: ResponseNotes, variability: PointVariabilities, factors: Sequence[FactorVariability]
) -> dict[str, Any]:
    """Write the variability of design points as a JSON object; coefficients are fractions, not percent."""
    return {
        **_spell_notes(notes),
        "n": variability.n,
        "confidence": variability.confidence,
        "assume": variability.assumption,
        "seed": variability.seed,
        "method": variability.method,
        "points": [
            {
                "levels": dict(zip(variability.factors, point.levels, strict=True)),
                "n": point.n,
                "mean": point.mean,
                "sd": point.sd,
                "cv": spell_known(point.cv),
                "cv_method": point.cv_method,
                "skewness": point.skewness,
                "skewness_interval": spell_known(point.skewness_interval),
                "tail_index": point.tail_index,
                "quartile_dispersion": point.dispersion,
                "mad_ratio": point.mad_ratio,
                "quartile_skewness": point.quartile_skewness,
            }
            for point in variability.points
        ],
        "factors": [
            {
                "factor": item.factor,
                "levels": [
                    {"level": level, "points": n, "median_cv": median} for level, n, median in item.medians
                ],
                "overall": {**spell_test(item.deciding), "adjusted_p": item.adjusted_p},
                "kruskal_wallis": spell_test(item.overall),
                "pairs": [spell_pair(pair) for pair in item.pairs],
            }
            for item in factors
        ],
    }


def spell_windows(notes: ResponseNotes, analysis: WindowAnalysis) -> dict[str, Any]:
    """Write the variability of windows as a JSON object; coefficients are fractions, not percent."""
    return {
        **_spell_notes(notes),
        "n": analysis.n,
        "against": analysis.against,
        "window": analysis.size,
        "left_over": analysis.left_over,
        "confidence": analysis.confidence,
        "method": analysis.method,
        "associations": [
            {
                "figure": item.figure,
                "windows": item.windows,
                "correlation": spell_known(item.correlation),
                "p": item.p,
            }
            for item in analysis.associations
        ],
        "windows": [
            {
                "levels": list(window.levels),
                "start": window.start,
                "count": window.count,
                "cv": window.cv,
                "skewness": window.skewness,
            }
            for window in analysis.windows
        ],
    }


def _spell_notes(notes: ResponseNotes) -> dict[str, Any]:
    return {
        "response": notes.response,
        "unit": notes.unit,
        "excluded": notes.excluded,
        "put_aside": dict(notes.put_aside),
        "averaged": notes.averaged,
        "averaged_builds": notes.averaged_builds,
        "partly_valid": notes.partly_valid,
    }
