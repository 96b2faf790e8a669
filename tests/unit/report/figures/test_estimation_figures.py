"""Figures of `tests` and `compare` show what was observed beside the differences, within a narrow page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import vl_convert

import datamill
from datamill.report.tests import figures

RNG = np.random.default_rng(4)


def list_marks(chart: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [layer for layer in chart["layer"] if layer["mark"]["type"] == kind]


def draw(groups: dict[str, np.ndarray], **options: Any) -> Any:
    table = {
        "alloc": [name for name, values in groups.items() for _ in values],
        "latency": [float(value) for values in groups.values() for value in values],
    }
    found = datamill.tests(table, response="latency", factors="alloc", **options)
    (figure,) = (drawing() for drawing in found.drawings())
    return figure


def test_tests_draws_every_observation_above_the_differences() -> None:
    groups = {"glibc": RNG.normal(5, 1, 20), "jemalloc": RNG.normal(4, 1, 30)}
    figure = draw(groups)
    above, below = figure.chart["vconcat"]
    points = list_marks(above, "point")[0]["data"]["values"]
    assert sorted(row["value"] for row in points) == pytest.approx(sorted(np.concatenate([*groups.values()])))
    medians = list_marks(above, "point")[1]["data"]["values"]
    assert [row["mean"] for row in medians] == pytest.approx([np.median(item) for item in groups.values()])
    assert below["layer"]
    assert "all 50 observations" in figure.caption
    assert "level 95%" in figure.caption


def test_of_many_observations_two_hundred_are_drawn_and_the_caption_says_so() -> None:
    figure = draw({"glibc": RNG.normal(5, 1, 400), "jemalloc": RNG.normal(4, 1, 500)})
    points = list_marks(figure.chart["vconcat"][0], "point")[0]["data"]["values"]
    assert len(points) == 200
    assert "200 of 900 observations, evenly by rank" in figure.caption


@pytest.mark.parametrize(("count", "drawn"), [(4, True), (5, False)])
def test_groups_that_cannot_be_read_one_below_the_other_are_not_drawn_one_by_one(
    count: int, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert figures.MOST_LEVELS == 30
    # Of more than thirty there are hundreds of pairs, each of which takes its time.
    monkeypatch.setattr(figures, "MOST_LEVELS", 4)
    figure = draw({f"level{at}": RNG.normal(5, 1, 4) for at in range(count)}, assume="normal")
    assert ("vconcat" in figure.chart) == drawn


def test_names_of_pairs_take_no_width_beside_the_differences() -> None:
    long = "an-allocator-with-a-name-that-goes-on-and-on"
    figure = draw({long: RNG.normal(5, 1, 20), f"{long}-2": RNG.normal(4, 1, 20)})
    svg = vl_convert.vegalite_to_svg(figure.chart)
    width = float(svg.split('width="')[1].split('"')[0])
    assert width <= 400


def test_compare_draws_the_builds_beside_the_changes_within_a_narrow_page() -> None:
    rows = [
        {"version": version, "build": build, "execution": run, "value": mean + RNG.normal()}
        for version, mean in (("a-version-with-a-name-that-goes-on-and-on", 100.0), ("b", 90.0))
        for build in range(6)
        for run in range(2)
    ]
    found = datamill.compare({name: [row[name] for row in rows] for name in rows[0]})
    figure = found.drawings()[0]()
    left, right = figure.chart["hconcat"]
    assert len(list_marks(left, "point")[0]["data"]["values"]) == 12
    assert [row["level"] for row in list_marks(right, "point")[0]["data"]["values"]] == ["b"]
    zero = [layer["data"]["values"] for layer in list_marks(right, "rule")]
    assert [{"zero": 0}] in zero
    assert "all 12 builds" in figure.caption
    svg = vl_convert.vegalite_to_svg(figure.chart)
    assert float(svg.split('width="')[1].split('"')[0]) <= 400
