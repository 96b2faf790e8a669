"""Groups compared, as JSON with every digit."""

from __future__ import annotations

from typing import Any

from datamill.analysis.groups.group_comparison import GroupComparison, GroupEstimate, GroupTest, PairTest
from datamill.report.tests.statement import ResponseNotes


def spell_tests(notes: ResponseNotes, comparison: GroupComparison) -> dict[str, Any]:
    """Write a comparison of groups as a JSON object; differences are second minus first."""
    return {
        "response": notes.response,
        "unit": notes.unit,
        "n": comparison.n,
        "excluded": notes.excluded,
        "put_aside": dict(notes.put_aside),
        "averaged": notes.averaged,
        "averaged_builds": notes.averaged_builds,
        "partly_valid": notes.partly_valid,
        "factor": comparison.factor,
        "compare": comparison.question,
        "assume": comparison.assumption,
        "adjust": comparison.adjustment,
        "confidence": comparison.confidence,
        "alpha": comparison.alpha,
        "seed": comparison.seed,
        "why": comparison.why,
        "method": comparison.method,
        "combined": None if comparison.combined is None else spell_pair(comparison.combined),
        "strata": [
            {
                "levels": dict(stratum.levels),
                "n": dict(stratum.counts),
                "overall": None
                if stratum.overall is None
                else {**spell_test(stratum.overall), "adjusted_p": stratum.overall_adjusted_p},
                "pairs": [spell_pair(pair) for pair in stratum.pairs],
            }
            for stratum in comparison.strata
        ],
    }


def spell_pair(pair: PairTest) -> dict[str, Any]:
    """Spell out one pair."""
    return {
        "first": pair.first,
        "second": pair.second,
        "n_first": pair.n_first,
        "n_second": pair.n_second,
        **spell_test(pair.test),
        "adjusted_p": pair.adjusted_p,
    }


def spell_test(test: GroupTest) -> dict[str, Any]:
    """Spell out one test with its estimates."""
    return {
        "test": test.name,
        "statistic": test.statistic,
        "statistic_name": test.statistic_name,
        "df": list(test.df),
        "p": test.p,
        "estimates": [_spell_estimate(estimate) for estimate in test.estimates],
        "method": test.method,
        "warnings": list(test.warnings),
    }


def _spell_estimate(estimate: GroupEstimate) -> dict[str, Any]:
    return {
        "name": estimate.name,
        "measure": estimate.measure,
        "estimate": estimate.value.estimate,
        "low": estimate.value.low,
        "high": estimate.value.high,
        "confidence": estimate.confidence,
        "method": estimate.method,
    }
