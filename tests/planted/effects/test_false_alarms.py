"""How often the answer claims what is not there, on data in which nothing is."""

import re
from collections.abc import Callable
from itertools import product

import numpy as np
import polars as pl
import pytest
from made.answered_study import write_answer
from made.planted_study import plan_study
from running.nightly import choose_count
from scipy.stats import binom

from datamill.analysis.answer.influence import rank_terms
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import ModelFactor, gather_cells

ALPHA = 0.01
LEVELS = {"package": ("a", "b"), "opt": ("-O0", "-O2", "-O3"), "aslr": ("on", "off")}


def assert_rate_at_most(hits: int, trials: int) -> None:
    assert hits <= binom.ppf(0.9999, trials, ALPHA), f"{hits / trials:.4f}, at most {ALPHA}"


@pytest.mark.parametrize(
    ("noisy", "spread", "kept", "replicates"),
    [((1, 0), 10.0, 2, 10), ((0, 0), 10.0, 2, 10), ((1, 0), 3.0, 5, 10)],
    ids=["noisy level lost most trials", "noisy package lost most", "noisy level lost half"],
)
def test_factors_that_do_nothing_seldom_matter_though_one_level_is_noisier(
    noisy: tuple[int, int], spread: float, kept: int, replicates: int
) -> None:
    factors = [ModelFactor(name, levels) for name, levels in LEVELS.items()]
    points = product(*(range(len(factor.levels)) for factor in factors))
    factor, level = noisy
    codes = np.array(
        [point for point in points for _ in range(kept if point[factor] == level else replicates)]
    )
    sizes = np.where(codes[:, factor] == level, spread, 1.0)
    rng, trials, hits = np.random.default_rng(1), choose_count(125, 250), 0
    for _ in range(trials):
        cells = gather_cells(factors, codes, 100 + sizes * rng.standard_normal(len(codes)))
        influence = rank_terms(cells, fit_linear_model(cells, order=2, alpha=ALPHA), group_factor=0)
        hits += any(item.detected for item in influence.terms if item.term.name != "package")
    assert_rate_at_most(hits, trials)


def toss(share: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, n: 10.0 + (rng.random(n) < share)


@pytest.mark.parametrize(
    ("packages_only", "replicates", "draw"),
    [(True, 3, toss(0.5)), (False, 1, toss(0.5))],
    ids=["coin, 3 each", "coin, single trials"],
)
def test_two_valued_data_seldom_make_a_winner_or_a_factor_that_matters(
    packages_only: bool, replicates: int, draw: Callable[[np.random.Generator, int], np.ndarray]
) -> None:
    levels = {"package": LEVELS["package"]} if packages_only else LEVELS
    experiment, design, table, summary = plan_study(levels, lambda _r, _p: 1.0, replicates=replicates)
    rng, trials, winners, mattered = np.random.default_rng(2), choose_count(80, 200), 0, 0
    for _ in range(trials):
        values = pl.Series(draw(rng, table.height))
        answer = write_answer(experiment, design, table.with_columns(value=values), summary)
        winners += "is better" in answer.headline
        mattered += any("What else" in line for line in answer.mattered)
        bounds = re.search(r"interval ([−+.\d]+)%? to ([−+.\d]+)", answer.headline)
        assert bounds is None or bounds[1] != bounds[2]
    assert_rate_at_most(winners, trials)
    assert_rate_at_most(mattered, trials)


def test_what_is_said_to_matter_never_has_an_interval_that_holds_zero() -> None:
    experiment, design, table, summary = plan_study(LEVELS, lambda _r, _p: 1.0, replicates=4)
    rng, told = np.random.default_rng(3), 0
    effect = np.where(table["opt"].to_numpy() == "-O0", 3.0, 0.0)
    crossing = np.where((table["opt"] == "-O2").to_numpy() == (table["aslr"] == "on").to_numpy(), 1.6, 0.0)
    sizes = np.where(table["package"].to_numpy() == "a", 2.0, 0.7)
    for _ in range(40):
        values = pl.Series(100 + effect + crossing + sizes * rng.standard_normal(table.height))
        answer = write_answer(experiment, design, table.with_columns(value=values), summary)
        for line in answer.mattered:
            if line.startswith("What else"):
                for low, high, is_change in re.findall(
                    r"interval ([−+]?[\d.]+)% to ([−+]?[\d.]+)%\)( \w+er)?", line
                ):
                    told += 1
                    # A change is higher or lower by two positive numbers; a departure has signs.
                    assert "−" not in low + high if is_change else low[0] == high[0], line
    assert told > 20
