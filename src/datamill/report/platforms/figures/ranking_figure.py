"""The figure of a ranking: the application over the suite's mean, as in the thesis' Figure 7.1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from datamill.experiment.errors import InputError
from datamill.late import alt
from datamill.platforms.ranking.machine_ranking import MachineRanking
from datamill.report.figures.charts import choose_mark
from datamill.report.figures.figure import INK, Figure
from datamill.report.platforms.values import PlatformNotes, choose_words

_WIDTH, _HEIGHT = 560, 340
#: Machines up to which each point is named; of more only the ends and those that the mean misleads about.
_MOST_NAMED = 8
_WITH, _AGAINST = "with the suite's mean", "against the suite's mean"


def draw_ranking(ranking: MachineRanking, notes: PlatformNotes, suite_means: Mapping[str, float]) -> Figure:
    """Draw each candidate's value over the suite's mean there, both on logarithmic axes.

    The black line is what the suite's mean alone says; where the coloured one runs against it, the mean
    misleads (thesis 2015, Figure 7.1).

    Raises:
        InputError: fewer than two candidates have a value and a mean.
    """
    words = choose_words(ranking.prediction, notes.measured)
    factor = words.scale.factor
    rows: list[dict[str, Any]] = []
    for item in ranking.machines:
        told, mean = item.prediction, suite_means.get(item.prediction.machine, math.nan)
        if not (math.isfinite(mean) and math.isfinite(told.seconds) and told.seconds > 0):
            continue
        row = {
            "machine": told.machine,
            "kind": "measured" if item.measured else "predicted",
            "suite": mean,
            "value": told.seconds * factor,
        }
        if math.isfinite(told.low) and math.isfinite(told.high) and not item.measured:
            row |= {"low": told.low * factor, "high": told.high * factor}
        rows.append(row)
    if len(rows) < 2:
        raise InputError("fewer than two candidates can be drawn", remedy="The text says why.")
    rows.sort(key=lambda row: row["suite"])
    misled = {(pair.faster, pair.slower) for pair in ranking.misordered}
    steps: list[dict[str, Any]] = []
    for number, (left, right) in enumerate(pairwise(rows)):
        against = {(left["machine"], right["machine"]), (right["machine"], left["machine"])} & misled
        steps += [
            {
                "suite": end["suite"],
                "value": end["value"],
                "machine": end["machine"],
                "step": number,
                "way": _AGAINST if against else _WITH,
            }
            for end in (left, right)
        ]
    sign = 1 if ranking.prediction.kind == "seconds" else -1
    middle = factor * ranking.find_middle_ratio(suite_means)
    ends = [rows[0]["suite"], rows[-1]["suite"]]
    line = [{"suite": end, "value": middle * end**sign} for end in ends]
    values = [row[key] for row in (*rows, *line) for key in ("value", "low", "high") if key in row]
    x_scale = alt.Scale(type="log", domain=[ends[0] / 1.04, ends[1] * 1.04], nice=False)
    y_scale = alt.Scale(type="log", domain=[min(values) / 1.08, max(values) * 1.08], nice=False)
    suite = "suite's geometric mean (times, relative)"
    x = alt.X("suite:Q", title=suite, scale=x_scale, axis=alt.Axis(format="~g", tickCount=6))
    y = alt.Y("value:Q", title=words.head, scale=y_scale, axis=alt.Axis(format="~g", tickCount=6))
    ways = [_WITH, _AGAINST]
    colors = [choose_mark(0).color, choose_mark(5).color]
    color = alt.Color(
        "way:N", title=None, scale=alt.Scale(domain=ways, range=colors), legend=alt.Legend(orient="top")
    )
    layers: list[Any] = [
        alt.Chart(alt.InlineData(values=line))
        .mark_line(color=INK, strokeWidth=1.2, opacity=0.7)
        .encode(x, y),
        alt.Chart(alt.InlineData(values=steps))
        .mark_line(strokeWidth=2.2)
        .encode(x, y, color, detail="step:N"),
    ]
    spans = [row for row in rows if "low" in row]
    if spans:
        layers.append(
            alt.Chart(alt.InlineData(values=spans))
            .mark_rule(strokeWidth=1.2, opacity=0.55, color=choose_mark(0).color)
            .encode(x, alt.Y("low:Q", title=words.head, scale=y_scale), alt.Y2("high:Q"))
        )
    shape = alt.Shape(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=["predicted", "measured"], range=["circle", "square"]),
        legend=alt.Legend(orient="top"),
    )
    points = alt.Chart(alt.InlineData(values=rows))
    named = _name_points(rows, {step["machine"] for step in steps if step["way"] == _AGAINST}, line)
    layers.append(
        points.mark_point(filled=True, size=55, opacity=1, color=INK).encode(
            x, y, shape=shape, tooltip=["machine:N", "kind:N", "value:Q", "suite:Q"]
        )
    )
    layers += [
        alt.Chart(alt.InlineData(values=[row for row in named if row["above"] == above]))
        .mark_text(
            dx=-7 if above else 7, dy=-9 if above else 10, align="right" if above else "left", fontSize=10
        )
        .encode(x, y, text="machine:N")
        for above in (True, False)
    ]
    chart = alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)
    text = (
        "Machines from left to right as the suite's mean orders them; the black line is what that mean alone "
        "says. Where the coloured line runs against it, people who buy by the mean get the worse machine. "
        "Bars are "
        f"{words.level}s."
    )
    title = f"{ranking.prediction.application} over the suite's mean"
    return Figure("ranking", title, text, chart.to_dict())


def _name_points(
    rows: list[dict[str, Any]], misled: set[str], line: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The points that are named; names stand above the mean's line or below it, as the points do."""
    ends = {rows[0]["machine"], rows[-1]["machine"]}
    low, high = line
    slope = math.log(high["value"] / low["value"]) / (math.log(high["suite"] / low["suite"]) or 1.0)
    named = []
    for row in rows:
        if len(rows) > _MOST_NAMED and row["machine"] not in misled | ends:
            continue
        by_mean = math.log(low["value"]) + slope * math.log(row["suite"] / low["suite"])
        named.append({**row, "above": math.log(row["value"]) >= by_mean})
    return named
