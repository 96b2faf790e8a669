"""Correlations over few windows against R: a perfect order of four is no proof."""

import numpy as np
import polars as pl
import pytest
from reference.r_answers import ask_r

import datamill
from datamill.analysis.distribution.windows import WindowAnalysis

SCRIPT = """
d <- read.csv(file("stdin")); window <- (seq_len(nrow(d)) - 1) %/% 40
count <- tapply(d$binned, window, sum); cv <- tapply(d$y, window, function(y) sd(y) / mean(y))
t <- cor.test(count, cv, method = "spearman", exact = TRUE)
cat(sprintf("%.17g", c(t$estimate, t$p.value)))
"""


def make_table(windows: int, seed: int, *, perfect: bool = False) -> pl.DataFrame:
    """Windows of 40 observations with distinct counts of events; the spread grows with them if perfect."""
    rng = np.random.default_rng(seed)
    counts = np.arange(1, windows + 1) if perfect else rng.permutation(windows) + 1
    spread = 2.0 ** np.arange(windows) / 2**windows if perfect else np.ones(windows)
    values = [10 + spread[at] * rng.normal(size=40) for at in range(windows)]
    events = [(np.arange(40) < count).astype(int) for count in counts]
    return pl.DataFrame({"y": np.concatenate(values), "binned": np.concatenate(events)})


def analyze(windows: int, seed: int, *, perfect: bool = False) -> WindowAnalysis:
    table = make_table(windows, seed, perfect=perfect)
    found = datamill.variability(table, response="y", window=40, against="binned")
    assert isinstance(found, datamill.verbs.variability.Windows)
    return found.windows


def correlate_in_r(windows: int, seed: int, *, perfect: bool = False) -> tuple[float, float]:
    rho, p = map(float, ask_r(SCRIPT, text=make_table(windows, seed, perfect=perfect).write_csv()).split())
    return rho, p


@pytest.mark.parametrize(("windows", "perfect"), [(4, True), (5, False), (7, False), (9, True), (9, False)])
def test_correlation_and_p_of_few_windows_are_those_of_cor_test(windows: int, *, perfect: bool) -> None:
    item = analyze(windows, windows, perfect=perfect).associations[0]
    rho, p = correlate_in_r(windows, windows, perfect=perfect)
    assert item.correlation is not None
    assert item.correlation.estimate == pytest.approx(rho)
    assert item.p == pytest.approx(p, rel=1e-9)


def test_p_of_twelve_windows_is_near_the_series_that_cor_test_uses_from_ten_windows_on() -> None:
    item = analyze(12, 12).associations[0]
    _, p = correlate_in_r(12, 12)
    assert item.p == pytest.approx(p, rel=0.02)


def test_a_perfect_order_of_four_windows_is_not_detected_and_its_interval_holds_no_correlation() -> None:
    item = analyze(4, 1, perfect=True).associations[0]
    assert item.p == pytest.approx(2 / 24)
    assert item.correlation is not None
    assert (item.correlation.estimate, item.correlation.high) == (1.0, 1.0)
    assert item.correlation.low < 0


@pytest.mark.parametrize("windows", [5, 8, 12, 20])
def test_a_perfect_order_of_more_windows_is_as_sure_as_the_number_of_orders_allows(windows: int) -> None:
    item = analyze(windows, 2, perfect=True).associations[0]
    assert item.p is not None
    assert item.p >= 2 * 0.999 / float(np.prod(np.arange(1.0, windows + 1)))
    assert item.correlation is not None
    assert 0 < item.correlation.low < 1


def test_chance_orders_of_four_windows_are_not_taken_for_a_correlation() -> None:
    detected = 0
    for seed in range(60):
        for item in analyze(4, 100 + seed).associations:
            detected += item.p is not None and item.p < 0.05
    assert detected == 0
