"""Figure of versions one after the other: their means, and where they change."""

from __future__ import annotations

import json
from typing import Any

from datamill.analysis.versions.history import VersionHistory
from datamill.analysis.versions.version_comparison import VersionComparison
from datamill.experiment.messages.numbers import format_level
from datamill.late import alt
from datamill.report.compare.answer import (
    phrase_basis,
    scale_comparison,
    state_answer,
)
from datamill.report.figures.figure import Figure

#: More versions than this need no name each on an axis.
_MOST_NAMES = 40
_BLUE, _ORANGE = "#2f7ec1", "#dd7f1e"


def draw_history(comparison: VersionComparison, history: VersionHistory | None = None) -> Figure:
    """Draw the mean of each version on its interval in their order; of a series also where it changes."""
    scale = scale_comparison(comparison)
    names = [mean.version for mean in comparison.means]
    alone = {item.at for item in history.lone} if history is not None else set()
    points = [
        {
            "at": at,
            "version": mean.version,
            "mean": mean.value.estimate * scale.factor,
            "low": mean.value.low * scale.factor,
            "high": mean.value.high * scale.factor,
            "kind": "stands out" if at in alone else "version",
        }
        for at, mean in enumerate(comparison.means)
    ]
    unit = f" ({scale.unit})" if scale.unit else ""
    y_title = f"mean {comparison.response}{unit}"
    step = max(1, -(-len(names) // _MOST_NAMES))
    # As JSON writes them, with quotes and ends of lines escaped, names end no text of the expression.
    labels = f"{json.dumps(list(names))}[datum.value]"
    x = alt.X(
        "at:Q",
        title=None,
        scale=alt.Scale(domain=[-0.6, len(names) - 0.4], nice=False),
        axis=alt.Axis(
            values=list(range(0, len(names), step)),
            labelExpr=labels,
            labelAngle=-45 if len(names) > 6 else 0,
            grid=False,
            labelLimit=140,
        ),
    )
    y_scale = alt.Scale(zero=False)
    layers: list[Any] = []
    if history is not None:
        stretches = [
            {
                "from": item.first - 0.5,
                "to": item.last + 0.5,
                "low": item.mean.low * scale.factor,
                "high": item.mean.high * scale.factor,
                "mean": item.mean.estimate * scale.factor,
            }
            for item in history.segments
        ]
        data = alt.InlineData(values=stretches)
        places = alt.X("from:Q"), alt.X2("to:Q")
        layers.append(
            alt.Chart(data)
            .mark_rect(color=_ORANGE, opacity=0.18)
            .encode(*places, alt.Y("low:Q", title=y_title, scale=y_scale), alt.Y2("high:Q"))
        )
        layers.append(
            alt.Chart(data)
            .mark_rule(color=_ORANGE, strokeWidth=2)
            .encode(*places, alt.Y("mean:Q", scale=y_scale))
        )
        if history.changes:
            cuts = [{"cut": item.at - 0.5} for item in history.changes]
            layers.append(
                alt.Chart(alt.InlineData(values=cuts))
                .mark_rule(color=_ORANGE, strokeDash=[4, 3])
                .encode(alt.X("cut:Q"))
            )
    kinds, legend = ["version", "stands out"], alt.Legend() if alone else None
    color = alt.Color(
        "kind:N", title=None, scale=alt.Scale(domain=kinds, range=[_BLUE, "#c23b3b"]), legend=legend
    )
    shape = alt.Shape(
        "kind:N", title=None, scale=alt.Scale(domain=kinds, range=["circle", "diamond"]), legend=legend
    )
    marks = alt.Chart(alt.InlineData(values=points))
    layers += [
        marks.mark_rule(strokeWidth=1.6).encode(
            x, alt.Y("low:Q", title=y_title, scale=y_scale), alt.Y2("high:Q"), color
        ),
        marks.mark_point(filled=True, size=46, opacity=1).encode(
            x,
            alt.Y("mean:Q", scale=y_scale),
            color,
            shape,
            tooltip=["version:N", "mean:Q", "low:Q", "high:Q"],
        ),
    ]
    level = format_level(comparison.confidence)
    caption = f"Points are means of versions, bars their {level} intervals, each for itself. "
    if history is not None:
        caption += (
            "Horizontal lines are the means of stretches without a change, with their intervals as bands; a "
            f"dashed line is a change. {state_answer(comparison, history)[0]} "
        )
    caption += f"{phrase_basis(comparison)}."
    width = max(320, min(900, 26 * len(names)))
    chart = alt.layer(*layers).properties(width=width, height=280)
    return Figure("version-history", f"{comparison.response} by version", caption, chart.to_dict())
