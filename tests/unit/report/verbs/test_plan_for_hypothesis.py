"""A plan for a hypothesis: as much repetition as shows it, if the pilot's means are the true ones."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from scipy.stats import nct, t

import datamill
from datamill.experiment.errors import InputError


def make_pilot(ratio: float) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    rows = [
        (version, build, 1, 1, mean * (1 + 0.05 * rng.standard_normal()))
        for version, mean in (("old", 10.0), ("new", 10.0 * ratio))
        for build in range(1, 41)
    ]
    return pl.DataFrame(rows, ["version", "build", "execution", "measurement", "value"], orient="row")


def plan(claim: str, ratio: float, **asked):  # type: ignore[no-untyped-def]
    return datamill.plan(
        make_pilot(ratio), hypothesis=claim, build_time=1.0, execution_time=1.0, executions=1, measurements=1,
        only="old", **asked,
    )  # fmt: skip


def test_the_plan_has_the_power_that_a_one_sided_test_of_the_margin_has() -> None:
    pilot = make_pilot(0.85)
    planned = plan("new at least 10% lower than old", 0.85)
    found = planned.numbers()
    builds = found["plan"]["builds"]
    old = pilot.filter(pl.col("version") == "old")["value"].to_numpy()
    new = pilot.filter(pl.col("version") == "new")["value"].to_numpy()
    margin = 0.9 * old.mean() - new.mean()

    def power(n: int) -> float:
        df = 2 * n - 2
        noncentral = margin / (old.std(ddof=1) * np.sqrt((1 + 0.81) / n))
        return float(nct.sf(t.ppf(0.95, df), df, noncentral))

    assert power(builds) >= 0.9 > power(builds - 1)


def test_the_plan_says_what_it_is_for_and_what_it_takes_for_true() -> None:
    said = str(plan("new not worse than old by more than 5%", 0.97))
    assert re.search(
        r"To show that new not worse than old by more than 5% in \w+, one-sided at alpha 0.05", said
    )
    assert "if it is less in truth, more is needed" in " ".join(said.split())


def test_equivalence_takes_more_than_one_side_of_it() -> None:
    sides = [
        plan(claim, 1.0).numbers()["plan"]["builds"]
        for claim in ("new equivalent to old within 5%", "new not worse than old by more than 5%")
    ]
    assert sides[0] > sides[1]


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        ("new at least 10% lower than old", "no number of repetitions shows it"),
        ("new lower than older", "not a package"),
        ("new is better", "is not a hypothesis"),
    ],
)
def test_what_no_repetition_shows_is_refused(claim: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        plan(claim, 0.95)


def test_a_hypothesis_is_one_goal_of_several_and_needs_a_pilot() -> None:
    with pytest.raises(InputError, match="are different goals"):
        plan("new lower than old", 0.9, detect="5%")
    with pytest.raises(InputError, match="needs the means of both versions"):
        datamill.plan(hypothesis="new lower than old", variances="1,1,1", mean=10.0)
