"""Sums of squares of types I and II in words: no effect is told that the estimates do not show."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import datamill
from datamill.analysis.linear.linear_model import SquaresType
from datamill.verbs.anova import Anova


def fit_overlapping(squares: SquaresType) -> Anova:
    """The response follows b, which nearly always goes with a."""
    rng = np.random.default_rng(3)
    a = rng.integers(0, 2, 60)
    b = np.where(rng.random(60) < 0.92, a, 1 - a)
    frame = pl.DataFrame(
        {
            "a": np.array(["hi", "lo"])[1 - a],
            "b": np.array(["p", "q"])[b],
            "y": 10 + 2.0 * b + rng.normal(0, 1, 60),
        }
    )
    return datamill.anova(frame, response="y", factors=["a", "b"], order=1, squares=squares)


def test_a_term_detected_only_by_what_it_shares_is_not_said_to_change_the_mean() -> None:
    found = fit_overlapping("I")
    row = found.model.terms[0]
    own = next(item.value for item in found.model.coefficients if item.term == "a")
    assert row.p_holm is not None
    assert row.p_holm < found.model.alpha
    assert own.low < 0 < own.high
    said = next(sentence for sentence in found.lead if sentence.startswith("a "))
    assert "type I" in said
    assert "after all other terms no effect on the mean y was detected" in said
    assert not any("a changes the mean" in sentence for sentence in found.lead)


@pytest.mark.parametrize("squares", ["I", "II", "III"])
def test_a_term_that_the_estimates_show_as_well_is_said_to_change_the_mean(squares: SquaresType) -> None:
    assert any("From p to q, b changes the mean y by +2.3" in item for item in fit_overlapping(squares).lead)
