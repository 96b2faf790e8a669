"""The answer of `datamill time` as plain values for JSON."""

from __future__ import annotations

import math
from typing import Any

from datamill.report.timing.statement import phrase_comparison
from datamill.report.timing.timing_answer import TimingAnswer


def list_timing_values(answer: TimingAnswer) -> dict[str, Any]:
    """Return all that is known of timed commands, but the answer in words and the warnings.

    Of a response in seconds `mean_s` is its mean, of another one `mean`. `ratio` is that of `b` to `a`, of
    means or of typical values as `of` says; the verdict is on `b`. Bounds that are not known, or
    infinite, are None. Where revisions are timed `n` counts their builds, each with `executions_per_build`;
    else that is 0.
    """
    mean_key = "mean_s" if answer.response.unit == "s" else "mean"
    response = answer.response
    return {
        "response": {"name": response.name, "unit": response.unit, "direction": response.direction},
        "confidence": answer.confidence,
        "limit": answer.limit,
        "commands": [
            {
                "name": mean.command.label,
                "command": mean.command.text,
                "parameters": dict(mean.command.parameters),
                mean_key: mean.mean,
                "low": mean.low,
                "high": mean.high,
                "n": mean.n,
                "upper_bound_only": mean.is_bound,
            }
            for mean in answer.means
        ],
        "comparisons": [
            {
                "a": pair.a.label,
                "b": pair.b.label,
                "ratio": pair.ratio,
                "low": _keep_finite(pair.low),
                "high": _keep_finite(pair.high),
                "verdict": pair.verdict,
                "of": "typical" if pair.typical else "mean",
                "sentence": phrase_comparison(answer, pair),
            }
            for pair in answer.comparisons
        ],
        "rounds": answer.rounds,
        "executions_per_build": answer.executions,
        "measured_s": answer.measured_s,
        "interrupted": answer.interrupted,
        "bundle": answer.bundle,
    }


def _keep_finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
