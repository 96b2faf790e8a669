"""Both intervals of predictions hold what they are to hold as often as stated, between levels and beyond."""

from __future__ import annotations

import numpy as np
import polars as pl

import datamill

SLOPES = {"a": 0.05, "b": 0.12}


def make_table(rng: np.random.Generator) -> pl.DataFrame:
    """A response that is a line in the logarithm of the size."""
    rows = [
        (package, size, 3 + slope * np.log(size) + rng.normal(0, 0.02))
        for package, slope in SLOPES.items()
        for size in (10, 100, 1000)
        for _ in range(4)
    ]
    return pl.DataFrame(rows, schema=["package", "size", "seconds"], orient="row")


def test_intervals_between_and_beyond_levels_hold_as_often_as_stated() -> None:
    studies = 120
    held = {"mean": 0, "new": 0, "beyond": 0}
    for seed in range(studies):
        rng = np.random.default_rng(seed)
        found = datamill.predict(
            make_table(rng), at={"size": [300, 3000], "package": "b"}, response="seconds",
            factors=["package", "size"], extrapolate=True, scale={"size": "log"},
        ).found  # fmt: skip
        between, beyond = found.predictions
        truth = 3 + SLOPES["b"] * np.log([300.0, 3000.0])
        held["mean"] += between.value.low <= truth[0] <= between.value.high
        held["new"] += between.new.low <= truth[0] + rng.normal(0, 0.02) <= between.new.high
        held["beyond"] += beyond.value.low <= truth[1] <= beyond.value.high
    # Binomial: 95% of 120 is 114, three standard deviations 7.2.
    assert all(106 <= count <= 120 for count in held.values()), held
    assert min(held.values()) < 120


def test_the_choice_of_scale_by_the_data_costs_no_coverage() -> None:
    held = right = 0
    for seed in range(100):
        table = make_table(np.random.default_rng(1000 + seed))
        found = datamill.predict(
            table, at={"size": 300, "package": "b"}, response="seconds", factors=["package", "size"]
        ).found
        (item,) = found.predictions
        right += found.slopes[0].scale == "log"
        held += item.value.low <= 3 + SLOPES["b"] * np.log(300.0) <= item.value.high
    assert right == 100
    assert held >= 88
