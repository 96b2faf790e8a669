"""Figure of groups compared: every pair's estimate on its interval."""

from __future__ import annotations

import math
from typing import Any

import altair as alt

from datamill.analysis.groups.records import GroupComparison, GroupEstimate, PairTest
from datamill.experiment.errors import InputError
from datamill.experiment.phrases import count_nouns
from datamill.report.figures.figure import Figure, leave_room
from datamill.report.numbers import name_confidence
from datamill.report.verbs.tests_text import choose_response_scale, list_pairs

#: More pairs than this cannot be read one below the other.
_MOST_PAIRS = 60


def draw_comparison(response: str, unit: str, comparison: GroupComparison) -> Figure:
    """Draw each pair's difference (of spread: ratio) with its interval, against no difference.

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
        raise InputError("no pair has an estimate to draw", remedy="The text says why; leave out --figure.")
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
            "detected": "yes" if _is_detected(pair, comparison) else "no",
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
    y = alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labelLimit=360))
    color_scale = alt.Scale(domain=["yes", "no"], range=["#2f7ec1", "#8c8c8c"])
    color = alt.Stroke("detected:N", title="told apart", scale=color_scale)
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
            fill=alt.Fill("detected:N", title="told apart", scale=color_scale),
            fillOpacity=filled,
            tooltip=["label:N", "estimate:Q", "low:Q", "high:Q", "n:N"],
        ),
    ]
    chart = alt.layer(*layers).properties(width=460, height=alt.Step(26), padding=leave_room(order))
    return Figure(
        name="groups-compared",
        title=f"{response} by {comparison.factor}",
        caption=_caption(shown, comparison),
        chart=chart.to_dict(),
    )


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


def _is_detected(pair: PairTest, comparison: GroupComparison) -> bool:
    return pair.adjusted_p is not None and pair.adjusted_p < comparison.alpha


def _name_places(comparison: GroupComparison) -> list[tuple[PairTest, str]]:
    places = [] if comparison.combined is None else [(comparison.combined, "over all strata")]
    for stratum in comparison.strata:
        where = ", ".join(f"{factor} = {level}" for factor, level in stratum.levels)
        places += [(pair, where) for pair in stratum.pairs]
    return places


def _caption(shown: list[tuple[PairTest, GroupEstimate]], comparison: GroupComparison) -> str:
    levels = sorted({estimate.confidence for _, estimate in shown})
    at = " to ".join(name_confidence(round(level, 4)) for level in dict.fromkeys((levels[0], levels[-1])))
    text = (
        f"Points are estimates, bars their intervals (level {at}); a bar that crosses the dashed line is "
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
