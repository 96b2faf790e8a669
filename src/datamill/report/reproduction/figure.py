"""Figure of a re-run: each effect in the original and again, and its change against the margin."""

from __future__ import annotations

from typing import Any

from datamill.analysis.reproduction.reproduction import Reproduction
from datamill.experiment.messages.numbers import format_figures, format_level
from datamill.report.figures.estimation_panels import (
    BETWEEN,
    MOST_LEVELS,
    PlottedLevel,
    chart_changes,
    chart_observations,
)
from datamill.report.figures.figure import Figure
from datamill.report.reproduction.answer import name_effect
from datamill.report.words.scales import choose_scale


def draw_reproduction(found: Reproduction) -> Figure:
    """Draw the effects of both executions, and the changes over the band that is the same result."""
    shown = found.effects[: MOST_LEVELS // 2]
    scale = choose_scale(found.unit, found.effects[0].original.estimate) if found.kind == "value" else None
    rows = []
    for effect in shown:
        name = name_effect(effect)
        before, after = (
            value.to_percent() if scale is None else value.scaled(scale.factor)
            for value in (effect.original, effect.rerun)
        )
        rows.append(PlottedLevel(f"{name}: original", found.n_original, (), before, None))
        rows.append(
            PlottedLevel(
                f"{name}: re-run", found.n_rerun, (), after, effect.change.to_percent(), note=effect.verdict
            )
        )
    unit = "%" if scale is None else scale.unit
    title = "differs by (%)" if scale is None else f"{found.response} ({scale.unit})"
    limits = (100 * (1 / (1 + found.margin) - 1), 100 * found.margin)
    chart: dict[str, Any] = {
        "hconcat": [
            chart_observations(rows, title, unit, estimate="effect"),
            chart_changes(rows, "original", "re-run over original (%)", "%", band=limits),
        ],
        "spacing": BETWEEN,
        "bounds": "flush",
        "config": {"view": {"stroke": None}},
    }
    level = format_level(found.confidence)
    caption = (
        f"on the left each effect with its {level} interval, in the original and in the re-run. On the right "
        f"stands the ratio of the two with its {level} interval; the shaded band is a factor of "
        f"{format_figures(1 + found.margin, 6)} either way. A bar inside the band is reproduced, one wholly "
        "outside is not, and of any other the data cannot tell yet."
    )
    if len(found.effects) > len(shown):
        caption += f" {len(found.effects) - len(shown)} further effects are not drawn."
    return Figure("reproduction", f"{found.response}: original and re-run", caption, chart)
