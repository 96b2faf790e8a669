"""`quantiles` at its edges: no traceback, nothing called absent that was not tested, units and blocks."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import datamill
from datamill.analysis.interval import Interval
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_given


def test_counts_that_hardly_vary_have_an_answer_at_every_quantile() -> None:
    alarms = 0
    for seed in range(20):
        y = np.random.default_rng(seed).poisson(0.3, 100).astype(float)
        found = datamill.quantiles({"build": ["old", "new"] * 50, "y": y}, response="y", factors=["build"])
        assert found.text()
        alarms += not found.lead[0].startswith("No effect on y was detected at any quantile from 0.1 to 0.9")
    # Ten quantiles may each err once in twenty times.
    assert alarms <= 4


def test_a_covariate_with_a_large_offset_leaves_the_factor_its_interval() -> None:
    rng = np.random.default_rng(0)
    n = 3000
    cfg, elapsed = rng.integers(0, 2, n), np.sort(rng.uniform(0, 3600, n))
    y = 10 + 5 * cfg + 0.01 * elapsed + rng.exponential(1, n)
    values = []
    for offset in (0.0, 1.7e9):
        data = {"cfg": np.array(["u", "v"])[cfg], "t": elapsed + offset, "y": y}
        found = datamill.quantiles(
            data, response="y", factors=["cfg"], covariates=["t"], quantiles=[0.5], errors="nid"
        )
        assert found.lead[0].startswith("From u to v, cfg changes the median of y by +")
        middle = format_given(float(np.mean(elapsed + offset)))
        assert " ".join(f"(t from {middle})".split()) in " ".join(found.text().split())
        values.append([number for row in found.model.fits[0].coefficients for number in _list(row.value)])
    assert values[1] == pytest.approx(values[0], rel=1e-6)


def _list(value: Interval) -> tuple[float, float, float]:
    return value.estimate, value.low, value.high


def test_the_effect_of_a_factor_beside_its_product_with_a_covariate_is_that_at_the_mean() -> None:
    rng = np.random.default_rng(1)
    size, mode = 1000 + 100 * rng.random(400), rng.integers(0, 2, 400)
    y = mode * (0.06 * size - 60) + rng.normal(size=400)
    data = {"mode": np.array(["u", "v"])[mode], "size": size, "y": y}
    found = datamill.quantiles(data, formula="y ~ mode*size", quantiles=[0.5])
    half = next(row for row in found.model.fits[0].coefficients if row.name == "mode").value
    assert half.low < (0.06 * size.mean() - 60) / 2 < half.high
    assert json.loads(found.json())["covariate_means"] == pytest.approx([size.mean()])


def test_rank_errors_test_a_factor_of_three_levels() -> None:
    y = np.random.default_rng(2).normal(size=120) + np.tile([0, 3, 0], 40)
    found = datamill.quantiles(
        {"a": ["u", "v", "w"] * 40, "y": y}, response="y", factors=["a"], errors="rank", quantiles=[0.5]
    )
    assert re.match(r"From u to [vw], a changes the median of y by .* \(no interval\)", found.lead[0])
    assert "inf" not in found.lead[0]
    assert "nan" not in found.text()


@pytest.mark.parametrize("errors", ["binomial", "iid", "rank"])
def test_what_has_no_test_is_not_called_absent(errors: str) -> None:
    found = datamill.quantiles(
        {"a": ["u"] * 6 + ["v"] * 6, "y": [1.0] * 6 + [2.0] * 6},
        response="y",
        factors=["a"],
        errors=errors,
        quantiles=[0.5],
    )
    assert "No effect" not in found.text()
    assert found.lead[0].startswith("Whether a changes the median of y was not tested")
    assert "change as measured: a +1.00" in found.lead[0]


def test_too_few_bootstrap_draws_with_data_everywhere_are_refused() -> None:
    data = {"a": list("uuuvvvuv"), "b": list("xxxxxxyy"), "y": [1.0, 2, 3, 4, 5, 7, 8, 9]}
    with pytest.raises(InputError, match="bootstrap draws have data at every combination"):
        datamill.quantiles(
            data, response="y", factors=["a", "b"], errors="rows", quantiles=[0.5], replicates=99
        )


def test_the_levels_of_an_enum_keep_their_order_when_a_table_is_streamed(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    code = rng.integers(0, 2, 1000)
    mode = pl.Series(np.array(["slow", "fast"])[code], dtype=pl.Enum(["slow", "fast"]))
    pl.DataFrame({"mode": mode, "y": rng.exponential(1, 1000) + 10.0 * (code == 0)}).write_parquet(
        tmp_path / "t.parquet"
    )
    leads = [
        datamill.quantiles(
            tmp_path / "t.parquet",
            response="y",
            factors=["mode"],
            errors="nid",
            quantiles=[0.5],
            stream=stream,
        ).lead
        for stream in (False, True)
    ]
    assert leads[0] == leads[1]
    assert leads[0][0].startswith("From slow to fast, mode changes the median of y by −")


def test_an_effect_far_below_the_mean_is_told_in_figures_of_its_own() -> None:
    y = 1e12 + np.random.default_rng(4).normal(size=100) * 0.1 + np.tile([0, 1], 50)
    found = datamill.quantiles({"a": ["u", "v"] * 50, "y": y}, response="y", factors=["a"], quantiles=[0.5])
    assert "trillion" not in found.text()
    assert "by +0.9" in found.lead[0] or "by +1.0" in found.lead[0]


def test_text_and_json_have_the_same_bound_of_p() -> None:
    y = np.random.default_rng(5).normal(size=200) + np.tile([0, 9], 100)
    found = datamill.quantiles({"a": ["u", "v"] * 100, "y": y}, response="y", factors=["a"], quantiles=[0.5])
    row = json.loads(found.json())["quantiles"][0]["coefficients"][1]
    assert (row["p"], row["p_is_bound"]) == (0.0002, True)
    assert "≤ 0.0002" in found.text()


def test_blocks_are_neither_the_answer_nor_among_the_effects_that_p_is_adjusted_for() -> None:
    y = np.random.default_rng(6).normal(size=100) + np.repeat([0, 30], 50) + np.tile([0, 0.5], 50)
    found = datamill.quantiles(
        {"a": ["u", "v"] * 50, "day": ["d1"] * 50 + ["d2"] * 50, "y": y},
        response="y",
        factors=["a"],
        blocks=["day"],
        quantiles=[0.5],
    )
    assert "day" not in " ".join(found.lead)
    by_name = {term.term.name: term for term in found.model.fits[0].terms}
    assert by_name["day"].p_adjusted is None
    assert by_name["a"].p_adjusted == by_name["a"].p
    assert "day (block)" in found.text()
