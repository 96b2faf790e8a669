"""What an experiment says as JSON, with stable keys and every digit of a double."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from msgspec import to_builtins

from datamill.analysis.answer.doubtful_trials import DoubtfulTrials
from datamill.analysis.answer.experiment_analysis import AnsweringResponse, ExperimentAnalysis
from datamill.analysis.answer.screening import Screening
from datamill.analysis.drift.drift import Drift
from datamill.report.experiment.response_json import spell_response
from datamill.report.quantiles.json import spell_quantiles
from datamill.report.tables.interval_json import spell_interval, spell_known
from datamill.report.variance.json import spell_version
from datamill.report.words.answer import Answer
from datamill.results.bundles.trial_summary import TrialSummary


def format_experiment_json(found: ExperimentAnalysis, answer: Answer, trials: TrialSummary) -> str:
    """Write what an experiment says as JSON; null stands for what cannot be known.

    Keys: `schema` (1); `experiment`, `question`; `answer`, sentences, of which the first one answers;
    `mattered`, sentences on what else moved the response; `n`, `confidence`, `method`; `warnings`, the worst
    first; `trials`, how many were planned and how they ended, and why those that may have been disturbed are
    `doubtful`; `responses`, the one that answers first (see `spell_response`), and `missing`, those
    without a valid observation; of the answering response `drift`, `uncertainty` (variances of builds,
    executions and measurements by version), `quantiles` where means do not tell all, and `screening`;
    `decisions` of a sequential experiment.
    """
    first = found.answering
    answers = (*((first,) if first is not None else ()), *found.others)
    content = {
        "schema": 1,
        "experiment": found.experiment.name,
        "question": answer.question,
        "answer": [answer.headline, *answer.details],
        "mattered": list(answer.mattered),
        "n": answer.n,
        "confidence": answer.confidence,
        "method": answer.method,
        "warnings": list(answer.warnings),
        "trials": _spell_trials(trials, None if first is None else first.doubtful),
        "responses": [spell_response(item) for item in answers],
        "missing": list(found.missing),
        **_spell_closer_look(first),
        "decisions": [to_builtins(decision) for decision in trials.decisions],
    }
    return json.dumps(_drop_infinities(content), indent=2, ensure_ascii=False, allow_nan=False)


def _spell_trials(trials: TrialSummary, doubtful: DoubtfulTrials | None) -> dict[str, Any]:
    return {
        "planned": trials.planned,
        "completed": trials.completed,
        "failed": trials.failed,
        "timed_out": trials.timed_out,
        "lost": trials.lost,
        "excluded": trials.excluded,
        "not_needed": trials.not_needed,
        "doubtful": 0 if doubtful is None else doubtful.doubtful,
        "machines": [asdict(machine) for machine in trials.machines],
        "isolation": trials.isolation_kind,
    }


def _spell_closer_look(first: AnsweringResponse | None) -> dict[str, Any]:
    if first is None:
        return {"drift": None, "uncertainty": [], "quantiles": None, "screening": None}
    return {
        "drift": _spell_drift(first.drift),
        "uncertainty": []
        if first.repetition is None
        else [spell_version(version) for version in first.repetition.versions],
        "quantiles": None
        if first.quantiles is None
        else spell_quantiles(first.analysis.observations, first.quantiles.model),
        "screening": _spell_screening(first.screening),
    }


def _spell_drift(drift: Drift | None) -> dict[str, Any] | None:
    if drift is None:
        return None
    stretch = drift.stretch
    return {
        "kind": drift.kind,
        "relative": drift.relative,
        "n": drift.n,
        "alpha": drift.alpha,
        "trend": {"p": drift.trend.p, "change": spell_interval(drift.trend.change)},
        "stretch": None
        if stretch is None
        else {
            "p": stretch.p,
            "first": stretch.first,
            "last": stretch.last,
            "block": stretch.block,
            "shift": spell_interval(stretch.shift),
        },
        "distortion": drift.distortion,
        "method": drift.method,
    }


def _spell_screening(screening: Screening | None) -> dict[str, Any] | None:
    if screening is None:
        return None
    return {
        "survivors": list(screening.survivors),
        "unresolved": list(screening.unresolved),
        "quiet": list(screening.quiet),
        "unknown": list(screening.unknown),
        "effects": [
            {
                "factor": effect.factor,
                "package": effect.package,
                "low": effect.low,
                "high": effect.high,
                "effect": spell_interval(effect.effect),
                "percent": spell_known(effect.percent),
                "p": effect.p,
                "detected": effect.detected,
            }
            for effect in screening.effects
        ],
        "method": screening.method,
    }


def _drop_infinities(value: Any) -> Any:
    """The same with null for numbers that JSON does not know."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _drop_infinities(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_drop_infinities(item) for item in value]
    return value
