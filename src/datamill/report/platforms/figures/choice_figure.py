"""The figure of a choice: what is left unexplained as machines are added."""

from __future__ import annotations

from typing import Any

from datamill.late import alt
from datamill.platforms.choice.platform_choice import MachineChoice
from datamill.report.figures.charts import choose_mark
from datamill.report.figures.figure import Figure

_WIDTH, _HEIGHT = 560, 300


def draw_choice(choice: MachineChoice) -> Figure:
    """Draw the variance that is left after each machine of the choice, from all of it before the first."""
    rows: list[dict[str, Any]] = [{"count": 0, "left": 100.0, "machine": ""}]
    rows += [
        {"count": count, "left": 100 * item.left, "machine": item.machine}
        for count, item in enumerate(choice.machines, start=1)
    ]
    base = alt.Chart(alt.InlineData(values=rows))
    x = alt.X(
        "count:Q",
        title="machines measured",
        scale=alt.Scale(domain=[0, len(rows) - 1 + 0.12 * len(rows)], nice=False),
        axis=alt.Axis(tickMinStep=1, format="d"),
    )
    y = alt.Y("left:Q", title="variance left (%)", scale=alt.Scale(domain=[0, 108], nice=False))
    color = choose_mark(0).color
    layers: list[Any] = [
        base.mark_line(color=color, strokeWidth=2).encode(x, y),
        base.mark_point(filled=True, size=55, opacity=1, color=color).encode(
            x, y, tooltip=["machine:N", "left:Q"]
        ),
    ]
    if len(rows) <= 16:
        layers.append(
            base.mark_text(align="left", angle=330, dx=6, dy=-6, fontSize=11, limit=180).encode(
                x, y, text="machine:N"
            )
        )
    chart = alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)
    text = (
        "Each point is a machine, in the order of the choice; its height is the share of the differences "
        "between "
        "machines that the suite leaves unexplained once it and those before it are measured."
    )
    return Figure("choice", "What the chosen machines explain", text, chart.to_dict())
