"""Figures of nested measurements: execution means by build, and the shares of the levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from datamill.analysis.random_effects.variance_estimate import LEVELS, PLURALS
from datamill.analysis.versions.variances import VersionVariances
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_level
from datamill.late import alt
from datamill.report.figures.charts import choose_mark
from datamill.report.figures.figure import INK, Figure
from datamill.report.words.scales import Scale

#: Dots and versions that one figure shows.
_MOST_DOTS, _MOST_VERSIONS = 3000, 6
_MOST_BARS = 30
#: Panels side by side: more would leave the page, whose text is as wide as three with their axes.
_MOST_COLUMNS = 3
_WIDTH = 760
_KINDS = ("of the mean (uncertainty)", "of a single measurement (variation)")


def draw_builds(versions: Sequence[VersionVariances], scale: Scale) -> Figure:
    """Draw the mean of every execution over its build, build means, and the mean with its interval."""
    shown = versions[:_MOST_VERSIONS]
    total = sum(item.nested.execution_count for item in shown)
    step = max(1, -(-total // _MOST_DOTS))
    panels = [_draw_version(item, scale, step, len(shown)) for item in shown]
    first = versions[0].estimate
    chart: Any = (
        alt.concat(*panels, columns=_MOST_COLUMNS, spacing=14).resolve_scale(y="shared")
        if len(panels) > 1
        else panels[0]
    )
    level = format_level(first.confidence)
    text = (
        "Each dot is the mean of one execution, each bar the mean of one build; the band is the "
        f"{level} interval of the mean of all. Where bars lie further apart than dots scatter about their "
        "bar, builds matter."
    )
    if step > 1:
        text += f" One dot in {step} is drawn."
    if len(shown) < len(versions):
        text += f" The first {len(shown)} of {len(versions)} versions are drawn."
    return Figure("builds", f"{first.response} by build", text, chart.to_dict())


def _draw_version(item: VersionVariances, scale: Scale, step: int, panels: int) -> Any:
    averaged = item.averaged
    numbers = np.repeat(np.arange(1, item.nested.build_count + 1), averaged.executions_of_builds)
    means = (averaged.origin + averaged.means) * scale.factor
    dots = [
        {"build": int(build), "mean": float(mean)}
        for build, mean in zip(numbers[::step], means[::step], strict=True)
    ]
    columns = min(panels, _MOST_COLUMNS)
    width = (_WIDTH - 14 * (columns - 1)) // columns
    bar = max(3.0, 0.7 * width / (item.nested.build_count + 1))
    builds = [
        {"build": index + 1, "mean": float((averaged.origin + mean) * scale.factor)}
        for index, mean in enumerate(averaged.build_means)
    ]
    mean = item.estimate.mean
    band = [
        {
            "low": mean.low * scale.factor,
            "high": mean.high * scale.factor,
            "mean": mean.estimate * scale.factor,
        }
    ]
    unit = f" ({scale.unit})" if scale.unit else ""
    title = f"{item.estimate.response}{unit}"
    x = alt.X(
        "build:Q",
        title="build",
        scale=alt.Scale(domain=[0.3, item.nested.build_count + 0.7], nice=False),
        axis=alt.Axis(tickMinStep=1, format="d", grid=False),
    )
    y = alt.Y("mean:Q", title=title, scale=alt.Scale(zero=False))
    colors = [choose_mark(index).color for index in range(3)]
    base = alt.Chart(alt.InlineData(values=band))
    return alt.layer(
        base.mark_rect(opacity=0.14, color=colors[2]).encode(
            alt.Y("low:Q", title=title, scale=alt.Scale(zero=False)), alt.Y2("high:Q")
        ),
        base.mark_rule(color=colors[2], strokeWidth=1.5).encode(y),
        alt.Chart(alt.InlineData(values=dots))
        .mark_point(filled=True, size=22, opacity=0.55, color=colors[0])
        .encode(x, y, tooltip=["build:Q", "mean:Q"]),
        alt.Chart(alt.InlineData(values=builds))
        .mark_tick(orient="horizontal", thickness=2.2, size=bar, color=colors[1])
        .encode(x, y, tooltip=["build:Q", "mean:Q"]),
    ).properties(width=width, height=260, title=item.nested.version if panels > 1 else "")


def draw_shares(versions: Sequence[VersionVariances]) -> Figure:
    """Draw the share of each level in the variance of the mean and of a single measurement, as stacked bars.

    Raises:
        InputError: no version has shares.
    """
    known = [item for item in versions if item.estimate.uncertainty]
    if not known:
        raise InputError("no version has shares of levels to draw", remedy="The text says why.")
    shown = known[:_MOST_BARS]
    rows = []
    for item in shown:
        for kind, shares in zip(_KINDS, (item.estimate.uncertainty, item.estimate.variation), strict=True):
            rows += [
                {
                    "version": item.nested.version,
                    "kind": kind,
                    "level": PLURALS[share.level],
                    "place": LEVELS.index(share.level),
                    "share": 100 * share.estimate,
                    "low": 100 * share.low,
                    "high": 100 * share.high,
                }
                for share in shares
            ]
    colors = [choose_mark(index).color for index in range(3)]
    names = [item.nested.version for item in shown]
    chart: Any = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(opacity=0.85, stroke=INK, strokeOpacity=0.25)
        .encode(
            alt.X(
                "share:Q",
                stack="zero",
                title="share of the variance (%)",
                scale=alt.Scale(domain=[0, 100]),
            ),
            alt.Y("version:N", sort=names, title=None),
            alt.Color(
                "level:N",
                sort=list(PLURALS.values()),
                scale=alt.Scale(domain=list(PLURALS.values()), range=colors),
                title="between",
                legend=alt.Legend(orient="bottom"),
            ),
            alt.Order("place:Q"),
            tooltip=["version:N", "level:N", "share:Q", "low:Q", "high:Q"],
        )
        .properties(width=330, height=alt.Step(26))
        .facet(column=alt.Column("kind:N", sort=list(_KINDS), title=None), spacing=20)
    )
    text = (
        "How much of the variance each level accounts for. On the left that of the mean, which says "
        "what to repeat more often; on the right that of a single measurement. Parts of a bar, from its left "
        "end: builds, executions, measurements. The table has intervals."
    )
    left_out = len(known) - len(shown)
    if left_out:
        text += f" {left_out} further versions are not drawn."
    return Figure(
        "variance-shares", f"Where the variance of {shown[0].estimate.response} is", text, chart.to_dict()
    )
