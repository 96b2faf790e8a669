"""Windows of equal variability tie, in whatever unit and beside whatever offset they were measured."""

import numpy as np
import polars as pl
import pytest

import datamill
from datamill.analysis.distribution.variability import adjust_skewness
from datamill.analysis.distribution.windows import CountAssociation
from datamill.verbs.variability import Windows


def associate(unit: float, offset: float, windows: int, seed: int) -> tuple[CountAssociation, ...]:
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 2, 5 * windows)
    table = pl.DataFrame({"y": (offset + 10 + steps) * unit, "binned": rng.poisson(1, 5 * windows)})
    found = datamill.variability(table, response="y", window=5, against="binned")
    assert isinstance(found, Windows)
    return found.windows.associations


@pytest.mark.parametrize("windows", [8, 30])
@pytest.mark.parametrize(("unit", "offset"), [(0.1, 0), (1 / 3, 0), (1e-12, 0), (7e9, 0), (0.1, 1_000_000)])
def test_windows_that_tie_do_so_in_any_unit(unit: float, offset: float, windows: int) -> None:
    for seed in range(8):
        plain = associate(1.0, offset, windows, seed)
        for one, other in zip(plain, associate(unit, offset, windows, seed), strict=True):
            assert one.correlation is not None
            assert other.correlation is not None
            assert other.correlation.estimate == pytest.approx(one.correlation.estimate, abs=1e-9)
            assert other.p == pytest.approx(one.p, rel=1e-9)


@pytest.mark.parametrize("value", [0.1, 0.7, 1e-9, 3.3])
def test_observations_that_do_not_vary_have_no_skewness(value: float) -> None:
    for size in (3, 6, 7, 11):
        assert adjust_skewness(np.full(size, value)) is None


def test_windows_that_are_all_symmetric_have_no_skewness_to_set_against_anything() -> None:
    y = np.concatenate([[0.1 - step, 0.1, 0.1 + step] for step in (0.1, 0.3, 0.7, 1.1, 0.2, 1.3)]) + 10
    table = pl.DataFrame({"y": y, "binned": np.repeat([0, 3, 1, 2, 5, 4], 3)})
    found = datamill.variability(table, response="y", window=3, against="binned")
    assert isinstance(found, Windows)
    assert [item.correlation is None for item in found.windows.associations] == [False, True]


def test_a_window_of_like_values_has_no_spread_at_all() -> None:
    y = [0.1] * 6 + [0.2, 0.3, 0.4, 0.2, 0.1, 0.2] * 3
    found = datamill.variability(
        pl.DataFrame({"y": y, "binned": [0] * 6 + [1, 0, 1, 0, 0, 0] * 3}),
        response="y",
        window=6,
        against="binned",
    )
    assert isinstance(found, Windows)
    assert found.windows.windows[0].cv == 0
