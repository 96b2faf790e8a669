"""How well predictors do on a project, as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from datamill.analysis.interval import Interval
from datamill.experiment.messages.phrases import finish_sentence
from datamill.report.selection.evaluation_statement import summarize_evaluation
from datamill.report.tables.envelope import write_result
from datamill.selection.evaluation.probability_classes import CalibrationClass
from datamill.selection.evaluation.rates import Area, OperatingPoint, Rate
from datamill.selection.evaluation.savings import Savings
from datamill.selection.evaluation.sizes import SizeCoverage
from datamill.selection.evaluation.store_evaluation import NamedEvaluation, StoreEvaluation

_Numbers = dict[str, float | None]


def spell_evaluation(found: StoreEvaluation) -> str:
    """Write evaluations as JSON: rates, areas, curves and operating points with their intervals."""
    return write_result(
        summarize_evaluation(found),
        {
            "project": found.project,
            "truth": {"rule": found.rule, "response": found.response, "threshold": found.threshold},
            "versions": found.versions,
            "programs": found.programs,
            "cases": found.cases,
            "changes": found.changes,
            "identical": found.identical,
            "unsure": found.unsure,
            "unprofiled": found.unprofiled,
            "sizes": {
                "confidence": found.sizes.confidence,
                **_spell_coverage(found.sizes.every),
                "by_history": [
                    {"changes_from": item.least, "changes_to": item.most, **_spell_coverage(item)}
                    for item in found.sizes.by_history
                ],
                "directions_told": _spell_rate(found.sizes.told),
                "directions_right": _spell_rate(found.sizes.right),
                "directions_by_sign": _spell_rate(found.sizes.by_sign),
                "versions_by_sign": _spell_rate(found.sizes.by_sign_versions),
            },
            "evaluations": [_spell_one(item, found.commits) for item in found.evaluations],
            "indicator_curves": [
                {
                    "indicator": name,
                    "curve": [
                        {
                            "threshold": at.least,
                            "hit": _spell_rate(at.hit),
                            "dismiss": _spell_rate(at.dismiss),
                        }
                        for at in points
                    ],
                }
                for name, points in found.indicators.items()
            ],
            "overlap": [
                {"benchmarks": [first, second], "share": share} for first, second, share in found.overlap
            ],
        },
        [finish_sentence(line) for line in found.warnings],
    )


def _spell_one(item: NamedEvaluation, commits: Mapping[int, str]) -> dict[str, object]:
    told = item.evaluation
    spelled: dict[str, object] = {"name": item.name, "predictor": item.predictor}
    if told is not None:
        spelled |= {
            "method": told.method,
            "cases": len(told.predictions),
            "changed": told.hit.n,
            "hit": _spell_rate(told.hit),
            "dismiss": _spell_rate(told.dismiss),
            "area": _spell_area(told.area),
            "area_by_benchmark": [
                {"benchmark": name, "area": _spell_area(area)} for name, area in item.by_benchmark.items()
            ],
            "curve": [_spell_point(point) for point in told.curve],
            "operating_points": [
                {"dismissed": share, **(_spell_point(point) if point is not None else {})}
                for share, point in told.at_dismissed
            ],
            "savings": _spell_savings(item.savings),
            "calibration": [_spell_class(at) for at in item.calibration],
            "warnings": [finish_sentence(line) for line in told.warnings],
        }
    if item.by_epoch:
        spelled["area_by_epoch"] = [
            {"order": order, "commit": commits.get(order), "area": _spell_area(area)}
            for order, area in item.by_epoch
        ]
    if item.by_distance:
        spelled["by_distance"] = [
            {"versions": at.hops, "hit": _spell_rate(at.hit), "dismiss": _spell_rate(at.dismiss)}
            for at in item.by_distance
        ]
    if item.by_size:
        spelled["by_folds"] = [
            {"folds": at.folds, "hit": _spell_rate(at.hit), "dismiss": _spell_rate(at.dismiss)}
            for at in item.by_size
        ]
    if item.by_folds:
        spelled["areas_by_folds"] = [{"folds": at.folds, "areas": list(at.areas)} for at in item.by_folds]
    return spelled


def _spell_coverage(item: SizeCoverage) -> dict[str, _Numbers]:
    return {
        "told": _spell_rate(item.told),
        "within": _spell_rate(item.within),
        "versions_within": _spell_rate(item.versions),
    }


def _spell_class(item: CalibrationClass) -> dict[str, float | _Numbers | None]:
    return {
        "low": item.low,
        "high": item.high,
        "predicted": item.mean,
        "changed": _spell_rate(item.observed),
    }


def _spell_interval(interval: Interval | None) -> _Numbers:
    return {"low": None, "high": None} if interval is None else {"low": interval.low, "high": interval.high}


def _spell_rate(rate: Rate) -> _Numbers:
    return {"value": rate.value, "n": rate.n, "count": rate.count, **_spell_interval(rate.interval)}


def _spell_area(area: Area | None) -> _Numbers | None:
    if area is None:
        return None
    return {
        "value": area.estimate,
        "changed": area.changed,
        "unchanged": area.unchanged,
        **_spell_interval(area.interval),
    }


def _spell_point(point: OperatingPoint) -> dict[str, float | _Numbers]:
    return {
        "threshold": point.least,
        "hit": _spell_rate(point.hit),
        "dismiss": _spell_rate(point.dismiss),
    }


def _spell_savings(savings: Savings | None) -> dict[str, object] | None:
    if savings is None:
        return None
    return {
        "cases": savings.cases,
        "runs": savings.runs,
        "all_hours": savings.all_hours,
        "run_hours": savings.run_hours,
        "saved_hours": savings.saved_hours,
        "missed": savings.missed,
        "delays": list(savings.delays),
        "never": savings.never,
    }
