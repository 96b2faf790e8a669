"""Errors of strategies in sentences and tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from datamill.analysis.interval import Interval
from datamill.experiment.messages.numbers import (
    count_decimals,
    format_count,
    format_figures,
    format_fixed,
    format_level,
)
from datamill.platforms.evaluation.platform_evaluation import PlatformEvaluation
from datamill.platforms.evaluation.size_errors import SizeErrors
from datamill.platforms.evaluation.thresholds import FitThreshold, ThresholdCurve
from datamill.platforms.evaluation.worst_models import WorstModels
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import Layout, build_table

#: Shares of models left that the table of thresholds shows.
_SHARES_SHOWN = (1.0, 0.75, 0.5, 0.33, 0.1)
#: Names that a list of the worst decile has at most.
_MOST_NAMES = 12


def phrase_evaluation(evaluation: PlatformEvaluation) -> tuple[str, ...]:
    """Which strategy errs least from the size in question, how far, and how far the suite's mean does.

    Limits of ours compete only where there is nothing else: of many variants some look good by chance.
    """
    found = _list_at(evaluation)
    if not found:
        return ("No strategy predicts anything.",)
    found = [item for item in found if not item.variant.limit] or found
    plan = evaluation.plan
    first = found[0]
    level = format_level(evaluation.confidence)
    sentences = [
        f"From {evaluation.at} of {len(plan.machines)} machines, {first.variant.label} has the smallest "
        f"median error: {_spell(first.median)} of the mean time ({level} interval "
        f"{_spell_ends(first.median)}); three of four models err by at most "
        f"{_percent(first.upper_quartile.estimate)}, 95% by at most "
        f"{_percent(first.percentile_95.estimate)}, the worst by {_percent(first.worst)}."
    ]
    usual = next((item for item in found[1:] if item.variant.strategy == "geometric-mean"), None)
    if usual is not None:
        sentences.append(
            f"The suite's geometric mean errs by {_spell(usual.median)} in the median "
            f"({_spell_ends(usual.median)}), 95% of its models by at most "
            f"{_percent(usual.percentile_95.estimate)}, the worst by {_percent(usual.worst)}."
        )
    return tuple(sentences)


def state_evaluation(
    evaluation: PlatformEvaluation, notes: Sequence[str], *, verbose: bool
) -> tuple[Part, ...]:
    """State the answer, the errors at the size in question and by size, thresholds, and the worst models.

    Thresholds and worst models are of the strategy that errs least; `verbose` has those of all, and limits at
    every size.
    """
    first = [item.variant for item in _list_at(evaluation) if not item.variant.limit][:1]
    level = format_level(evaluation.confidence)
    parts: list[Part] = [Paragraph(sentence) for sentence in phrase_evaluation(evaluation)]
    parts += [BLANK, Heading(f"Error from {evaluation.at} machines, in % of the mean time"), BLANK]
    parts.append(_tabulate_at(evaluation))
    parts += [BLANK, Heading("Error by number of training machines, in % of the mean time"), BLANK]
    shown = [item for item in evaluation.errors if verbose or not item.variant.limit]
    parts.append(_tabulate_sizes(shown or evaluation.errors, level))
    for curve in evaluation.thresholds:
        if curve.thresholds and (verbose or curve.variant in first):
            parts += [BLANK, *_state_thresholds(curve, level)]
    for worst in evaluation.worst:
        if verbose or worst.variant in first:
            parts += [BLANK, *_state_worst(worst)]
    parts += [BLANK, *(Paragraph(text, "  ") for text in _explain(evaluation, level))]
    warnings = (*notes, *evaluation.warnings)
    parts += [Paragraph(f"Warning: {warning}.", "  ") for warning in warnings]
    return tuple(parts)


def _list_at(evaluation: PlatformEvaluation) -> list[SizeErrors]:
    found = [item for item in evaluation.errors if item.size == evaluation.at]
    return sorted(found, key=lambda item: item.median.estimate)


def _tabulate_at(evaluation: PlatformEvaluation) -> Part:
    head = (
        "strategy",
        "models",
        "median",
        "75th",
        "95th",
        "worst",
        "target: median",
        "75th",
        "95th",
        "worst",
    )
    rows = [
        (
            item.variant.label,
            format_count(item.models),
            *(
                f"{_percent(value.estimate, '')} ({_spell_ends(value, '')})"
                for value in (item.median, item.upper_quartile, item.percentile_95)
            ),
            _percent(item.worst, ""),
            *(_percent(value, "") for value in item.target_errors),
        )
        for item in _list_at(evaluation)
    ]
    return build_table(head, rows, layout=Layout(is_folded=True))


def _tabulate_sizes(errors: Sequence[SizeErrors], level: str) -> Part:
    head = (
        "strategy, machines", "models", "predictors", "median", "75th", "95th", "worst", "mean",
        f"{level} by application", f"{level} by model",
    )  # fmt: skip
    rows = [
        (
            f"{item.variant.label}, {item.size}",
            format_count(item.models),
            format_figures(item.predictors, 2) if math.isfinite(item.predictors) else "-",
            *(
                _percent(value, "")
                for value in (
                    item.median.estimate,
                    item.upper_quartile.estimate,
                    item.percentile_95.estimate,
                    item.worst,
                    item.mean.estimate,
                )
            ),
            _spell_ends(item.mean, ""),
            _spell_ends(item.mean_of_models, ""),
        )
        for item in errors
    ]
    return build_table(head, rows, layout=Layout(is_folded=True))


def _state_thresholds(curve: ThresholdCurve, level: str) -> list[Part]:
    title = f"Models of {curve.variant.label} from {curve.size} machines by their adjusted R² (error in %)"
    head = ("adjusted R² at least", "models", "left", f"{level} interval", "95th", "99th", "worst")
    rows = [
        (
            format_fixed(item.adjusted_r2, max(4, count_decimals(1 - item.adjusted_r2))),
            format_count(item.models),
            _percent(item.share.estimate),
            _spell_ends(item.share),
            f"{_percent(item.percentile_95.estimate, '')} ({_spell_ends(item.percentile_95, '')})",
            f"{_percent(item.percentile_99.estimate, '')} ({_spell_ends(item.percentile_99, '')})",
            _percent(item.worst, ""),
        )
        for item in _choose_thresholds(curve)
    ]
    return [Heading(title), BLANK, build_table(head, rows, 0, layout=Layout(is_folded=True))]


def _choose_thresholds(curve: ThresholdCurve) -> list[FitThreshold]:
    """Those that leave what is nearest to the shares that are shown."""
    chosen: dict[float, FitThreshold] = {}
    for share in _SHARES_SHOWN:
        nearest = min(curve.thresholds, key=lambda item: abs(item.share.estimate - share))
        chosen[nearest.adjusted_r2] = nearest
    return list(chosen.values())


def _state_worst(worst: WorstModels) -> list[Part]:
    title = (
        f"The {format_count(worst.models)} models of {worst.variant.label} from {worst.size} machines that "
        f"err most ({_percent(worst.low)} to {_percent(worst.high)})"
    )
    rows = []
    for place in range(min(_MOST_NAMES, max(len(worst.machines), len(worst.applications)))):
        rows.append((*_take(worst.machines, place), *_take(worst.applications, place)))
    head = ("target machine", "models", "application", "models ")
    table = build_table(head, rows, 1, layout=Layout(is_folded=True))
    half = (
        f"{', '.join(worst.blamed)}: at least half of these models. "
        + (
            f"Without them the largest error of all models is {_percent(worst.worst_of_others)}."
            if math.isfinite(worst.worst_of_others)
            else "There are no others."
        )
    )  # fmt: skip
    counted = (
        [Paragraph(f"Each model has {worst.targets} targets and counts for each of them.", "  ")]
        if worst.targets > 1
        else []
    )
    return [Heading(title), BLANK, table, Paragraph(half, "  "), *counted]


def _take(counts: Sequence[tuple[str, int]], place: int) -> tuple[str, str]:
    return (counts[place][0], format_count(counts[place][1])) if place < len(counts) else ("", "")


def _explain(evaluation: PlatformEvaluation, level: str) -> tuple[str, ...]:
    plan = evaluation.plan
    drawn = [size for size in plan.sizes if not plan.is_exhaustive(size)]
    how = "all sets of machines of each size"
    if drawn:
        how = (
            f"{plan.draws} sets of machines where there are more ({_list_numbers(drawn)} machines), drawn "
            f"with seed {plan.seed} and the same for all"
        )
    return (
        f"Method: each of {len(plan.applications)} benchmarks is held out as the application and predicted "
        f"from the others; trained on {how}; targets are all other machines of the {len(plan.machines)}.",
        "Error: root mean square of prediction - time over a model's targets, in % of the mean time of the "
        f"application on all {len(plan.machines)} machines, trained ones and targets; target: |prediction / "
        "time - 1| over all targets of all models, in %.",
        f"Intervals are {level}. By application: applications are independent, the machines stay (means by "
        "Student's t, quantiles by Woodruff's method); they hold for other applications like these on these "
        "machines. By model: as if all models were independent, as the thesis has it; models share "
        "applications and machines, so that it is too short. The worst has no interval.",
    )


def _list_numbers(numbers: Sequence[int]) -> str:
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers))


def _spell(value: Interval) -> str:
    return _percent(value.estimate)


def _spell_ends(value: Interval, sign: str = "%") -> str:
    if not math.isfinite(value.low):
        return "unknown"
    if math.isinf(value.high):
        return f"{_percent(value.low, sign)} or more"
    return f"{_percent(value.low, '')} to {_percent(value.high, sign)}"


def _percent(share: float, sign: str = "%") -> str:
    if not math.isfinite(share):
        return "unknown"
    percent = 100 * share
    decimals = 2 if abs(percent) < 9.995 else 1 if abs(percent) < 99.95 else 0
    return f"{format_fixed(percent, decimals)}{sign}"
