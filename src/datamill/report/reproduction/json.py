"""Whether a result was reproduced, as JSON with every digit."""

from __future__ import annotations

from typing import Any

from datamill.analysis.reproduction.reproduction import ComparedEffect, Reproduction
from datamill.report.tables.interval_json import spell_interval


def spell_reproduction(found: Reproduction) -> dict[str, Any]:
    """Write a verdict as a JSON object; effects are ratios, of a value alone its mean."""
    return {
        "verdict": found.verdict,
        "response": found.response,
        "unit": found.unit,
        "kind": found.kind,
        "margin": found.margin,
        "alpha": found.alpha,
        "confidence": found.confidence,
        "effects": [_spell_effect(effect) for effect in found.effects],
        "missing": list(found.missing),
        "original": {"n": found.n_original, "machines": list(found.machines_original)},
        "rerun": {"n": found.n_rerun, "machines": list(found.machines_rerun)},
        "method": found.method,
    }


def _spell_effect(effect: ComparedEffect) -> dict[str, Any]:
    return {
        "factor": effect.factor or None,
        "level": effect.level or None,
        "baseline": effect.baseline or None,
        "verdict": effect.verdict,
        "original": spell_interval(effect.original),
        "rerun": spell_interval(effect.rerun),
        "change": spell_interval(effect.change),
        "change_for_difference": spell_interval(effect.wide),
        "df": effect.df,
        "times_as_many_trials": effect.more,
    }
