"""Figures that can be read without their colours, whole in their frame, and in words that fit them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest

import datamill
from datamill.report.figures.charts import choose_dash
from datamill.report.figures.figure import Figure, dress_chart, leave_room, render_svg

TABLE = pl.DataFrame(
    {
        "tool": ["xz", "bzip2"] * 36,
        "flag": [flag for flag in ("-O0", "-O2", "-O3") for _ in range(24)],
        "seconds": 3.0
        + np.tile([0.0, 1.0], 36)
        + 0.05 * np.random.default_rng(4).standard_normal(72)
        + np.repeat([0.3, 0.0, 0.0], 24),
    }
)
ASKED: dict[str, Any] = {"response": "seconds", "factors": ["tool", "flag"]}


def make_versions(count: int) -> pl.DataFrame:
    rng = np.random.default_rng(6)
    rows = [
        {"version": f"v{version}", "build": build, "execution": execution, "value": value}
        for version in range(count)
        for build in range(6)
        for execution, value in enumerate(
            10 + (version == 1) + 0.1 * rng.standard_normal() + 0.05 * rng.standard_normal(4)
        )
    ]
    return pl.DataFrame(rows)


def list_channels(part: Any, found: dict[str, set[str]] | None = None) -> dict[str, set[str]]:
    """Fields by the visual channel that shows them, over all layers of a chart."""
    found = {} if found is None else found
    if isinstance(part, list):
        for item in part:
            list_channels(item, found)
    elif isinstance(part, dict):
        for channel, encoding in part.get("encoding", {}).items():
            if isinstance(encoding, dict):
                if "field" in encoding:
                    found.setdefault(encoding["field"], set()).add(channel)
                for name in re.findall(r"datum\.(\w+)", str(encoding.get("condition", ""))):
                    found.setdefault(name, set()).add(channel)
        for key, item in part.items():
            if key not in ("encoding", "data", "datasets"):
                list_channels(item, found)
    return found


def draw(name: str) -> Figure:
    """A figure with groups, as the verbs draw it."""
    versions = make_versions(3)
    drawn = {
        "effects": lambda: datamill.anova(TABLE, **ASKED).shares_figure(),
        "change": lambda: datamill.anova(TABLE, **ASKED).figures()[0],
        "groups": lambda: datamill.tests(TABLE, **ASKED).figures()[0],
        "distribution": lambda: datamill.summary(TABLE, **ASKED).figures()[1],
        "changes": lambda: datamill.compare(versions).figures()[0],
        "plan": lambda: datamill.plan(
            versions.filter(version="v0"), half_width="1%", build_time="3s", execution_time="1s"
        ).figures()[0],
        "alarms": lambda: datamill.false_alarms(versions).figures()[0],
    }
    return drawn[name]()


@pytest.mark.parametrize("name", ["effects", "change", "groups", "distribution", "changes", "plan", "alarms"])
def test_what_a_colour_says_is_said_by_a_shape_or_stroke_as_well(name: str) -> None:
    shown = list_channels(draw(name).chart)
    colours = {"color", "stroke", "fill"}
    coloured = {field for field, channels in shown.items() if channels & colours}
    assert coloured
    for field in coloured:
        assert shown[field] & {"shape", "strokeDash", "fillOpacity", "x", "y"}, (field, shown[field])


@pytest.mark.parametrize("name", ["effects", "change", "groups", "changes"])
def test_no_caption_explains_by_a_colour_alone(name: str) -> None:
    assert not re.search(r"\b(blue|orange|green|grey|red)\b", draw(name).caption.lower())


def test_lines_of_groups_differ_in_their_strokes() -> None:
    assert len({tuple(choose_dash(index)) for index in range(5)}) == 5


def test_the_title_of_a_legend_is_not_cut_off() -> None:
    svg = render_svg(draw("effects"))
    assert "term detected (Holm p &lt; 0.01)" in svg
    assert "…" not in svg


def test_names_of_effects_lie_level_and_have_room_for_wider_letters() -> None:
    figure = draw("effects")
    svg = render_svg(figure)
    assert "tool × flag (xz, -O0)" in svg
    assert "rotate(-40" not in svg
    assert figure.chart["padding"]["left"] > leave_room([""])["left"]


def test_versions_side_by_side_are_no_wider_than_a_page() -> None:
    figure = datamill.variance(make_versions(6)).figures()[0]
    width = re.search(r'width="([0-9.]+)"', render_svg(figure))
    assert width is not None
    assert float(width[1]) <= 985


def test_coefficients_of_variation_stand_on_their_intervals() -> None:
    figure = datamill.variability(TABLE, **ASKED).figures()[0]
    assert "with its 95% interval" in figure.caption
    assert list_channels(figure.chart)["high"] == {"x2"}


def test_a_dashed_line_is_spoken_of_where_one_is_drawn() -> None:
    calm = datamill.anova(TABLE, **ASKED)
    wild = TABLE.with_columns(
        seconds=pl.when(pl.int_range(pl.len()) == 3).then(300.0).otherwise(pl.col("seconds"))
    ).head(26)
    alone = datamill.anova(wild, response="seconds", factors=["tool"])
    for result in (calm, alone):
        figure = result.diagnostics_figure()
        assert ("dashed line" in figure.caption) == ("strokeDash" in str(dress_chart(figure)))
    assert "dashed line" not in calm.diagnostics_figure().caption


def test_levels_of_intervals_are_rounded_in_a_caption_as_in_the_text() -> None:
    result = datamill.tests(TABLE, **ASKED)
    level = re.search(r"level 95% to ([\d.]+)%", result.figures()[0].caption)
    assert level is not None
    assert f"({level[1]}% interval" in result.text()


def test_a_page_shows_that_more_lies_beyond_an_edge_without_any_script() -> None:
    page = datamill.anova(TABLE, **ASKED).page()
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert re.search(r"\.scroll, pre \{[^}]*no-repeat local[^}]*no-repeat scroll", style)


def test_a_ratio_whose_interval_reaches_to_zero_has_its_bar_to_the_edge() -> None:
    rng = np.random.default_rng(1)
    seconds = np.concatenate([5 + 0.01 * rng.standard_normal(12), np.full(11, 5.0), [5.5]])
    table = pl.DataFrame({"f": ["a"] * 12 + ["b"] * 12, "seconds": seconds})
    result = datamill.tests(table, response="seconds", factors=["f"], compare="spread")
    estimates = [
        item for item in result.comparison.strata[0].pairs[0].test.estimates if item.measure == "ratio"
    ]
    figure = result.figures()[0]
    assert estimates[0].value.low == 0
    assert "Bars of 1 pair end at the edge" in figure.caption
    assert "NaN" not in render_svg(figure)
    ratios = figure.chart["vconcat"][1]["layer"]
    (domain,) = {
        tuple(part["encoding"]["x"]["scale"]["domain"]) for part in ratios if part["mark"]["type"] != "text"
    }
    (row,) = (
        row for rows in figure.chart["datasets"].values() for row in rows if row.get("label") == "b / a"
    )
    assert 0 < row["low"] == domain[0]
