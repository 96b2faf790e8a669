"""What an experiment says as JSON, with stable keys and every digit of a double."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from msgspec import to_builtins

from datamill.analysis.answer.doubtful_trials import DoubtfulTrials
from datamill.analysis.answer.experiment_analysis import AnsweringResponse, ExperimentAnalysis
from datamill.analysis.answer.response import ResponseAnalysis
from datamill.analysis.answer.screening import Screening
from datamill.analysis.drift.drift import Drift
from datamill.analysis.quantile.quantile_model import QuantileModel
from datamill.design.design import Design
from datamill.design.points.aliases import AliasStructure
from datamill.report.experiment.response_json import spell_analysis, spell_response
from datamill.report.hypothesis.words import spell_hypothesis
from datamill.report.quantiles.json import spell_quantiles
from datamill.report.quantiles.warnings import list_quantile_warnings
from datamill.report.stopping.section import find_look_at_hypothesis
from datamill.report.tables.envelope import SCHEMA, write_json
from datamill.report.tables.interval_json import spell_interval, spell_known
from datamill.report.variance.json import spell_version
from datamill.report.words.answer import Answer
from datamill.results.bundles.trial_summary import TrialSummary


def format_experiment_json(found: ExperimentAnalysis, answer: Answer, trials: TrialSummary) -> str:
    """Write what an experiment says as JSON; null stands for what cannot be known.

    Keys: `schema` (1); `experiment`, `question`; `answer`, sentences, of which the first one answers;
    `mattered`, sentences on what else moved the response; `n`, `confidence`, `method`; `warnings`, the worst
    first; `design`, what was planned, from which seed; `trials`, how many were planned and how they ended;
    `exclusions`, observations left out, by reason, and `put_aside`, what is left out as planned; `doubts`,
    the rules that trials broke which may have been disturbed; `responses`, the one that answers first (see
    `spell_response`), and `missing`, those without a valid observation; of the answering response
    `without_doubtful`, what becomes of it without doubtful trials, `drift`, `uncertainty` (variances of
    builds, executions and measurements by version), `quantiles` where means do not tell all, and `screening`
    with what is aliased; `hypothesis`, what becomes of the
    experiment's; `screened_first`, what a screening found that came before, and may have missed;
    `decisions` of a sequential experiment.
    """
    first = found.answering
    answers = (*((first,) if first is not None else ()), *found.others)
    content = {
        "schema": SCHEMA,
        "experiment": found.experiment.name,
        "question": answer.question,
        "answer": [answer.headline, *answer.details],
        "mattered": list(answer.mattered),
        "n": answer.n,
        "confidence": answer.confidence,
        "method": answer.method,
        "warnings": list(answer.warnings),
        "design": _spell_design(found.design),
        "trials": _spell_trials(trials, None if first is None else first.doubtful),
        "exclusions": [asdict(item) for item in found.exclusions],
        "put_aside": asdict(found.put_aside),
        "doubts": [asdict(item) for item in found.broken_rules],
        "responses": [spell_response(item) for item in answers],
        "missing": list(found.missing),
        **_spell_closer_look(first),
        "hypothesis": spell_hypothesis(found.hypothesis, find_look_at_hypothesis(found.experiment, trials)),
        "screened_first": None if trials.screened is None else to_builtins(trials.screened),
        "decisions": [to_builtins(decision) for decision in trials.decisions],
    }
    return write_json(content)


def _spell_design(design: Design) -> dict[str, Any]:
    return {
        "kind": design.kind,
        "seed": design.seed,
        "points": design.points,
        "combinations": design.combinations,
        "replicates": design.replicates,
        "construction": design.construction,
        "resolution": design.resolution,
        "efficiency": design.efficiency,
        "generators": list(design.generators),
        "aliases": list(design.aliases),
        "factors": [asdict(factor) for factor in design.factors],
    }


def _spell_trials(trials: TrialSummary, doubtful: DoubtfulTrials | None) -> dict[str, Any]:
    return {
        "planned": trials.planned,
        "completed": trials.completed,
        "failed": trials.failed,
        "timed_out": trials.timed_out,
        "lost": trials.lost,
        "not_run": trials.not_run,
        "excluded": trials.excluded,
        "not_needed": trials.not_needed,
        "doubtful": 0 if doubtful is None else doubtful.doubtful,
        "machines": [asdict(machine) for machine in trials.machines],
        "isolation": trials.isolation_kind,
    }


def _spell_closer_look(first: AnsweringResponse | None) -> dict[str, Any]:
    if first is None:
        none = dict.fromkeys(("without_doubtful", "drift", "uncertainty", "quantiles", "screening"))
        return {**none, "uncertainty": []}
    return {
        "without_doubtful": _spell_doubtful(first.doubtful),
        "drift": _spell_drift(first.drift),
        "uncertainty": []
        if first.repetition is None
        else [spell_version(version) for version in first.repetition.versions],
        "quantiles": None
        if first.quantiles is None
        else _spell_quantiles(first.analysis, first.quantiles.model),
        "screening": _spell_screening(first.screening, first.aliases),
    }


def _spell_doubtful(found: DoubtfulTrials | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "doubtful": found.doubtful,
        "trials": found.trials,
        "host": found.host,
        "problem": found.problem,
        "analysis": None if found.without is None else spell_analysis(found.without),
    }


def _spell_quantiles(analysis: ResponseAnalysis, model: QuantileModel) -> dict[str, Any]:
    seen = analysis.observations
    warnings = list_quantile_warnings(model, seen.response, seen.unit)
    return {**spell_quantiles(seen, model), "warnings": list(warnings)}


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


def _spell_screening(screening: Screening | None, aliases: AliasStructure | None) -> dict[str, Any] | None:
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
        "errors": [asdict(error) for error in screening.errors],
        "n": screening.n,
        "alpha": screening.alpha,
        "confidence": screening.confidence,
        "aliases": None if aliases is None else _spell_aliases(aliases),
        "method": screening.method,
    }


def _spell_aliases(aliases: AliasStructure) -> dict[str, Any]:
    return {
        "groups": [list(group) for group in aliases.groups],
        "between_mains": None if aliases.between_mains is None else asdict(aliases.between_mains),
        "main_with_interaction": None
        if aliases.main_with_interaction is None
        else asdict(aliases.main_with_interaction),
        "between_interactions": None
        if aliases.between_interactions is None
        else asdict(aliases.between_interactions),
        "partners": {
            factor: [{"term": term, "correlation": size} for term, size in partners]
            for factor, partners in aliases.partners.items()
        },
        "complete": aliases.complete,
    }
