"""Predictions, fits, rankings and choices as JSON with every digit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from datamill.platforms.choice.platform_choice import MachineChoice, RedundantBenchmark, SmallerSuite
from datamill.platforms.prediction.check_errors import CheckErrors
from datamill.platforms.prediction.platform_prediction import Carrier, MachinePrediction, PlatformPrediction
from datamill.platforms.ranking.machine_ranking import MachineRanking
from datamill.platforms.scores.score_matrix import ScoreKind
from datamill.report.platforms.values import PlatformNotes
from datamill.report.platforms.verdict import phrase_verdict


def spell_prediction(prediction: PlatformPrediction, notes: PlatformNotes) -> dict[str, Any]:
    """Write predictions as a JSON object, machines in the order of the scores; scores as `score`."""
    return {
        "predictions": [_spell_machine(item, prediction.kind) for item in prediction.predictions],
        **_spell_basis(prediction, notes),
    }


def spell_fit(prediction: PlatformPrediction, notes: PlatformNotes) -> dict[str, Any]:
    """Write how well an application can be predicted as a JSON object; errors are fractions."""
    return {
        "check": [
            {
                **_spell_machine(item.prediction, prediction.kind),
                "measured": item.measured,
                "error": item.error,
                "inside": item.is_inside,
            }
            for item in prediction.check
        ],
        "targets": len(prediction.predictions),
        "refused": [
            {"machine": item.machine, "reasons": _spell_reasons(item)}
            for item in prediction.predictions
            if item.refused
        ],
        **_spell_basis(prediction, notes),
    }


def spell_ranking(ranking: MachineRanking, notes: PlatformNotes) -> dict[str, Any]:
    """Write a ranking as a JSON object, the best machine first; probabilities from 0 to 1."""
    kind = ranking.prediction.kind
    return {
        "machines": [
            {
                **_spell_machine(item.prediction, kind),
                "measured": item.measured,
                "best": item.best,
                "before_next": item.before_next,
                "price": item.price,
                "value": item.value,
            }
            for item in ranking.machines
        ],
        "refused": [_spell_machine(item, kind) for item in ranking.refused],
        "misordered": [
            {
                "faster": item.faster,
                "slower": item.slower,
                "ratio": item.ratio,
                "suite_ratio": item.suite_ratio,
                "probability": item.probability,
            }
            for item in ranking.misordered
        ],
        "right_order": ranking.right_order,
        "pair_order": ranking.pair_order,
        **_spell_basis(ranking.prediction, notes),
    }


def spell_choice(choice: MachineChoice | None) -> dict[str, Any]:
    """Write a choice of machines as a JSON object: their names in order, and the variance left after each."""
    if choice is None:
        return {}
    return {
        "machines": [item.machine for item in choice.machines],
        "left": [item.left for item in choice.machines],
        "expected_error": choice.expected_error,
        "random_error": choice.random_error,
    }


def spell_suite(suite: SmallerSuite | None, loss: float) -> dict[str, Any]:
    """Write a smaller suite as a JSON object; errors are fractions."""
    if suite is None:
        return {}
    return {
        "loss": loss,
        "kept": list(suite.kept),
        "left_out": _spell_redundant(suite.left_out),
        "badly": _spell_redundant(suite.badly),
    }


def _spell_machine(item: MachinePrediction, kind: ScoreKind) -> dict[str, Any]:
    return {
        "machine": item.machine,
        kind: item.seconds,
        "low": item.low,
        "high": item.high,
        "refused": item.refused,
        "reasons": _spell_reasons(item),
        "risk": item.risk,
        "expected_error": item.expected_error,
    }


def _spell_reasons(item: MachinePrediction) -> list[str]:
    return [refusal.sentence for refusal in item.refusals]


def _spell_basis(prediction: PlatformPrediction, notes: PlatformNotes) -> dict[str, Any]:
    return {
        "application": prediction.application,
        "kind": prediction.kind,
        "confidence": prediction.confidence,
        "limit": prediction.limit,
        "method": prediction.strategy,
        "verdict": phrase_verdict(prediction),
        "expected_error": prediction.expected_error,
        "suite_error": prediction.suite_error,
        "checked": _spell_checked(CheckErrors.gather(prediction)),
        "n": len(prediction.trained),
        "trained": list(prediction.trained),
        "measured": [{"machine": item.machine, prediction.kind: item.value} for item in notes.measured],
        "benchmark_shares": _spell_carriers(prediction.benchmarks),
        "machine_shares": _spell_carriers(prediction.machines),
        "suite": {"machines": notes.machines, "benchmarks": notes.benchmarks},
    }


def _spell_checked(errors: CheckErrors | None) -> dict[str, float | bool] | None:
    if errors is None:
        return None
    return {
        "kept": errors.kept,
        "median_error": errors.median,
        "largest_error": errors.largest,
        "inside": errors.inside,
        "contradicts": errors.contradicts,
    }


def _spell_carriers(carriers: Sequence[Carrier]) -> list[dict[str, Any]]:
    return [{"name": item.name, "share": item.share} for item in carriers]


def _spell_redundant(benchmarks: Sequence[RedundantBenchmark]) -> list[dict[str, Any]]:
    return [
        {
            "benchmark": item.benchmark,
            "median_error": item.median_error,
            "largest_error": item.largest_error,
            "neighbour": item.neighbour,
        }
        for item in benchmarks
    ]
