"""Parts of the intervals of variability against definitions that are computed in another way, and R."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from reference.r_answers import ask_r
from scipy.special import ndtri

from datamill.analysis.distribution.variability import measure_variability
from datamill.analysis.distribution.variability_intervals import (
    TAIL_INDEX,
    ShapeResamples,
    bound_cv,
    bound_skewness,
    choose_drawn_size,
    find_tail_shape,
)
from datamill.analysis.groups.group_comparison import Group
from datamill.analysis.groups.means.variance_tests import compare_brown_forsythe
from datamill.analysis.model_data.cells import ModelFactor, gather_cells
from datamill.report.tables.text import render_text
from datamill.report.tests.statement import ResponseNotes
from datamill.report.variability.figures import draw_variability
from datamill.report.variability.json import spell_variability
from datamill.report.variability.statement import state_variability

NOTES = ResponseNotes("latency", "s")


def find_l_ratios(values: np.ndarray) -> tuple[float, float]:
    """Third and fourth L-moment ratio as means over all samples of two, three and four of the sample."""
    sums = {}
    for size, signs in ((2, (-1, 1)), (3, (1, -2, 1)), (4, (-1, 3, -3, 1))):
        parts = [sorted(part) for part in combinations(values, size)]
        sums[size] = float(np.mean([np.dot(signs, part) for part in parts])) / size
    return sums[3] / sums[2], sums[4] / sums[2]


@pytest.mark.parametrize("values", [np.random.default_rng(1).lognormal(0, 1, 11), np.arange(10.0) ** 0.5])
def test_the_tail_index_is_that_of_l_moments_by_their_definition(values: np.ndarray) -> None:
    third, fourth = find_l_ratios(values)
    shape = find_tail_shape(values - 5.0)
    assert shape.index == pytest.approx(fourth + third**2 / 2, rel=1e-10)
    assert shape.side == np.sign(third)


def test_the_tail_indices_of_log_normal_shapes_are_those_of_their_quantiles() -> None:
    share = (np.arange(400_000) + 0.5) / 400_000
    weights = (2 * share - 1, 6 * share**2 - 6 * share + 1, 20 * share**3 - 30 * share**2 + 12 * share - 1)
    for place, index in enumerate(TAIL_INDEX):
        quantiles = np.exp(0.1 * place * ndtri(share)) if place else ndtri(share)
        scale, third, fourth = (float(np.mean(quantiles * weight)) for weight in weights)
        assert index == pytest.approx(fourth / scale + (third / scale) ** 2 / 2, abs=2e-3)


def test_resamples_have_the_moments_of_the_shapes_that_they_are_drawn_from() -> None:
    n = 40
    found = ShapeResamples(1).draw(n)
    normal = np.random.default_rng((1, n)).standard_normal((*found.means.shape[1:], n))
    for place in (0, 3, 16):
        sigma = 0.1 * place
        drawn = np.exp(sigma * normal) if place else normal
        mean = np.exp(sigma**2 / 2) if place else 0.0
        unit = mean * np.sqrt(np.expm1(sigma**2)) if place else 1.0
        assert found.means[place] == pytest.approx((drawn.mean(axis=1) - mean) / unit, abs=1e-9)
        spread = np.log(drawn.std(axis=1, ddof=1) / unit)
        assert found.log_deviations[place] == pytest.approx(spread, abs=1e-8)
        away = drawn - drawn.mean(axis=1, keepdims=True)
        raw = np.mean(away**3, axis=1) / np.mean(away**2, axis=1) ** 1.5
        assert found.skewness[place] == pytest.approx(np.sort(raw * np.sqrt(n * (n - 1)) / (n - 2)), abs=1e-6)


def test_resamples_are_never_larger_than_what_they_stand_for() -> None:
    for n in (10, 50, 51, 99, 100, 249, 250, 10**6):
        assert 0.9 * min(n, 250) <= choose_drawn_size(n) <= n


def test_the_skewness_of_no_shape_is_above_the_interval_of_a_g1_that_it_gives_often_enough() -> None:
    n, drawn = 1500, ShapeResamples(1)
    values = np.random.default_rng(6).standard_normal(n)
    for place, often in enumerate(np.quantile(ShapeResamples(2).draw(n).skewness, 0.03, axis=1)):
        grown = np.exp((0.1 * place) ** 2)
        for side in (-1, 1):
            found = bound_skewness(values, side * float(often), 0.95, drawn)
            end = found.high if side > 0 else -found.low
            assert end >= (grown + 2) * np.sqrt(grown - 1)


def test_intervals_of_large_samples_are_no_shorter_than_the_delta_method_has_them() -> None:
    n, share = 50_000, (np.arange(50_000) + 0.5) / 50_000
    # Quantiles of 10 + log-normal 1, whose own standard deviation and tails are nearly those of the shape.
    values = 10 + np.exp(ndtri(share))
    mean, sd = float(values.mean()), float(values.std(ddof=1))
    cv, e = sd / mean, np.e
    kurtosis, skewness = e**4 + 2 * e**3 + 3 * e**2 - 3, (e + 2) * np.sqrt(e - 1)
    error = np.sqrt(((kurtosis - 1) / 4 + cv**2 - cv * skewness) / n)
    interval = bound_cv(values - mean, mean, sd, 0.95, ShapeResamples(1))
    assert interval.high >= cv * np.exp(1.9 * error)
    assert interval.low <= cv * np.exp(-1.9 * error)


def test_an_end_where_the_mean_is_not_told_from_zero_is_zero_and_no_invented_number() -> None:
    # One that makes the whole spread, one of very heavy tails, one whose interval has both ends.
    parts = (
        np.array([1.0] * 19 + [20.0]),
        np.random.default_rng(22).lognormal(0, 2, 20),
        np.random.default_rng(3).normal(10, 1, 20),
    )
    factor = ModelFactor("load", ("rare", "wild", "steady"))
    found = measure_variability(
        gather_cells([factor], [np.repeat([0, 1, 2], 20)], np.concatenate(parts)), confidence=0.99
    )
    low = [point.cv.low for point in found.points if point.cv is not None]
    assert low[:2] == [0.0, 0.0]
    assert low[2] > 0.01
    points = spell_variability(NOTES, found, ())["points"]
    assert [point["cv"]["low"] for point in points] == low
    assert "0.00% or more" in render_text(state_variability(NOTES, found, ()))
    # Not ten decades of axis for what is no number; a bar to zero has no place on it.
    for shown in (found, replace(found, points=found.points[1:])):
        figure = draw_variability("latency", shown, [factor])
        ends = find_domain(figure.chart)
        assert 1 < ends[0] < ends[1] < 1000
        assert "Intervals are not drawn, for one or more reach to zero" in figure.caption


def find_domain(item: object) -> list[float]:
    """The ends of the first axis of a chart that has any."""
    if isinstance(item, dict):
        if "domain" in item:
            return list(item["domain"])
        item = list(item.values())
    inside = (find_domain(part) for part in item) if isinstance(item, list) else ()
    return next((domain for domain in inside if domain), [])


def test_the_ends_of_a_ratio_of_spreads_are_where_r_gives_the_p_that_the_level_asks_for() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.lognormal(0, 0.7, 12), 3 * rng.lognormal(0, 0.7, 19)
    value = compare_brown_forsythe((Group("a", first), Group("b", second)), 0.9).estimates[0].value
    script = f"""
    a <- c({", ".join(map(repr, first.tolist()))}); b <- c({", ".join(map(repr, second.tolist()))})
    g <- factor(rep(1:2, c(length(a), length(b))))
    away <- function(r) car::leveneTest(c(a, b / r), g, center = median)[1, "Pr(>F)"] - 0.1
    middle <- mean(abs(b - median(b))) / mean(abs(a - median(a)))
    for (ends in list(c(middle / 50, middle), c(middle, 50 * middle)))
      cat(sprintf("%.17g", uniroot(away, ends, tol = 1e-13)$root), "\\n")
    """
    answer = [float(item) for item in ask_r(script, packages=("car",)).split()]
    assert [value.low, value.high] == pytest.approx(answer, rel=1e-9)
