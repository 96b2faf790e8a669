"""What limits predictions, in sentences."""

from __future__ import annotations

from datamill.analysis.prediction.prediction import Misfit, Predictions
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import format_figures, say_p


def collect_warnings(found: Predictions) -> tuple[str, ...]:
    """What limits these predictions: levels beyond, misfit, shared builds, and the model's own warnings."""
    warnings = []
    outside = tuple(dict.fromkeys(name for item in found.predictions for name in item.outside))
    if outside:
        warnings.append(
            f"levels of {', '.join(outside)} lie beyond those that were measured: the intervals hold only if "
            "the response goes on as between them, which nothing in the data can show"
        )
    if found.slopes:
        warnings += _warn_of_misfit(found, found.misfit)
    twofold = [slope for slope in found.slopes if slope.levels == 2]
    if twofold:
        names = ", ".join(slope.factor for slope in twofold)
        differs = _phrase_other_scale(found)
        warnings.append(
            f"{names} has two levels only: whether the response bends between them cannot be seen{differs}"
        )
    if _reach_below_zero(found):
        response = found.observations.response
        warnings.append(
            tell(
                f"intervals reach below zero, and no measured {response} does: the model takes the spread to "
                "be the same at all levels. Where it grows with the response, model the logarithm of that: "
                f"{argument('scale', f'{response}=log')}"
            )
        )
    if found.observations.cells.builds is not None:
        warnings.append(
            "design points share builds, and this model takes all observations for independent: its "
            "intervals are too narrow for another build"
        )
    more = (*found.model.warnings, *found.checks.warnings)
    # What is left between a cell's own planes is part of the misfit, which is told already.
    warnings += [text for text in more if not (found.slopes and "lack of fit" in text)]
    return tuple(dict.fromkeys(warnings))


def _reach_below_zero(found: Predictions) -> bool:
    cells = found.observations.cells
    lowest = min(min(item.value.low, item.new.low) for item in found.predictions)
    return lowest < 0 < cells.origin + float(cells.values.min())


def _warn_of_misfit(found: Predictions, misfit: Misfit) -> list[str]:
    if misfit.saturated and all(slope.levels == 2 for slope in found.slopes):
        return []
    if misfit.test is None:
        if misfit.saturated:
            return []
        return ["no combination of levels was measured twice, so that the lines cannot be checked"]
    if not found.bends:
        return []
    p = misfit.test.p
    free = any(slope.low > 0 for slope in found.slopes)
    remedy = (
        tell(f"Try the other {argument('scale')}, or measure nearer to the level")
        if free
        else "Measure nearer to the level"
    )
    size = "" if misfit.percent is None else f", by up to {format_figures(misfit.percent, 2)}%"
    return [
        tell(
            "the response does not follow the model between the measured levels (lack of fit, "
            f"{say_p(0.0 if p is None else p)}): it misses their means{size}, and neither interval allows "
            f"for that. {remedy}"
        )
    ]


def _phrase_other_scale(found: Predictions) -> str:
    """What the other scale would say of the first prediction, where it says another thing."""
    first = found.predictions[0]
    if first.other is None or len(found.slopes) != 1:
        return ""
    slope = found.slopes[0]
    other = "log" if slope.scale == "linear" else "linear"
    apart = 100 * (first.other / first.value.estimate - 1) if first.value.estimate else 0.0
    if abs(apart) < 0.05:
        return ""
    way = "higher" if apart > 0 else "lower"
    return tell(
        f"; with {argument('scale', f'{slope.factor}={other}')} the first prediction would be "
        f"{format_figures(abs(apart), 2)}% {way}"
    )
