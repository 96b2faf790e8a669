"""What an experiment says of one response, as values of JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from datamill.analysis.answer.experiment_analysis import ResponseAnswer
from datamill.analysis.answer.machines.machine_by_machine import MachineByMachine
from datamill.analysis.answer.response import ResponseAnalysis
from datamill.analysis.answer.term_influence import TermInfluence
from datamill.analysis.levels.comparison import PairComparison
from datamill.analysis.levels.level_changes import LevelChange
from datamill.analysis.linear.linear_model import LinearModel
from datamill.report.changes.json import spell_change, spell_pair
from datamill.report.tables.interval_json import spell_interval, spell_known


def spell_response(answer: ResponseAnswer) -> dict[str, Any]:
    """Write what the data say of a response: the keys of `spell_analysis`, and of several machines.

    These are `machines`, each by itself, and `agreement` between them, with `machine_levels` that all else is
    in percent of, or null.
    """
    return {
        **spell_analysis(answer.analysis),
        **_spell_machines(answer.machines),
        "machine_levels": None if answer.levels is None else dict(answer.levels),
        "missing_packages": list(answer.analysis.missing_packages),
        "warnings": list(answer.analysis.warnings),
    }


def spell_analysis(analysis: ResponseAnalysis) -> dict[str, Any]:
    """Write the figures of an analysis.

    Keys: `response`, `unit` (of all figures here), `direction`, `n`, `units` (what n counts), `confidence`,
    `alpha`, `method`; `packages` (package, n, mean or null, and the quartiles `q1`, `median`, `q3` of its
    observations); `comparisons` of each package with the baseline (package, baseline, difference, ratio, df,
    p, verdict, and in how many of `combinations` of the other factors it is `higher` or `lower`), and `best`,
    the best package against each other one; `changes` of factors as in the analysis of variance's JSON;
    `terms`, the most influential first (term, share and partial share of the sum of squares, p, detected,
    levels, largest, largest_percent); `anova`, the classical table (`terms`, `error`, `total`), or null;
    `checks`, `most_influential` (the observation; or null), `trust` and `advice` on the model's assumptions;
    `missing_packages`; `warnings`.
    """
    comparison, checks = analysis.comparison, analysis.checks
    model = analysis.model if analysis.blocked is None else analysis.blocked.model
    return {
        "response": analysis.response.name,
        "unit": analysis.unit,
        "direction": analysis.response.direction,
        "n": analysis.observations.cells.n,
        "units": analysis.observations.units,
        "confidence": analysis.confidence,
        "alpha": analysis.alpha,
        "method": comparison.method if comparison is not None else "" if model is None else model.method,
        "packages": _spell_packages(analysis),
        "comparisons": [] if comparison is None else [_spell_comparison(pair) for pair in comparison.pairs],
        "best": [] if comparison is None else [_spell_comparison(pair) for pair in comparison.best],
        "changes": [_spell_change(change, analysis) for change in _list_changes(analysis)],
        "terms": []
        if analysis.influence is None
        else [_spell_term(item) for item in analysis.influence.terms],
        "anova": None if model is None else _spell_anova(model),
        "checks": [] if checks is None else [asdict(check) for check in checks.checks],
        "most_influential": None
        if checks is None or checks.influential is None
        else asdict(checks.influential),
        "trust": None if checks is None else checks.trust,
        "advice": "" if checks is None else checks.advice,
    }


def _spell_packages(analysis: ResponseAnalysis) -> list[dict[str, Any]]:
    means = () if analysis.comparison is None else analysis.comparison.means
    known = {mean.package: mean for mean in (means if analysis.mean is None else (analysis.mean,))}
    packages = []
    for box in analysis.boxes:
        mean = known.get(box.name)
        packages.append(
            {
                "package": box.name,
                "n": box.summary.n if mean is None else mean.n,
                "mean": None if mean is None else spell_interval(mean.value),
                "q1": box.summary.low_quartile,
                "median": box.summary.median,
                "q3": box.summary.high_quartile,
            }
        )
    return packages


def _spell_anova(model: LinearModel) -> dict[str, Any]:
    return {
        "terms": [
            {
                "term": row.term.name,
                "block": row.block,
                "sum_sq": row.sum_sq,
                "df": row.term.df,
                "mean_sq": row.mean_sq,
                "f": row.f,
                "p": row.p,
                "share": model.find_share(row),
                "partial": model.find_partial_share(row),
            }
            for row in model.terms
        ],
        "error": {
            "sum_sq": model.error_ss,
            "df": model.error_df,
            "mean_sq": model.error_ms,
            "share": model.error_share,
        },
        "total": {"sum_sq": model.total_ss, "df": model.n - 1},
        "method": model.method,
    }


def _list_changes(analysis: ResponseAnalysis) -> tuple[LevelChange, ...]:
    """Changes between packages first, then those of the other factors."""
    of_packages = () if analysis.package_change is None else (analysis.package_change,)
    return (*of_packages, *analysis.changes)


def _spell_change(change: LevelChange, analysis: ResponseAnalysis) -> dict[str, Any]:
    return spell_change(change, (*analysis.package_means, *analysis.level_means))


def _spell_comparison(pair: PairComparison) -> dict[str, Any]:
    written = spell_pair(pair)
    del written["level"], written["against"]
    return {
        "package": pair.package,
        "baseline": pair.baseline,
        **written,
        "df": pair.df,
        "combinations": pair.cells,
        "higher": pair.higher_cells,
        "lower": pair.lower_cells,
    }


def _spell_term(item: TermInfluence) -> dict[str, Any]:
    return {
        "term": item.term.name,
        "share": item.share,
        "partial": item.partial,
        "p": item.p,
        "detected": item.detected,
        "levels": list(item.levels),
        "largest": spell_interval(item.largest),
        "largest_percent": spell_known(item.largest_percent),
    }


def _spell_machines(found: MachineByMachine | None) -> dict[str, Any]:
    if found is None:
        return {"machines": [], "agreement": [], "factor_effects": [], "factor_agreement": []}
    labels = {item.name: item.label for item in found.labels}
    return {
        "machines": [
            {
                "machine": machine.name,
                "label": labels[machine.name],
                "problem": machine.problem,
                "packages": [] if machine.analysis is None else _spell_packages(machine.analysis),
                "comparisons": []
                if machine.analysis is None or machine.analysis.comparison is None
                else [_spell_comparison(pair) for pair in machine.analysis.comparison.pairs],
            }
            for machine in found.machines
        ],
        "agreement": [
            {
                "package": item.package,
                "baseline": item.baseline,
                "p": item.p,
                "lowest": _spell_extreme(item.lowest),
                "highest": _spell_extreme(item.highest),
            }
            for item in found.agreements
        ],
        "factor_effects": [
            {
                "machine": item.machine,
                "package": item.group,
                "factor": item.factor,
                "level": item.level,
                "n": item.n,
                "departure_percent": spell_known(item.departure),
                "change_percent": spell_known(item.change),
                "p": item.p,
            }
            for item in found.factors.levels
        ],
        "factor_agreement": [
            {
                "factor": item.factor,
                "package": item.group,
                "p": item.p,
                "differ": item.differ,
                "base": item.base,
                "level": item.level,
                "lowest": _spell_extreme(item.lowest),
                "highest": _spell_extreme(item.highest),
            }
            for item in found.factors.agreements
        ],
    }


def _spell_extreme(found: tuple[str, float] | None) -> dict[str, str | float] | None:
    return None if found is None else {"machine": found[0], "ratio": found[1]}
