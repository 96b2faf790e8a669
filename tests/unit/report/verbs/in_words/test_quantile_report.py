"""What is written and drawn of a quantile model."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import datamill
from datamill.analysis.model_data.observations import Observations
from datamill.analysis.model_data.question import ModelQuestion, select_model_data
from datamill.analysis.quantile.model import fit_quantiles
from datamill.analysis.quantile.quantile_model import QuantileModel
from datamill.cli.analyze.quantiles import parse_quantiles
from datamill.report.quantiles.answer import state_quantiles
from datamill.report.quantiles.figures import MOST_PANELS, draw_effects_by_quantile
from datamill.report.quantiles.json import spell_quantiles
from datamill.report.quantiles.statement import state_quantile_model
from datamill.report.tables.envelope import write_json
from datamill.report.tables.text import render_text


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
    data = select_model_data(table, ModelQuestion(order=factors))
    return data.observations, fit_quantiles(data, quantiles, replicates=399, **options)


def test_units_are_scaled_and_named() -> None:
    observations, model = fit()
    text = render_text(state_quantile_model(observations, model))
    assert "Effects on the 0.9 quantile (ms)" in text
    assert "From lo to up, f0 changes the 0.9 quantile of latency by +" in text
    assert " ms (95% interval" in text.replace("\n  ", " ")


def test_the_change_is_twice_the_effect_and_told_against_the_median() -> None:
    observations, model = fit()
    effect = next(row.value.estimate for row in model.fits[1].coefficients if row.name == "f0")
    sentence = state_quantiles(model, "latency", observations.unit)[0]
    told = float(sentence.split(" by +")[1].split(" ms")[0])
    assert told == pytest.approx(2e3 * effect, rel=0.02)
    assert "times as much as at the median" in sentence


def test_without_an_effect_nothing_is_claimed() -> None:
    observations, model = fit(effect=0.0)
    sentences = state_quantiles(model, "latency", observations.unit)
    assert sentences == ("No effect on latency was detected at any of the quantiles asked for.",)


def test_what_the_observations_are_too_few_for_is_no_headline() -> None:
    """Of 200 tables of equal levels the 0.99 quantile differed in 9% by exact counts with an assumed tail."""
    rng = np.random.default_rng(11)
    claims, too_few = 0, 0
    for seed in range(200):
        table = pl.DataFrame({"f": ["a", "b"] * 20, "y": rng.lognormal(size=40)})
        data = select_model_data(table, ModelQuestion("y", ("f",)))
        model = fit_quantiles(data, [0.5, 0.8, 0.99], replicates=199, seed=seed)
        claims += not state_quantiles(model, "y", "")[0].startswith(
            "No effect on y was detected at any quantile from 0.5 to 0.8, which these data suffice for"
        )
        found = model.fits[-1].terms[0].p_adjusted
        too_few += found is not None and found < 0.05
    assert claims <= 200 * 0.09
    assert too_few > 200 * 0.06, "the reason why it matters"


def test_where_no_quantile_has_enough_observations_nothing_is_claimed_but_what_was_measured() -> None:
    table = pl.DataFrame({"f": ["a", "b"] * 30, "y": np.arange(60.0)})
    table = table.with_columns(pl.when(pl.col("f") == "b").then(pl.col("y") + 1000).otherwise("y").alias("y"))
    model = fit_quantiles(select_model_data(table, ModelQuestion("y", ("f",))), [0.99], replicates=99)
    assert any("intervals at 95% hold in 92% by counts" in warning for warning in model.warnings)
    (sentence,) = state_quantiles(model, "y", "")
    assert sentence.startswith("These data do not tell whether f changes the 0.99 quantile of y: that takes")
    assert "about 368 observations for each combination of levels, and there are 30 (change as" in sentence


def test_json_is_the_model_digit_for_digit() -> None:
    observations, model = fit()
    content = json.loads(write_json(spell_quantiles(observations, model)))
    for fit_, written in zip(model.fits, content["quantiles"], strict=True):
        assert [row["estimate"] for row in written["coefficients"]] == [
            row.value.estimate for row in fit_.coefficients
        ]
        assert written["objective"] == fit_.objective


def test_every_effect_has_a_panel_and_of_many_the_weakest_are_left_out_and_counted() -> None:
    for factors in (2, 4):
        observations, model = fit(factors)
        figure = draw_effects_by_quantile(observations, model)
        panels = [panel["transform"][0]["filter"]["equal"] for panel in figure.chart["concat"]]
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
    model = fit_quantiles(select_model_data(table, ModelQuestion("y", ("f",))), [0.5], replicates=99)
    assert any("only 4 distinct values in 400 observations" in warning for warning in model.warnings)
    rng = np.random.default_rng(8)
    x = rng.uniform(0, 1, 30)
    table = pl.DataFrame({"x": x, "y": rng.standard_normal(30) * (1.1 - x)})
    data = select_model_data(table, ModelQuestion("y", covariates=("x",), factors=(), formula=""))
    model = fit_quantiles(data, list(np.arange(0.05, 1, 0.05)), errors="iid")
    assert model.crossings > 0
    assert any("a higher quantile is fitted below a lower one" in warning for warning in model.warnings)


def test_no_estimate_of_the_overview_is_without_its_interval() -> None:
    for effect, factors in ((0.0, 2), (3.0, 4)):
        observations, model = fit(factors, tuple(round(0.1 * i, 1) for i in range(1, 10)), effect)
        lines = render_text(state_quantile_model(observations, model)).splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("Effect at quantile"))
        end = next(i for i, line in enumerate(lines) if line.startswith("Effects on the"))
        blocks = "\n".join(lines[start:end]).split("\n\n")
        for block in filter(None, blocks):
            header, _, *rows = [line for line in block.splitlines() if not line.startswith("(6 weaker")]
            width = len(header.split()) - 3
            assert len(rows) == 3 * min(2**factors, 10)
            for estimate, low, high in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
                assert len(estimate.replace(" × ", ":").split()) == 1 + width
                assert low.split()[:2] == ["low", "95%"]
                assert high.split()[:2] == ["high", "95%"]
                assert len(low.split()) == len(high.split()) == 2 + width
        assert max(map(len, lines)) <= 100
        left_out = "(6 weaker effects are left out here; .json() has all, with their intervals)"
        assert (left_out in lines) == (factors == 4)


def test_values_told_apart_far_finer_than_the_intervals_are_no_ties_that_matter() -> None:
    rng = np.random.default_rng(3)
    n = 40_000
    for step, told in ((1.0, False), (5000.0, True)):
        latency = np.floor(rng.exponential(1500, n) / step) * step
        table = pl.DataFrame({"f": ["a", "b"] * (n // 2), "latency_ns": latency})
        assert table["latency_ns"].n_unique() < 0.2 * n
        data = select_model_data(table, ModelQuestion("latency_ns", ("f",)))
        model = fit_quantiles(data, [0.5, 0.9], replicates=199)
        assert any("distinct values" in warning for warning in model.warnings) == told


def test_quantiles_are_read_one_by_one_and_as_ranges() -> None:
    assert parse_quantiles("0.1:0.9:0.1,0.99") == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99]
    assert parse_quantiles(" 0.5 , 0.25") == [0.5, 0.25]


def test_nid_errors_say_where_too_little_lies_beyond_the_quantile() -> None:
    rng = np.random.default_rng(5)
    table = pl.DataFrame({"f": ["a", "b"] * 40, "y": rng.pareto(1.5, 80)})
    data = select_model_data(table, ModelQuestion("y", ("f",)))
    for quantile, told in ((0.5, False), (0.85, False), (0.95, True)):
        model = fit_quantiles(data, [quantile], errors="nid")
        assert (
            any("nid errors are too narrow at the quantile 0.95" in text for text in model.warnings) == told
        )
    assert any("about 2 observations in a cell lie beyond" in text for text in model.warnings)


def test_covariates_have_a_bootstrap_as_long_as_it_takes_seconds() -> None:
    rng = np.random.default_rng(6)
    for n, expected in ((9_000, ("rows", 499)), (20_000, ("rows", 199)), (300_000, ("nid", None))):
        table = pl.DataFrame({"x": rng.uniform(1, 5, n), "y": rng.standard_normal(n)})
        data = select_model_data(table, ModelQuestion("y", covariates=("x",), factors=(), formula=""))
        model = fit_quantiles(data, [0.5])
        assert (model.errors, model.replicates) == expected


def test_effects_too_small_for_decimals_are_told_with_a_power_of_ten() -> None:
    rng = np.random.default_rng(4)
    flag = np.arange(400) % 2
    table = pl.DataFrame({"flag": flag.astype(str), "y": (1 + flag + rng.random(400)) * 1e-100})
    text = datamill.quantiles(table, response="y", factors=["flag"], quantiles=[0.5]).text()
    assert "× 1e-100" in text
    (line,) = (line for line in text.splitlines() if line.startswith("flag  "))
    assert 0.45 < float(line.split()[2]) < 0.55


def test_few_observations_are_told_by_the_median_and_not_by_a_quantile_that_is_no_tail() -> None:
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"f": ["a", "b"] * 12, "y": rng.normal(size=24) + np.tile([0.0, 10.0], 12)})
    data = select_model_data(table, ModelQuestion("y", ("f",)))
    model = fit_quantiles(data, [0.3, 0.5, 0.7, 0.99], replicates=99)
    assert [fit.quantile for fit in model.fits if not fit.extreme][-1] == 0.7
    assert "f changes the median of y by" in state_quantiles(model, "y", "")[0]
    asked = fit_quantiles(data, [0.5, 0.7], replicates=99)
    assert "f changes the 0.7 quantile of y by" in state_quantiles(asked, "y", "")[0], "all that was asked"


def test_of_two_tails_that_take_more_observations_the_upper_one_is_told_of_all_factors() -> None:
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"f": ["a", "b"] * 20, "g": ["x", "x", "y", "y"] * 10, "y": rng.normal(size=40)})
    data = select_model_data(table, ModelQuestion("y", ("f", "g"), order=2))
    model = fit_quantiles(data, [0.01, 0.99], replicates=99)
    (sentence,) = state_quantiles(model, "y", "")
    assert sentence.startswith("These data do not tell whether f, g, f × g change the 0.99 quantile of y:")


def test_several_levels_are_told_by_the_change_between_two_of_them() -> None:
    """A deviation from the mean over levels is no change that anybody can make."""
    rng = np.random.default_rng(1)
    levels = rng.integers(0, 3, 240)
    table = pl.DataFrame(
        {
            "v": [f"v{level}" for level in levels],
            "y": 10 + 3.0 * (levels == 2) + 0.5 * rng.exponential(size=240),
        }
    )
    found = datamill.quantiles(table, response="y", factors=["v"], quantiles=[0.5])
    (sentence,) = found.lead
    assert sentence.startswith(("From v0 to v2, v changes the median of y by +", "From v1 to v2, v changes"))
    assert "the most between two of its 3 levels" in sentence
    (term,) = found.model.fits[0].terms
    assert term.gap is not None
    assert (term.gap.high, term.gap.value.low < 3 < term.gap.value.high) == ("v2", True)
    deviations = {effect.levels[0]: effect.value.estimate for effect in term.levels}
    assert term.gap.value.estimate == pytest.approx(deviations["v2"] - deviations[term.gap.low])
    # The interval allows for the choice among three pairs.
    apart = (
        datamill.quantiles(
            table.filter(pl.col("v") != ("v1" if term.gap.low == "v0" else "v0")),
            response="y",
            factors=["v"],
            quantiles=[0.5],
        )
        .model.fits[0]
        .coefficients[1]
        .value
    )
    assert term.gap.value.high - term.gap.value.low > 2 * (apart.high - apart.low)
    assert f"{term.gap.low} to v2" in found.text()
