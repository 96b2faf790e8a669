"""Colours and words that the figures of an evaluation share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from datamill.experiment.errors import InputError
from datamill.late import alt
from datamill.platforms.evaluation.evaluation_plan import Variant
from datamill.platforms.evaluation.platform_evaluation import PlatformEvaluation
from datamill.platforms.evaluation.size_errors import SizeErrors
from datamill.report.figures.charts import choose_mark

#: Colours of the strategies after the first six, which have those of all charts.
_FURTHER = ("#6f56c5", "#1fa3ad", "#d9698f", "#5d6b78", "#8a5a2b", "#93b02f")
#: What the axis of errors says.
ERROR_TITLE = "prediction RMSE in % of the mean time"


def list_unlimited(evaluation: PlatformEvaluation) -> tuple[Variant, ...]:
    """Variants without a limit of ours, in the order in which they were asked for."""
    return tuple(variant for variant in evaluation.plan.variants if not variant.limit)


def list_errors(evaluation: PlatformEvaluation, variants: Sequence[Variant]) -> tuple[SizeErrors, ...]:
    """Errors of these variants.

    Raises:
        InputError: there are none.
    """
    found = tuple(item for item in evaluation.errors if item.variant in variants)
    if not found:
        raise InputError("no strategy predicts anything to draw", remedy="The text says why.")
    return found


def color_variants(labels: Sequence[str], among: Sequence[str]) -> Any:
    """The colour of each strategy by its label: that of its place `among` all, so that figures agree."""
    colors = [*(choose_mark(place).color for place in range(6)), *_FURTHER]
    places = [list(among).index(label) for label in labels]
    scale = alt.Scale(domain=list(labels), range=[colors[place % len(colors)] for place in places])
    placed = alt.Legend(title=None, orient="top", symbolOpacity=1, columns=4)
    return alt.Color("variant:N", scale=scale, sort=list(labels), legend=placed)


def bound_errors(errors: Sequence[SizeErrors]) -> tuple[float, float]:
    """Ends of a logarithmic axis in %: around the boxes, with room for whiskers below them, and the worst."""
    quartiles = [100 * item.box.low_quartile for item in errors if item.box.low_quartile > 0]
    high = max(100 * item.worst for item in errors)
    whiskers = [100 * item.box.low_whisker for item in errors]
    low = max(min(whiskers), min(quartiles, default=high) / 10) or 1e-6
    return low / 1.2, max(high, low) * 1.2


def scale_log(ends: tuple[float, float]) -> dict[str, Any]:
    """A logarithmic scale between two ends, with a line for each power of ten (or 1, 2 and 5 of it)."""
    powers = range(math.floor(math.log10(ends[0])), math.ceil(math.log10(ends[1])) + 1)
    steps = (1,) if len(powers) > 4 else (1, 2, 5)
    values = [step * 10.0**power for power in powers for step in steps]
    shown = [value for value in values if ends[0] <= value <= ends[1]]
    return {
        "scale": alt.Scale(type="log", domain=list(ends), nice=False, clamp=True),
        "axis": alt.Axis(values=shown, format="~g"),
    }
