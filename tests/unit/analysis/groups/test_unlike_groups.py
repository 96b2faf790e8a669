"""Groups that have little in common: one that does not vary, or values of quite another size."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import datamill

RNG = np.random.default_rng(1)
SMALL, LARGE = RNG.lognormal(0, 0.1, 20), RNG.lognormal(0, 0.1, 20)


def pair(first: np.ndarray, second: np.ndarray) -> pl.DataFrame:
    groups = ["a"] * first.size + ["b"] * second.size
    return pl.DataFrame({"g": groups, "y": np.concatenate([first, second])})


@pytest.mark.parametrize(("still", "word"), [("a", "larger"), ("b", "smaller")])
def test_a_group_that_does_not_vary_is_the_one_that_spreads_less(still: str, word: str) -> None:
    constant = np.full(20, 1.0)
    frame = pair(constant, SMALL) if still == "a" else pair(SMALL, constant)
    found = datamill.tests(frame, response="y", factors=["g"], compare="spread")
    test = found.comparison.strata[0].pairs[0].test
    assert f"The spread of y of b is {word} than that of a" in found.lead[0]
    assert "difference of mean absolute deviations" in found.lead[0]
    gap = test.estimates[0].value
    assert (gap.estimate > 0) == (word == "larger")
    assert test.p is not None
    assert (gap.low > 0 or gap.high < 0) == (test.p < 0.05)


@pytest.mark.parametrize("scale", [1e-8, 1e-5])
def test_values_far_smaller_than_most_keep_their_digits(scale: float) -> None:
    frame = pair(np.concatenate([LARGE, LARGE]) * 1e9, SMALL * scale)
    groups = datamill.summary(frame, response="y", factors=["g"]).summary.groups
    assert groups[1].sd == pytest.approx(np.std(SMALL * scale, ddof=1), rel=1e-12)
    assert groups[1].minimum == np.min(SMALL * scale)
    assert groups[1].median == pytest.approx(np.median(SMALL * scale), rel=1e-12)


def test_spreads_of_very_different_sizes_are_compared() -> None:
    frame = pair(LARGE * 1e9, SMALL * 1e-8)
    found = datamill.tests(frame, response="y", factors=["g"], compare="spread", assume="normal")
    ratio = found.comparison.strata[0].pairs[0].test.estimates[0].value.estimate
    assert ratio == pytest.approx(1e-17 * np.std(SMALL, ddof=1) / np.std(LARGE, ddof=1), rel=1e-9)
    assert "ratio of standard deviations 0.00 " not in found.text()
    ranks = datamill.tests(frame, response="y", factors=["g"])
    assert not any("ties" in warning for warning in ranks.warnings)
