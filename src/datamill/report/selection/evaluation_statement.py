"""How well predictors do on a project: sentences and tables."""

from __future__ import annotations

from datamill.experiment.messages.numbers import format_count, format_figures, format_fixed, format_share
from datamill.experiment.messages.phrases import count_nouns, finish_sentence
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import build_table
from datamill.report.words.scales import round_interval, round_shares
from datamill.selection.evaluation.probability_classes import CalibrationClass
from datamill.selection.evaluation.rates import Area, Rate
from datamill.selection.evaluation.savings import Savings
from datamill.selection.evaluation.sizes import SizeCheck, SizeCoverage
from datamill.selection.evaluation.store_evaluation import NamedEvaluation, StoreEvaluation

_RULES = {
    "relevant": "detected by the random-effects comparison",
    "mann-whitney": "Mann-Whitney at 0.05",
    "instructions": "counted instructions",
}


def summarize_evaluation(found: StoreEvaluation) -> list[str]:
    """Return sentences: what was evaluated on, and what counts as a change."""
    threshold = f"at least {format_share(found.threshold)}" if found.threshold else "of any size"
    sentences = [
        f"{found.project}: {count_nouns(found.versions, 'version')} with "
        f"{count_nouns(found.programs, 'different program')}; {count_nouns(found.cases, 'case')} of closest "
        f"versions, of which {format_count(found.changes)} changed ({_RULES[found.rule]}, {threshold})."
    ]
    if found.identical:
        sentences.append(f"{count_nouns(found.identical, 'pair')} of equal programs left out.")
    if found.unsure:
        sentences.append(
            f"{count_nouns(found.unsure, 'case')} could not be judged with certainty and count as unchanged."
        )
    if found.unprofiled:
        sentences.append(f"{count_nouns(found.unprofiled, 'case')} without a profile left out.")
    if found.sizes.every.told.n:
        sentences.append(_tell_sizes(found.sizes))
    if found.sizes.told.n:
        sentences.append(_tell_directions(found.sizes))
    return sentences


def _tell_sizes(sizes: SizeCheck) -> str:
    every = sizes.every
    if not every.told.count:
        return f"Sizes: given for none of {count_nouns(every.told.n, 'change')}."
    return (
        f"Sizes: given for {format_count(every.told.count)} of {count_nouns(every.told.n, 'change')}, "
        f"of which {format_count(every.within.count)} lay within the {format_share(sizes.confidence)} "
        f"interval, {_tell_rate(every.within)}; all changes of a version did in "
        f"{format_count(every.versions.count)} of {count_nouns(every.versions.n, 'version')}, "
        f"{_tell_rate(every.versions)}."
    )


def _tell_directions(sizes: SizeCheck) -> str:
    sentence = (
        f"Directions: given for {format_count(sizes.told.count)} of {count_nouns(sizes.told.n, 'change')}"
    )
    if sizes.right.n:
        sentence += f", right in {format_count(sizes.right.count)}, {_tell_rate(sizes.right)}"
    if sizes.by_sign.n:
        sentence += (
            f"; the sign of the edit would be right in {format_count(sizes.by_sign.count)} of "
            f"{format_count(sizes.by_sign.n)}, {_tell_rate(sizes.by_sign)}, and for all changes of a version "
            f"in {format_count(sizes.by_sign_versions.count)} of {format_count(sizes.by_sign_versions.n)}"
        )
    return f"{sentence}."


def state_evaluation(found: StoreEvaluation) -> list[Part]:
    """Return a table for each evaluation, a row a predictor."""
    parts: list[Part] = [*map(Paragraph, summarize_evaluation(found))]
    parts += [Paragraph(finish_sentence(f"Note: {line}")) for line in found.warnings]
    if found.sizes.every.told.n:
        covered = [_list_coverage(item) for item in found.sizes.by_history if item.told.n]
        headers = ("changes before", "changes", "with a size", "within", "versions with all within")
        parts += [BLANK, Heading("sizes of changes:"), build_table(headers, covered, words=1)]
    predicted = any(item.evaluation is not None and item.evaluation.predictions for item in found.evaluations)
    for name in dict.fromkeys(item.name for item in found.evaluations if predicted):
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
        if item.calibration:
            classes = [_list_class(at) for at in item.calibration]
            tables.append(build_table(("probability", "cases", "predicted", "changed"), classes, words=1))
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


def _list_coverage(item: SizeCoverage) -> tuple[str, ...]:
    if item.most is None:
        before = f"{item.least} or more"
    else:
        before = str(item.least) if item.least == item.most else f"{item.least} to {item.most}"
    return (
        before,
        format_count(item.told.n),
        format_count(item.told.count),
        _tell_rate(item.within),
        _tell_rate(item.versions),
    )


def _list_class(item: CalibrationClass) -> tuple[str, ...]:
    return (
        f"{format_share(item.low)} to {format_share(item.high)}",
        format_count(item.observed.n),
        "-" if item.mean is None else format_share(item.mean),
        _tell_rate(item.observed),
    )


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
