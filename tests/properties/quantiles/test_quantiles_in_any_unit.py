"""Quantile effects do not heed the units of covariates: bytes, nanoseconds since 1970, shares of a second."""

import numpy as np
import polars as pl
import pytest

import datamill
from datamill.analysis.quantile.inference import DrawnInference

#: What a covariate is multiplied by and moved to, each exact in binary.
UNITS = {
    "large": (2.0**50, 0.0),
    "nanoseconds since 1970": (2.0**20, 2.0**60),
    "small": (2.0**-50, 0.0),
    "tiny": (2.0**-200, 0.0),
}


def make_table(
    of_x: tuple[float, float] = (1.0, 0.0), of_z: tuple[float, float] = (1.0, 0.0)
) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    mode, x, z = rng.choice(["p", "q"], 120), rng.integers(1, 1 << 20, 120), rng.integers(1, 1 << 20, 120)
    y = 10 + 2 * (mode == "q") + (4 * x + 3 * z) / (1 << 20) + rng.normal(size=120)
    return pl.DataFrame(
        {"mode": mode, "x": x * of_x[0] / 2**18 + of_x[1], "z": z * of_z[0] / 2**18 + of_z[1], "y": y}
    )


def fit(
    table: pl.DataFrame, errors: str, trial: str = ""
) -> dict[str, tuple[float, float, float, float | None]]:
    result = datamill.quantiles(
        table, formula="y ~ mode*x + z", quantiles=[0.75], errors=errors, replicates=199, trial=trial
    )
    return {
        row.name: (row.value.estimate, row.value.low, row.value.high, row.p)
        for row in result.model.fits[0].coefficients
    }


@pytest.mark.parametrize("errors", ["rows", "cluster", "nid", "kernel", "iid"])
@pytest.mark.parametrize("unit", UNITS)
def test_another_unit_of_a_covariate_scales_its_slope_and_leaves_all_else(unit: str, errors: str) -> None:
    trial = {"trial": "trial"} if errors == "cluster" else {}
    trials = pl.Series("trial", np.arange(120) // 3)
    plain = fit(make_table().with_columns(trials), errors, **trial)
    step = UNITS[unit][0]
    for name, table in (("x", make_table(of_x=UNITS[unit])), ("z", make_table(of_z=UNITS[unit]))):
        found = fit(table.with_columns(trials), errors, **trial)
        for coefficient, (*interval, p) in plain.items():
            factor = step if name in coefficient.split(":") else 1.0
            width = interval[2] - interval[1]
            # An offset costs digits of the covariate, and so may move a draw by one observation.
            assert [factor * end for end in found[coefficient][:3]] == pytest.approx(
                interval, abs=0.05 * width
            )
            assert (p is None) == (found[coefficient][3] is None)
            assert p is None or found[coefficient][3] == pytest.approx(p, rel=0.2)


def test_a_slope_in_small_units_hides_no_effect_and_rounding_of_the_response_is_still_none() -> None:
    rng = np.random.default_rng(1)
    slope, effect = 1e15 + 1e13 * rng.normal(size=499), 0.5 + 0.1 * rng.normal(size=499)
    tied = np.where(rng.random(499) < 0.5, 1e-17, 0.3)
    draws = np.stack([slope, effect, tied], axis=1)
    inference = DrawnInference(draws, 0.95, sizes=np.array([1e-15, 1.0, 1.0]))
    seen = inference.infer(0.5, np.array([0.0, 1.0, 0.0]))
    assert seen.value.estimate == 0.5
    assert seen.p is not None
    assert seen.p < 0.01
    # Half of the draws are zero but for rounding, and speak for both sides.
    found = inference.infer(0.3, np.array([0.0, 0.0, 1.0]))
    assert found.value.low == 0
    assert found.p is not None
    assert found.p > 0.9
    assert inference.test(np.array([0.5, 0.3]), slice(1, 3)) is not None


def test_a_draw_far_away_hides_no_effect() -> None:
    rng = np.random.default_rng(1)
    draws = np.stack([rng.normal(size=499), 0.5 + 0.1 * rng.normal(size=499)], axis=1)
    draws[7, 0] = 1e14
    seen = DrawnInference(draws, 0.95).infer(0.5, np.array([0.0, 1.0]))
    assert seen.value.estimate == 0.5
    assert seen.p is not None
    assert seen.p < 0.01
