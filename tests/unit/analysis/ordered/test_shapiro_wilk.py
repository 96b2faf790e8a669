"""Shapiro and Wilk's test is that of R and SciPy; SciPy's own quantiles are good to eight digits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from datamill.analysis.ordered.shapiro_wilk import test_shapiro_wilk as judge


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 11, 12, 13, 50, 51, 1000, 5000])
@pytest.mark.parametrize("shape", ["normal", "skewed", "offset", "rounded"])
def test_statistic_and_p_are_those_of_scipy(n: int, shape: str) -> None:
    random = np.random.default_rng(n)
    values = {
        "normal": random.standard_normal(n),
        "skewed": random.exponential(size=n),
        "offset": 1e6 + random.standard_normal(n),
        "rounded": np.round(random.standard_normal(n), 1),
    }[shape]
    expected = stats.shapiro(values)
    found = judge(values)
    assert found == pytest.approx((expected.statistic, expected.pvalue), rel=1e-5, abs=1e-9)


def draw(n: int) -> list[float]:
    return [round(at * 37 % (n + 1) ** 1.3, 3) for at in range(1, n + 1)]


@pytest.mark.parametrize(
    ("values", "statistic", "p"),
    [
        ([148, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236], 0.78881469483538735, 0.0067038140565029254),
        (draw(3), 0.99999978494975139, 0.99911433115504289),
        (draw(5), 0.98665573666757078, 0.96672473301752504),
        (draw(12), 0.92290688998187398, 0.31091862680935956),
        (draw(200), 0.95454779057665717, 5.3122795167547620e-06),
    ],
)
def test_r_says_the_same_to_eleven_digits(values: list[float], statistic: float, p: float) -> None:
    """`shapiro.test` of R 4.2, whose x for n is `round(1:n * 37 %% (n + 1)^1.3, 3)` but for the first."""
    assert judge(np.array(values, dtype=np.float64)) == pytest.approx((statistic, p), rel=1e-11)


@pytest.mark.parametrize("values", [[1.0, 1.0, 2.0], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0, 1.0]])
def test_p_stays_between_0_and_1(values: list[float]) -> None:
    statistic, p = judge(np.array(values))
    assert 0 < statistic <= 1
    assert 0 <= p <= 1
