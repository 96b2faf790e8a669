"""A column with a level for each row is no factor, and every verb says so at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from faces.python_verbs import FACTOR_VERBS

import datamill
from datamill.analysis.model_data.question import ModelQuestion, select_model_data
from datamill.experiment.errors import InputError


def make_table(rows: int, levels: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [f"run {row % levels}" for row in range(rows)],
            "kind": [("old", "new")[row % 2] for row in range(rows)],
            "y": [1.0 + row * 37 % 101 for row in range(rows)],
        }
    )


@pytest.mark.parametrize("verb", FACTOR_VERBS)
@pytest.mark.parametrize(("rows", "levels"), [(1200, 1200), (1999, 1001)])
def test_a_factor_with_about_a_level_for_each_row_is_refused(
    verb: Callable[..., Any], rows: int, levels: int
) -> None:
    message = f"id has {levels} levels in {rows} observations: it tells observations apart"
    with pytest.raises(InputError, match=message):
        verb(make_table(rows, levels), response="y", factors=["kind", "id"])


@pytest.mark.parametrize(("rows", "levels"), [(1000, 1000), (2002, 1001)])
def test_few_levels_and_replicated_ones_are_described(rows: int, levels: int) -> None:
    text = str(datamill.summary(make_table(rows, levels), response="y", factors=["id"]))
    assert f"over {levels} groups" in text


def test_a_factor_of_an_experiment_may_have_a_level_for_each_trial() -> None:
    tidy = make_table(1200, 1200).select(
        "id", value="y", trial_id="id", response=pl.lit("t"), valid=pl.lit(value=True)
    )
    known = {"id": [f"run {row}" for row in range(1200)]}
    found = select_model_data(tidy, ModelQuestion(factors=("id",)), levels=known)
    assert found.observations.cells.n == 1200
    with pytest.raises(InputError, match="id has 1200 levels in 1200 observations"):
        select_model_data(tidy, ModelQuestion(factors=("id",)))


def test_pairs_are_blocks_of_few_observations() -> None:
    pairs = make_table(2400, 2400).with_columns(
        id=pl.int_range(2400) // 2, y=pl.col("y") + (pl.col("kind") == "new")
    )
    # Some pairs have lost one of their rows.
    found = datamill.tests(pairs.head(2395), response="y", factors=["kind"], blocks=["id"])
    assert "new" in str(found)


def test_a_million_levels_are_refused_before_each_is_described() -> None:
    table = pl.DataFrame({"id": pl.int_range(1_000_000, eager=True).cast(pl.String), "y": 1.0})
    with pytest.raises(InputError, match="1000000 levels in 1000000 observations"):
        datamill.summary(table, response="y", factors=["id"])


@pytest.mark.parametrize("verb", [datamill.anova, datamill.quantiles])
def test_a_model_asks_whether_very_many_levels_are_a_factor(verb: Callable[..., Any]) -> None:
    with pytest.raises(
        InputError, match="id has 2000 levels with 2 observations at each: does it tell"
    ) as asked:
        verb(make_table(4000, 2000), response="y", factors=["id"])
    assert all(way in asked.value.remedy for way in ("blocks=", "covariates=", "C(id)"))


def test_a_formula_says_that_very_many_levels_are_a_factor() -> None:
    found = datamill.anova(make_table(700, 230), formula="y ~ C(id)", quantiles=False)
    assert found.model.n == 700
    with pytest.raises(InputError, match="id has 230 levels"):
        datamill.anova(make_table(700, 230), formula="y ~ id", quantiles=False)
