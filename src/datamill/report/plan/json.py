"""A plan of repetitions as JSON with every digit."""

from __future__ import annotations

from typing import Any

from datamill.analysis.random_effects.variance_estimate import LEVELS
from datamill.analysis.repetition.repetition_plan import PlannedRepetition, RepetitionPlan
from datamill.report.plan.statement import PlanNotes, list_replication

_METHOD = (
    "exact search over whole numbers of builds, executions and measurements; widths by Student's t over "
    "builds, from the pilot's variances and costs (EPEW 2006, equations 18, 19 and 22)"
)


def spell_plan(notes: PlanNotes, plan: RepetitionPlan) -> dict[str, Any]:
    """Write a plan as a JSON object; times in seconds if `timed`, else in measured operations."""
    basis, goal, costs, optimum = plan.basis, plan.goal, plan.costs, plan.optimum
    return {
        "response": notes.response,
        "unit": notes.unit,
        "version": notes.version,
        "excluded": notes.excluded,
        "put_aside": dict(notes.put_aside),
        "timed": notes.timed,
        "method": _METHOD,
        # The values of the pilot; nothing was measured where its variances were given.
        "n": round(basis.builds * basis.executions * basis.measurements) if basis.builds else None,
        "goal": {
            "kind": goal.kind,
            "value": goal.value,
            "confidence": goal.confidence,
            "alpha": goal.alpha if goal.kind == "detect" else None,
            "power": goal.power if goal.kind == "detect" else None,
            "assurance": goal.assurance,
        },
        "plan": _spell(plan.best),
        "low": plan.low,
        "high": plan.high,
        "sure": plan.sure,
        "surer": _spell(plan.surer) if plan.surer else None,
        "versions": plan.versions,
        "alternatives": [
            {"label": item.label, **(_spell(item.repetition) if item.repetition else {"builds": None})}
            for item in plan.alternatives
        ],
        "mean": basis.mean,
        "variances": {level: basis.components.get(level) for level in LEVELS},
        "unknown": dict(basis.unknown),
        "pilot": {
            "builds": basis.builds,
            "executions": _clear(basis.executions),
            "measurements": _clear(basis.measurements),
        }
        if basis.builds
        else None,
        "costs": {
            "build": costs.build_s,
            "execution": costs.execution_s,
            "measurement": costs.measurement_s,
            "source": costs.source,
        },
        "optimum": {
            "m0": optimum.executions,
            "n0": optimum.measurements,
            "w": optimum.w,
            "b": optimum.b,
            "q": optimum.q,
        },
        "replication": list_replication(notes, plan),
        "notes": list(plan.notes),
    }


def _spell(planned: PlannedRepetition) -> dict[str, Any]:
    return {
        "builds": planned.builds,
        "executions": planned.executions,
        "measurements": planned.measurements,
        "time": planned.time,
        "half_width": planned.half_width,
        "power": planned.power,
    }


def _clear(mean: float) -> float:
    """A harmonic mean of counts without what rounding did to it: 10, not 9.999999999999998."""
    return float(f"{mean:.12g}")
