"""How well predictors do on a project: sentences, tables and JSON."""

from __future__ import annotations

from collections.abc import Mapping

from datamill.analysis.interval import Interval
from datamill.experiment.messages.numbers import format_count, format_figures, format_fixed, format_share
from datamill.experiment.messages.phrases import count_nouns, finish_sentence
from datamill.report.tables.envelope import write_result
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import build_table
from datamill.report.words.scales import round_interval, round_shares
from datamill.selection.evaluation.rates import Area, OperatingPoint, Rate
from datamill.selection.evaluation.savings import Savings
from datamill.selection.evaluation.sizes import SizeCheck
from datamill.selection.evaluation.store_evaluation import NamedEvaluation, StoreEvaluation

_RULES = {
    "relevant": "detected by the random-effects comparison, and at least",
    "mann-whitney": "Mann-Whitney at 0.05, and at least",
    "instructions": "counted instructions, at least",
}


def summarize_evaluation(found: StoreEvaluation) -> list[str]:
    """Return sentences: what was evaluated on, and what counts as a change."""
    threshold = "any size" if not found.threshold else format_share(found.threshold)
    sentences = [
        f"{found.project}: {count_nouns(found.versions, 'version')} with "
        f"{count_nouns(found.programs, 'different program')}; {count_nouns(found.cases, 'case')} of closest "
        f"versions, of which {format_count(found.changes)} changed ({_RULES[found.rule]} {threshold})."
    ]
    if found.identical:
        sentences.append(f"{count_nouns(found.identical, 'pair')} of equal programs left out.")
    if found.unsure:
        sentences.append(
            f"{count_nouns(found.unsure, 'case')} could not be judged with certainty and count as unchanged."
        )
    if found.unprofiled:
        sentences.append(f"{count_nouns(found.unprofiled, 'case')} without a profile left out.")
    if found.sizes.within.n:
        sentences.append(
            f"Predicted sizes of changes: {format_count(found.sizes.within.count)} of "
            f"{format_count(found.sizes.within.n)} within their interval of "
            f"{format_share(found.sizes.confidence)}: {_tell_rate(found.sizes.within)}."
        )
    if found.sizes.told.n:
        sentences.append(_tell_directions(found.sizes))
    return sentences


def _tell_directions(sizes: SizeCheck) -> str:
    sentence = (
        f"Directions: given for {format_count(sizes.told.count)} of {count_nouns(sizes.told.n, 'change')}"
    )
    if sizes.right.n:
        sentence += f", right in {format_count(sizes.right.count)}, {_tell_rate(sizes.right)}"
    if sizes.by_sign.n:
        sentence += (
            f"; the sign of the edit would be right in {format_count(sizes.by_sign.count)} of "
            f"{format_count(sizes.by_sign.n)}, {_tell_rate(sizes.by_sign)}"
        )
    return f"{sentence}."


def state_evaluation(found: StoreEvaluation) -> list[Part]:
    """Return a table for each evaluation, a row a predictor."""
    parts: list[Part] = [*map(Paragraph, summarize_evaluation(found))]
    parts += [Paragraph(finish_sentence(f"Note: {line}")) for line in found.warnings]
    for name in dict.fromkeys(item.name for item in found.evaluations):
        own = [item for item in found.evaluations if item.name == name]
        parts += [BLANK, Heading(f"{name}:"), *_state_one(own)]
    for name, points in found.indicators.items():
        rows = [
            (format_figures(point.least, 4), _tell_rate(point.hit), _tell_rate(point.dismiss))
            for point in points
        ]
        parts += [BLANK, Heading(f"{name}:"), build_table(("threshold", "hit", "dismiss"), rows)]
    return parts


def _state_one(own: list[NamedEvaluation]) -> list[Part]:
    parts: list[Part] = []
    rows = [_list_row(item) for item in own if item.evaluation is not None]
    if rows:
        headers = ("predictor", "cases", "hit rate", "dismiss rate", "area", "50%", "80%", "90%", "saved")
        parts.append(build_table(headers, rows, words=1))
        warnings = dict.fromkeys(
            line for item in own if item.evaluation is not None for line in item.evaluation.warnings
        )
        parts += [Paragraph(finish_sentence(f"Note: {line}")) for line in warnings]
    for item in own:
        tables = []
        if item.by_distance:
            rates = [(str(at.hops), _tell_rate(at.hit), _tell_rate(at.dismiss)) for at in item.by_distance]
            tables.append(build_table(("versions", "hit", "dismiss"), rates))
        if item.by_size:
            rates = [(str(at.folds), _tell_rate(at.hit), _tell_rate(at.dismiss)) for at in item.by_size]
            tables.append(build_table(("folds", "hit", "dismiss"), rates))
        if item.by_folds:
            areas = [
                (
                    str(at.folds),
                    ", ".join("-" if area is None else format_fixed(area, 2) for area in at.areas),
                )
                for at in item.by_folds
            ]
            tables.append(build_table(("folds", "areas"), areas))
        if tables:
            parts += [Heading(f"{item.predictor}:"), *tables]
    return parts


def _list_row(item: NamedEvaluation) -> tuple[str, ...]:
    told = item.evaluation
    assert told is not None
    return (
        item.predictor,
        format_count(len(told.predictions)),
        _tell_rate(told.hit),
        _tell_rate(told.dismiss),
        _tell_area(told.area),
        *("" if point is None else format_share(point.hit.value or 0.0) for _, point in told.at_dismissed),
        _tell_savings(item.savings),
    )


def _tell_rate(rate: Rate) -> str:
    if rate.interval is None:
        return "-"
    return round_shares(rate.interval).phrase()


def _tell_area(area: Area | None) -> str:
    if area is None:
        return "-"
    if area.interval is None:
        return format_fixed(area.estimate, 2)
    return round_interval(area.interval, decimals=2).phrase()


def _tell_savings(savings: Savings | None) -> str:
    if savings is None or not savings.cases:
        return ""
    return format_share(1 - savings.runs / savings.cases)


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
                "within": _spell_rate(found.sizes.within),
                "directions_told": _spell_rate(found.sizes.told),
                "directions_right": _spell_rate(found.sizes.right),
                "directions_by_sign": _spell_rate(found.sizes.by_sign),
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


def _spell_interval(interval: Interval | None) -> dict[str, object]:
    return {"low": None, "high": None} if interval is None else {"low": interval.low, "high": interval.high}


def _spell_rate(rate: Rate) -> dict[str, object]:
    return {"value": rate.value, "n": rate.n, "count": rate.count, **_spell_interval(rate.interval)}


def _spell_area(area: Area | None) -> dict[str, object] | None:
    if area is None:
        return None
    return {
        "value": area.estimate,
        "changed": area.changed,
        "unchanged": area.unchanged,
        **_spell_interval(area.interval),
    }


def _spell_point(point: OperatingPoint) -> dict[str, object]:
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
