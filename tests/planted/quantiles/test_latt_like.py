"""Latencies shaped like the paper's: what the mean hides, the tail shows (ASPLOS 2013, §5.2 and §6)."""

from itertools import product

import numpy as np
import polars as pl
import pytest

from datamill.analysis.interval import Interval
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.question import ModelData, ModelQuestion, select_model_data
from datamill.analysis.quantile.model import fit_quantiles
from datamill.analysis.quantile.quantile_model import QuantileFit
from datamill.report.quantiles.answer import state_quantiles

LEVELS = {
    "sched": ("BFS", "CFS"),
    "machine": ("Core 2", "P4"),
    "load": ("compile", "encode"),
    "vmstat": ("off", "on"),
}
EXECUTIONS, LATENCIES = 5, 300
#: One latency in twelve is slow; how slow depends on the scheduler.
SLOW, BFS_US, CFS_US = 1 / 12, 2000.0, 6000.0


def make_latencies(seed: int) -> pl.DataFrame:
    """16 combinations, 5 executions of each, heavy-tailed latencies, alike within an execution."""
    rng = np.random.default_rng(seed)
    rows = []
    combinations = list(product(*LEVELS.values()))
    for execution in range(EXECUTIONS * len(combinations)):
        levels = combinations[execution % len(combinations)]
        n = LATENCIES
        usual = 300 * np.exp(0.5 * rng.standard_normal(n) + 0.05 * rng.standard_normal())
        slow = rng.random(n) < SLOW
        tail = (CFS_US if levels[0] == "CFS" else BFS_US) * (1 + 0.4 * rng.pareto(3, n))
        latency = np.where(slow, tail, usual) * (1.3 if levels[1] == "P4" else 1.0)
        rows.append(
            pl.DataFrame({"latency_us": latency}).with_columns(
                pl.lit(execution).alias("execution"),
                *(pl.lit(level).alias(name) for name, level in zip(LEVELS, levels, strict=True)),
            )
        )
    return pl.concat(rows)


@pytest.fixture(scope="module")
def data() -> ModelData:
    question = ModelQuestion(response="latency_us", factors=tuple(LEVELS), order=4, trial="execution")
    return select_model_data(make_latencies(1), question, average=False)


def find_effect(fit: QuantileFit, name: str) -> Interval:
    return next(row.value for row in fit.coefficients if row.name == name)


def compute_truth() -> float:
    """Half the scheduler's true effect on the 99th percentile, by very many latencies."""
    rng = np.random.default_rng(99)
    n = 4_000_000
    slow = rng.random(n) < SLOW
    usual = 300 * np.exp(0.5 * rng.standard_normal(n))
    tail = 1 + 0.4 * rng.pareto(3, n)
    at = {us: float(np.quantile(np.where(slow, us * tail, usual), 0.99)) for us in (BFS_US, CFS_US)}
    # The mean over machines, of which one is 1.3 times as slow.
    return (at[CFS_US] - at[BFS_US]) / 2 * 1.15


def test_the_quantile_model_finds_what_the_scheduler_does_to_the_tail(data: ModelData) -> None:
    model = fit_quantiles(data, [0.1, 0.5, 0.9, 0.99])
    assert model.errors == "cluster"
    truth = compute_truth()
    found = find_effect(model.fits[-1], "sched")
    assert found.low <= truth <= found.high
    assert found.low > 0.5 * truth
    assert found.high < 1.5 * truth
    detected = {
        fit.quantile: {
            term.term.name for term in fit.terms if term.p_adjusted is not None and term.p_adjusted < 0.05
        }
        for fit in model.fits
    }
    assert "sched" in detected[0.99]
    # It acts on the tail alone.
    for quantile in (0.1, 0.5):
        assert "sched" not in detected[quantile]
        assert abs(find_effect(model.fits[[0.1, 0.5].index(quantile)], "sched").estimate) < 0.02 * truth
    assert not {"load", "vmstat"} & set.union(*detected.values())


def test_the_linear_model_understates_the_schedulers_effect_on_the_tail(data: ModelData) -> None:
    linear = fit_linear_model(data.observations.cells, order=4)
    sched = next(row.value for row in linear.coefficients if row.name == "sched")
    truth = compute_truth()
    assert sched.high < 0.2 * truth


def test_the_answer_says_that_the_effect_is_in_the_tail(data: ModelData) -> None:
    model = fit_quantiles(data, [0.5, 0.99])
    sentences = state_quantiles(model, "latency", "us")
    about = next(sentence for sentence in sentences if "sched" in sentence)
    assert about.startswith("From BFS to CFS, sched changes the 0.99 quantile of latency by +")
    assert "at the median no effect was detected" in about
    assert "ms" in about


def test_rows_that_are_not_replicates_would_make_the_intervals_too_narrow(data: ModelData) -> None:
    by_trial = fit_quantiles(data, [0.5])
    by_row = fit_quantiles(data, [0.5], errors="binomial")
    assert any("take as independent" in warning for warning in by_row.warnings)
    assert by_trial.fits[0].coefficients[0].standard_error > by_row.fits[0].coefficients[0].standard_error
