"""The picture of a change shows the observations that its means are of."""

from __future__ import annotations

import numpy as np
import pytest

from datamill.analysis.levels.level_changes import find_largest_changes
from datamill.analysis.levels.level_means import estimate_level_means
from datamill.analysis.levels.level_observations import split_observations
from datamill.analysis.model_data.cells import ModelFactor, gather_cells
from datamill.report.changes.figure import draw_change
from datamill.report.words.scales import choose_scale


def test_points_are_the_observations_that_the_means_are_of_where_a_design_point_has_no_data() -> None:
    rng = np.random.default_rng(1)
    points = [(flag, size) for flag in (0, 1) for size in (0, 1, 2) if (flag, size) != (1, 2)]
    codes = np.array([point for point in points for _ in range(5)])
    values = 10 + codes @ np.array([3.0, 5.0]) + rng.normal(0, 0.1, len(codes))
    cells = gather_cells(
        [ModelFactor("flag", ("x", "y")), ModelFactor("size", ("1", "2", "3"))], codes, values
    )
    (change,) = find_largest_changes(
        cells, factor=0, group_factor=None, direction="lower", confidence=0.95, alpha=0.01
    )
    means = estimate_level_means(cells, factor=0, group_factor=None)
    figure = draw_change(
        change,
        split_observations(cells, change),
        means,
        response="y",
        units="trials",
        scale=choose_scale("", 1.0),
        confidence=0.95,
    )
    drawn = figure.chart["hconcat"][0]["layer"][0]["data"]["values"]
    assert len(drawn) == change.n == 20
    assert "one of all 20 trials" in figure.caption
    for mean in means:
        own = [point["value"] for point in drawn if point["level"] == mean.level]
        assert np.mean(own) == pytest.approx(mean.value.estimate)
