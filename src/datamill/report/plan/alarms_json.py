"""False alarms by the number of builds as JSON with every digit."""

from __future__ import annotations

from typing import Any

from datamill.analysis.versions.false_alarms import AlarmRate, FalseAlarms


def spell_alarms(alarms: FalseAlarms) -> dict[str, Any]:
    """Write all rates as a JSON object; rates are fractions."""
    return {
        "version": alarms.version,
        "response": alarms.response,
        "unit": alarms.unit,
        "builds": alarms.builds,
        "executions": alarms.executions,
        "n": alarms.n,
        "comparisons": alarms.comparisons,
        "confidence": alarms.confidence,
        "alpha": alarms.alpha,
        "nominal_overlap": alarms.nominal_overlap,
        "seed": alarms.seed,
        "method": alarms.method,
        "rows": [
            {
                "builds": row.builds,
                "disjoint": row.disjoint,
                "pairs": row.pairs,
                "overlap": _spell(row.overlap),
                "welch": _spell(row.welch),
                "overlap_executions": _spell(row.overlap_executions),
                "welch_executions": _spell(row.welch_executions),
            }
            for row in alarms.rows
        ],
    }


def _spell(rate: AlarmRate | None) -> dict[str, float] | None:
    if rate is None:
        return None
    return {"estimate": rate.estimate, "low": rate.low, "high": rate.high, "count": rate.count}
