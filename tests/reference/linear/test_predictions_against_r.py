"""Predictions with both intervals against R's predict.lm."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from reference.r_answers import ask_r

import datamill

SCRIPT = r"""
d <- read.csv(file("stdin"), stringsAsFactors = TRUE)
at <- data.frame(package = factor(c("a", "b"), levels = levels(d$package)), size = 125)
say <- function(m, level) for (kind in c("confidence", "prediction")) {
  p <- predict(m, at, interval = kind, level = level)
  for (i in 1:2) cat(kind, sprintf("%.17g", p[i, ]), "\n")
}
say(lm(seconds ~ package * size, d), 0.95)
say(lm(seconds ~ package * log(size), d), 0.9)
say(lm(log(seconds) ~ package * log(size), d), 0.95)
m <- lm(seconds ~ package * size, d)
full <- lm(seconds ~ package * factor(size), d)
cat("lack", sprintf("%.17g", anova(m, full)$`Pr(>F)`[2]), "\n")
"""


def make_table() -> pl.DataFrame:
    """Unlike numbers of observations at each size, and seconds that bend a little."""
    rng = np.random.default_rng(21)
    rows = [
        (package, size, round(2 + slope * size + 0.0002 * size**2 + rng.normal(0, 0.8), 6))
        for package, slope in (("a", 0.06), ("b", 0.1))
        for size, count in ((20, 5), (60, 3), (150, 6), (200, 4))
        for _ in range(count)
    ]
    return pl.DataFrame(rows, schema=["package", "size", "seconds"], orient="row")


def test_predictions_and_lack_of_fit_are_those_of_r() -> None:
    table = make_table()
    answer = [line.split() for line in ask_r(SCRIPT, text=table.write_csv()).splitlines()]
    ours: list[list[float]] = []
    for scale, level in (
        ({"size": "linear"}, 0.95),
        ({"size": "log"}, 0.9),
        ({"size": "log", "seconds": "log"}, 0.95),
    ):
        found = datamill.predict(
            table, at={"size": "125"}, scale=scale, confidence=level, response="seconds",
            factors=["package", "size"],
        ).found  # fmt: skip
        intervals = [item.value for item in found.predictions] + [item.new for item in found.predictions]
        for interval in intervals:
            ends = [interval.estimate, interval.low, interval.high]
            ours.append(np.log(ends).tolist() if "seconds" in scale else ends)
        if scale == {"size": "linear"}:
            test = found.misfit.test
    assert len(answer) == 13
    for line, own in zip(answer[:12], ours, strict=True):
        assert own == pytest.approx([float(number) for number in line[1:]], rel=1e-9)
    assert test is not None
    assert test.p == pytest.approx(float(answer[12][1]), rel=1e-7)
