"""The answer of a gate as plain values for JSON."""

from __future__ import annotations

from typing import Any

from datamill.report.gate.gate_answer import GateAnswer
from datamill.results.bundles.decisions import LookInterval


def list_gate_values(answer: GateAnswer) -> dict[str, Any]:
    """Return all that a gate knows, but the answer in words and the warnings.

    `change`, its bounds, `detectable` and shares are fractions; means and their bounds are in seconds; what
    is not known is None.
    """
    gate = answer.gate
    return {
        "passes": answer.passes,
        "base": answer.base,
        "head": answer.head,
        "alpha": gate.alpha,
        "limit": gate.limit,
        "tolerate": gate.tolerate,
        "benchmarks": [
            {
                "name": item.name,
                **_list_mean("base", item.base),
                **_list_mean("head", item.head),
                "change": item.change,
                "low": item.low,
                "high": item.high,
                "of": item.of,
                "n": item.n,
                "verdict": item.verdict,
                "alarm": item.is_alarm,
                "detectable": item.detectable,
            }
            for item in answer.benchmarks
        ],
        "broken": list(answer.broken),
        "added": list(answer.added),
        "power": [{"slowdown": share, "probability": power} for share, power in answer.power.items()],
        "rounds": answer.rounds,
        "builds_vary": answer.varies,
        "measured_s": answer.measured_s,
        "interrupted": answer.interrupted,
    }


def _list_mean(side: str, mean: LookInterval | None) -> dict[str, float | None]:
    """The mean of a revision with its bounds."""
    return {
        f"{side}_mean_s": None if mean is None else mean.estimate,
        f"{side}_low_s": None if mean is None else mean.low,
        f"{side}_high_s": None if mean is None else mean.high,
    }
