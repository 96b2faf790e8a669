"""Distributions as JSON with every digit."""

from __future__ import annotations

from typing import Any

from datamill.analysis.distribution.summary import DistributionSummary
from datamill.report.tests.statement import ResponseNotes


def spell_summary(notes: ResponseNotes, summary: DistributionSummary) -> dict[str, Any]:
    """Write the summaries of all groups as a JSON object, in the response's unit; `cv` is a fraction."""
    return {
        "response": notes.response,
        "unit": notes.unit,
        "n": summary.n,
        "excluded": notes.excluded,
        "put_aside": dict(notes.put_aside),
        "partly_valid": notes.partly_valid,
        "confidence": summary.confidence,
        "quantile_type": summary.quantile_type,
        "method": summary.method,
        "groups": [
            {
                "levels": {
                    factor.name: level for factor, level in zip(summary.factors, group.levels, strict=True)
                },
                "n": group.n,
                "trials": group.trials,
                "min": group.minimum,
                "q1": group.low_quartile,
                "median": group.median,
                "median_low": group.median_interval.low if group.median_interval else None,
                "median_high": group.median_interval.high if group.median_interval else None,
                "q3": group.high_quartile,
                "max": group.maximum,
                "mean": group.mean,
                "mean_low": group.mean_interval.low if group.mean_interval else None,
                "mean_high": group.mean_interval.high if group.mean_interval else None,
                "sd": group.sd,
                "cv": group.cv,
            }
            for group in summary.groups
        ],
    }
