"""How much too narrow intervals from a few trials of a design point may be is told by their number."""

import numpy as np
import polars as pl
import pytest

import datamill


@pytest.mark.parametrize(
    ("trials", "said"), [(2, "far too narrow"), (3, "far too narrow"), (5, "a little too")]
)
def test_the_warning_of_few_trials_says_how_bad_it_may_be(trials: int, said: str) -> None:
    rng = np.random.default_rng(1)
    trial = np.repeat(np.arange(3 * trials), 10)
    y = rng.normal(size=3 * trials)[trial] + rng.normal(size=trial.size)
    table = pl.DataFrame({"mode": np.array(list("pqr"))[trial % 3], "trial": trial, "y": y})
    warnings = datamill.quantiles(
        table, response="y", factors=["mode"], trial="trial", quantiles=[0.5], replicates=99
    ).warnings
    (told,) = [text for text in warnings if "hardly known" in text]
    assert said in told
    assert f"has {trials} trials" in told
