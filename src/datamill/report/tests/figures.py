"""Figure of groups compared: their observations, and every pair's estimate on an axis of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from datamill.analysis.groups.group_comparison import GroupComparison, GroupEstimate, PairTest, Stratum
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_level
from datamill.experiment.messages.phrases import count_nouns
from datamill.late import alt
from datamill.report.figures.estimation_panels import (
    BETWEEN,
    LEFT,
    MOST_LEVELS,
    RIGHT,
    PlottedLevel,
    chart_observations,
    phrase_points,
    share_points,
    thin_points,
)
from datamill.report.figures.figure import INK, Figure
from datamill.report.tests.statement import choose_response_scale, list_pairs

#: More pairs than this cannot be read one below the other.
_MOST_PAIRS = 60
#: Pixels of each panel: what a narrow page has.
_WIDTH = LEFT + BETWEEN + RIGHT
#: Below, where it takes no width.
_BELOW: Literal["bottom"] = "bottom"
#: What the two panels do not share.
_APART = {"scale": {"x": "independent", "y": "independent", "color": "independent", "shape": "independent"}}


def draw_comparison(
    response: str, unit: str, comparison: GroupComparison, strata: Sequence[Stratum] = ()
) -> Figure:
    """Draw the groups' observations, and each pair's difference (of spread: ratio) against no difference.

    `strata` have the groups; of more than can be read one below the other only the pairs are drawn.

    Raises:
        InputError: no pair has an estimate.
    """
    scale = choose_response_scale(unit, comparison)
    measure = "response" if comparison.question == "location" else "ratio"
    shown = []
    for pair in list_pairs(comparison):
        estimate = next((item for item in pair.test.estimates if item.measure == measure), None)
        if estimate is not None:
            shown.append((pair, estimate))
    if not shown:
        raise InputError(
            "no pair has an estimate to draw", remedy=f"The text says why; leave out {argument('figure')}."
        )
    factor = scale.factor if measure == "response" else 1.0
    edges = _find_edges([estimate for _, estimate in shown[:_MOST_PAIRS]], measure)
    places = {id(pair): where for pair, where in _name_places(comparison)}
    rows: list[dict[str, Any]] = [
        {
            "pair": f"{pair.second} − {pair.first}"
            if measure == "response"
            else f"{pair.second} / {pair.first}",
            "where": places[id(pair)],
            "estimate": estimate.value.estimate * factor,
            "low": max(estimate.value.low, edges[0]) * factor,
            "high": min(estimate.value.high, edges[1]) * factor,
            "n": f"{pair.n_first} and {pair.n_second}",
            "detected": "yes" if comparison.detects(pair) else "no",
        }
        for pair, estimate in shown[:_MOST_PAIRS]
    ]
    for row in rows:
        row["label"] = f"{row['where']}: {row['pair']}" if row["where"] else row["pair"]
    order = [str(row["label"]) for row in rows]
    name = shown[0][1].name
    title = f"{name}, {response}{f' ({scale.unit})' if measure == 'response' and scale.unit else ''}"
    x_scale = (
        alt.Scale(type="log", domain=list(edges), nice=False)
        if measure == "ratio"
        else alt.Scale(zero=True, nice=False, padding=12)
    )
    base = alt.Chart(alt.InlineData(values=rows))
    groups = _list_groups(strata, scale.factor)
    # Names stand in the rows: beside them they would take the width of a narrow page.
    y = alt.Y("label:N", sort=order, title=None, axis=None)
    color_scale = alt.Scale(domain=["yes", "no"], range=["#2f7ec1", "#8c8c8c"])
    legend_below = alt.Legend(orient=_BELOW)
    color = alt.Stroke("detected:N", title="told apart", scale=color_scale, legend=legend_below)
    # Told apart without colours as well: what is not told apart is hollow.
    filled = alt.condition("datum.detected == 'yes'", alt.value(1), alt.value(0))
    neutral = 0 if measure == "response" else 1
    layers = [
        alt.Chart(alt.InlineData(values=[{"neutral": neutral}]))
        .mark_rule(strokeDash=[4, 3], color="#777")
        .encode(alt.X("neutral:Q", title=title, scale=x_scale)),
        base.mark_rule(strokeWidth=2).encode(
            alt.X("low:Q", title=title, scale=x_scale), alt.X2("high:Q"), y, color
        ),
        base.mark_point(size=60, opacity=1, strokeWidth=2).encode(
            alt.X("estimate:Q", scale=x_scale),
            y,
            color,
            fill=alt.Fill("detected:N", title="told apart", scale=color_scale, legend=legend_below),
            fillOpacity=filled,
            tooltip=["label:N", "estimate:Q", "low:Q", "high:Q", "n:N"],
        ),
        base.mark_text(align="left", baseline="bottom", dy=-8, limit=_WIDTH, fontSize=13, color=INK).encode(
            x=alt.value(0), y=y, text="label:N"
        ),
    ]
    pairs = alt.layer(*layers).properties(width=_WIDTH, height=alt.Step(48)).to_dict()
    caption = _caption(shown, comparison)
    if groups:
        level = f"{response}{f' ({scale.unit})' if scale.unit else ''}"
        above = chart_observations(groups, level, scale.unit, estimate="median", width=_WIDTH)
        points = phrase_points(sum(len(row.points) for row in groups), comparison.n, "observations")
        caption = f"above a point is one of {points}, a diamond the median of a group. Below, {caption}"
        # What stands at the top of a chart only: its data as well.
        top = {name: pairs.pop(name) for name in ("$schema", "config", "datasets") if name in pairs}
        pairs = top | {"vconcat": [above, pairs], "spacing": 24, "resolve": _APART}
    title = f"{response} by {comparison.factor}"
    return Figure(name="groups-compared", title=title, caption=caption, chart=pairs)


def _list_groups(strata: Sequence[Stratum], factor: float) -> list[PlottedLevel]:
    """A row for each group in each stratum; none where these are too many."""
    listed = [(stratum, group) for stratum in strata for group in stratum.groups]
    if len(listed) > MOST_LEVELS:
        return []
    most, n = share_points(len(listed)), sum(group.n for _, group in listed)
    rows = []
    for stratum, group in listed:
        where = ", ".join(f"{name} = {level}" for name, level in stratum.levels)
        values = (np.sort(group.values) + group.origin) * factor
        rows.append(
            PlottedLevel(
                level=f"{where}: {group.label}" if where else group.label,
                n=group.n,
                points=tuple(thin_points(values, most, n)),
                estimate=group.median * factor,
                change=None,
            )
        )
    return rows


def _find_edges(estimates: list[GroupEstimate], measure: str) -> tuple[float, float]:
    """Where bars end whose intervals have no bound: ratios may reach down to 0 and up without end."""
    if measure != "ratio":
        return -math.inf, math.inf
    ends = [
        end
        for item in estimates
        for end in (1.0, item.value.low, item.value.estimate, item.value.high)
        if 0 < end < math.inf
    ]
    return min(ends) / 2, max(ends) * 2


def _name_places(comparison: GroupComparison) -> list[tuple[PairTest, str]]:
    places = [] if comparison.combined is None else [(comparison.combined, "over all strata")]
    for stratum in comparison.strata:
        where = ", ".join(f"{factor} = {level}" for factor, level in stratum.levels)
        places += [(pair, where) for pair in stratum.pairs]
    return places


def _caption(shown: list[tuple[PairTest, GroupEstimate]], comparison: GroupComparison) -> str:
    levels = sorted({estimate.confidence for _, estimate in shown})
    at = " to ".join(format_level(round(level, 4)) for level in dict.fromkeys((levels[0], levels[-1])))
    text = (
        f"points are estimates, bars their intervals (level {at}); a bar that crosses the dashed line is "
        "compatible with no difference. Groups of filled points are told apart, of hollow ones not. "
        f"n = {comparison.n}; {comparison.method}."
    )
    unbounded = sum(
        estimate.measure == "ratio" and (estimate.value.low == 0 or math.isinf(estimate.value.high))
        for _, estimate in shown
    )
    if unbounded:
        text += f" Bars of {count_nouns(unbounded, 'pair')} end at the edge, although their intervals go on."
    if len(shown) > _MOST_PAIRS:
        text += f" {len(shown) - _MOST_PAIRS} further pairs are not drawn."
    return text
