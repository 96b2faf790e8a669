"""Whether a flat bottom is worth a word does not depend on the unit that a covariate is in."""

import math

import numpy as np
import polars as pl
import pytest

import datamill


def make_table(seed: int, unit: float) -> pl.DataFrame:
    """Half of the observations far below the median at each size, half far above."""
    rng = np.random.default_rng(seed)
    size, mode = np.tile([1.0, 2.0, 3.0], 8), np.repeat(["p", "q"], 12)
    y = 10 + 0.5 * size + np.repeat([-2.0, 2.0, 2.0, -2.0], 6) + 0.1 * rng.normal(size=24)
    return pl.DataFrame({"mode": mode, "size": size * unit, "y": y})


@pytest.mark.parametrize("unit", [1e-6, 1e3, 1e9])
def test_a_flat_bottom_is_told_whatever_the_unit_of_a_covariate(unit: float) -> None:
    told = 0
    for seed in range(5):
        fits = [
            datamill.quantiles(
                make_table(seed, factor), formula="y ~ mode + size", quantiles=[0.25, 0.5], errors="nid"
            )
            for factor in (1.0, unit)
        ]
        for plain, other in zip(*(one.model.fits for one in fits), strict=True):
            assert plain.unique == other.unique
            assert other.flat_width == pytest.approx(plain.flat_width, rel=1e-6, abs=1e-9)
            assert plain.is_flat == other.is_flat
            told += plain.is_flat and math.isfinite(plain.flat_share)
        assert [text for text in fits[0].warnings if "flat" in text] == [
            text for text in fits[1].warnings if "flat" in text
        ]
    assert told > 3
