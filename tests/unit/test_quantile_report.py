"""What is written and drawn of a quantile model."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from datamill.analysis.model_data.observations import Observations
from datamill.analysis.model_data.question import Question, select_model_data
from datamill.analysis.quantile.model import fit_quantiles
from datamill.analysis.quantile.records import QuantileModel
from datamill.cli.analyze.quantiles import parse_quantiles
from datamill.report.figures.quantile_figures import MOST_PANELS, draw_effects_by_quantile
from datamill.report.verbs.quantile_answer import state_quantiles
from datamill.report.verbs.quantile_json import format_quantiles_json
from datamill.report.verbs.quantile_text import format_quantiles


def fit(
    factors: int = 2, quantiles: tuple[float, ...] = (0.5, 0.9), effect: float = 3.0, **options: Any
) -> tuple[Observations, QuantileModel]:
    rng = np.random.default_rng(factors)
    n = 60 * 2**factors
    codes = (np.arange(n)[:, None] >> np.arange(factors)) & 1
    table = pl.DataFrame({f"f{i}": np.array(["lo", "up"])[codes[:, i]] for i in range(factors)})
    y = 1e-3 * (10 + rng.exponential(1, n) * (1 + effect * codes[:, 0]))
    table = table.with_columns(
        pl.Series("value", y),
        pl.Series("trial_id", [f"t{i}" for i in range(n)]),
        response=pl.lit("latency"),
        unit=pl.lit("s"),
        valid=pl.lit(value=True),
    )
    data = select_model_data(table, Question(order=factors))
    return data.observations, fit_quantiles(data, quantiles, replicates=399, **options)


def test_units_are_scaled_and_named() -> None:
    observations, model = fit()
    text = format_quantiles(observations, model)
    assert "Effects on the 0.9 quantile (ms)" in text
    assert "From lo to up, f0 changes the 0.9 quantile of latency by +" in text
    assert " ms (95% interval" in text.replace("\n  ", " ")


def test_the_change_is_twice_the_effect_and_told_against_the_median() -> None:
    observations, model = fit()
    effect = next(row.value.estimate for row in model.fits[1].coefficients if row.name == "f0")
    sentence = state_quantiles(model, "latency", observations.unit)[0]
    told = float(sentence.split(" by +")[1].split(" ms")[0])
    assert told == pytest.approx(2e3 * effect, rel=0.02)
    assert "times as much as at the 0.5 quantile" in sentence


def test_without_an_effect_nothing_is_claimed() -> None:
    observations, model = fit(effect=0.0)
    sentences = state_quantiles(model, "latency", observations.unit)
    assert sentences == ("No effect on latency was detected at any of the quantiles asked for.",)


def test_json_is_the_model_digit_for_digit() -> None:
    observations, model = fit()
    content = json.loads(format_quantiles_json(observations, model))
    for fit_, written in zip(model.fits, content["quantiles"], strict=True):
        assert [row["estimate"] for row in written["coefficients"]] == [
            row.value.estimate for row in fit_.coefficients
        ]
        assert written["objective"] == fit_.objective


def test_every_effect_has_a_panel_and_of_many_the_weakest_are_left_out_and_counted() -> None:
    for factors in (2, 4):
        observations, model = fit(factors)
        figure = draw_effects_by_quantile(observations, model)
        panels = figure.chart["facet"]["sort"]
        assert len(panels) == min(2**factors, MOST_PANELS)
        assert {"intercept", *(f"f{i}" for i in range(factors))} <= set(panels)
        left_out = 2**factors - len(panels)
        assert (f"The {left_out} weakest effects are left out" in figure.caption) == (left_out > 0)
        drawn = {(point["effect"], point["quantile"]) for point in figure.chart["data"]["values"]}
        assert drawn == {(panel, quantile) for panel in panels for quantile in (0.5, 0.9)}


def test_a_quantile_says_how_many_observations_it_needs() -> None:
    _, model = fit(quantiles=(0.5, 0.99))
    assert [own.extreme for own in model.fits] == [False, True]
    assert any("needs about 368 in each cell, and there are 60" in warning for warning in model.warnings)


def test_ties_and_crossing_quantiles_are_told() -> None:
    table = pl.DataFrame({"f": ["a", "b"] * 200, "y": np.floor(np.arange(400) % 7 / 2)})
    model = fit_quantiles(select_model_data(table, Question("y", ("f",))), [0.5], replicates=99)
    assert any("only 4 distinct values in 400 observations" in warning for warning in model.warnings)
    rng = np.random.default_rng(8)
    x = rng.uniform(0, 1, 30)
    table = pl.DataFrame({"x": x, "y": rng.standard_normal(30) * (1.1 - x)})
    data = select_model_data(table, Question("y", covariates=("x",), factors=(), formula=""))
    model = fit_quantiles(data, list(np.arange(0.05, 1, 0.05)), errors="iid")
    assert model.crossings > 0
    assert any("a higher quantile is fitted below a lower one" in warning for warning in model.warnings)


def test_quantiles_are_read_one_by_one_and_as_ranges() -> None:
    assert parse_quantiles("0.1:0.9:0.1,0.99") == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99]
    assert parse_quantiles(" 0.5 , 0.25") == [0.5, 0.25]
