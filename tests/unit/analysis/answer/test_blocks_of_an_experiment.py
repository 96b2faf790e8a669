"""Differences within blocks: the paired comparison, and what keeps blocks from being used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from made.answered_study import write_report
from made.page_study import make_study
from scipy import stats

from datamill.analysis.answer.response import analyze_response
from datamill.analysis.contrasts.blocks import fit_blocks
from datamill.analysis.contrasts.contrast import estimate_contrast, use_own_errors
from datamill.analysis.levels.packages import compare_packages
from datamill.analysis.model_data.cells import ModelFactor, gather_cells
from datamill.experiment.errors import InputError

PACKAGES = ModelFactor("package", ("a", "b"))


def gather(package, values):
    return gather_cells((PACKAGES,), np.asarray(package)[:, None], np.asarray(values, dtype=np.float64))


def test_two_packages_once_in_each_block_are_compared_by_the_paired_t_test() -> None:
    rng = np.random.default_rng(4)
    blocks = np.repeat(np.arange(7), 2)
    package = np.tile([0, 1], 7)
    values = 50 + 10.0 * rng.standard_normal(7)[blocks] + package + rng.standard_normal(14)
    cells = gather(package, values)
    fit = fit_blocks(cells, blocks, tuple("1234567"))
    pair = compare_packages(cells, factor=0, baseline="a", direction="higher", blocks=fit).pairs[0]
    expected = stats.ttest_rel(values[1::2], values[::2])
    interval = expected.confidence_interval(0.95)
    assert pair.p == pytest.approx(expected.pvalue)
    assert (pair.difference.low, pair.difference.high) == pytest.approx((interval.low, interval.high))
    assert pair.df == pytest.approx(6)
    assert pair.ratio is not None
    assert pair.ratio.low is not None
    assert (pair.ratio.low > 1) == (pair.difference.low > 0)


def test_contrasts_within_unequal_blocks_are_those_of_the_model_matrix() -> None:
    """The textbook's HC2 and Bell-McCaffrey, with whole matrices."""
    rng = np.random.default_rng(8)
    n = 40
    blocks, codes = rng.integers(0, 4, n), rng.integers(0, 3, n)
    values = rng.standard_normal(n) * (1 + codes) + 3.0 * blocks + codes
    cells = gather_cells((ModelFactor("f", ("x", "y", "z")),), codes[:, None], values)
    weights = np.array([1.0, -0.5, -0.5])
    contrast = fit_blocks(cells, blocks, tuple("1234")).estimate(weights)

    matrix = np.hstack([np.eye(3)[codes], np.eye(4)[blocks][:, 1:]])
    inverse = np.linalg.inv(matrix.T @ matrix)
    acting = matrix @ inverse @ np.concatenate([weights, np.zeros(3)])
    rest = np.eye(n) - matrix @ inverse @ matrix.T
    scale = acting**2 / np.diag(rest)
    b = np.sqrt(scale)[:, None] * rest * np.sqrt(scale)[None, :]
    assert contrast.estimate == pytest.approx(float(acting @ values))
    assert contrast.variance == pytest.approx(float(np.sum(scale * (rest @ values) ** 2)))
    assert contrast.df == pytest.approx(np.trace(b) ** 2 / np.trace(b @ b))


def test_the_interval_of_a_ratio_within_blocks_covers_it() -> None:
    """Drift in proportion to the response, which an additive block cannot follow, and a ratio far from 1."""
    rng = np.random.default_rng(12)
    covered = 0
    for _ in range(200):
        blocks = np.repeat(np.arange(8), 6)
        package = np.concatenate([rng.permutation([0, 0, 0, 1, 1, 1]) for _ in range(8)])
        drift = 1 + 0.1 * (blocks == 4)
        values = np.where(package == 1, 40.0, 10.0) * drift * (1 + 0.01 * rng.standard_normal(48))
        cells = gather(package, values)
        fit = fit_blocks(cells, blocks, tuple("12345678"))
        ratio = compare_packages(cells, factor=0, baseline="a", direction="higher", blocks=fit).pairs[0].ratio
        assert ratio is not None
        assert ratio.low is not None
        assert ratio.high is not None
        covered += ratio.low <= 4.0 <= ratio.high
    assert covered >= 184


def test_a_mean_keeps_the_variance_between_blocks() -> None:
    blocks, package = np.repeat([0, 1, 2], 4), np.tile([0, 0, 1, 1], 3)
    values = 10.0 * blocks + np.tile([0.0, 0.1, 0.2, 0.3], 3)
    cells = gather(package, values)
    errors = use_own_errors(cells, fit_blocks(cells, blocks, tuple("123")))
    mean = estimate_contrast(cells, np.array([1.0, 0.0]), errors)
    difference = estimate_contrast(cells, np.array([-1.0, 1.0]), errors)
    assert mean.estimate == pytest.approx(10.05)
    assert mean.variance > 10
    assert difference.variance < 0.01


@pytest.mark.parametrize(
    ("package", "blocks", "problem"),
    [
        ([0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], "cannot be told apart"),
        ([0, 1, 0, 1], [0, 0, 0, 0], "one block only"),
        ([0, 0, 1, 1, 1], [0, 1, 0, 2, 2], "too few observations"),
    ],
)
def test_blocks_that_say_nothing_are_refused(package, blocks, problem) -> None:
    cells = gather(package, np.arange(len(package)) ** 2.0)
    with pytest.raises(InputError, match=problem):
        fit_blocks(cells, np.asarray(blocks), ("1", "2", "3"))


def interleave(shift: float, packages: int = 2):
    """The made-up study with each replicate in a block of its own, all of it shifted."""
    experiment, design, table, trials = make_study(replicates=6, ratio=1.004, packages=packages)
    replicate = {trial.trial_id: trial.replicate for trial in design.trials}
    blocks = [replicate[name] for name in table["trial_id"]]
    table = table.with_columns(
        block=pl.Series([str(block + 1) for block in blocks]),
        value=pl.col("value") * (1 + shift * pl.Series([(block * 37) % 6 - 2.5 for block in blocks])),
    )
    return replace(experiment, order="interleaved"), design, table, trials


def test_a_report_compares_within_interleaved_replicates() -> None:
    experiment, design, table, trials = interleave(0.2)
    response = experiment.responses[0]
    within = analyze_response(experiment, design, table, response)
    without = analyze_response(replace(experiment, order="random"), design, table, response)
    assert within.blocked is not None
    assert without.blocked is None
    assert within.blocked.fit.blocks == ("1", "2", "3", "4", "5", "6")
    assert within.comparison is not None
    assert without.comparison is not None
    narrow, wide = (a.comparison.pairs[0].difference for a in (within, without))
    assert narrow.high - narrow.low < (wide.high - wide.low) / 4
    assert within.blocked.model.block_gain is not None
    page = write_report(experiment, design, table, trials)
    assert "block (order of the run)" in page.html
    assert "within blocks" in page.answer.method


def test_blocks_that_cannot_be_used_are_left_out_with_a_reason() -> None:
    experiment, design, table, _ = interleave(0.0)
    ended = table.with_columns(
        block=pl.when(pl.col("package") == "xz").then(pl.lit("1")).otherwise(pl.lit("2"))
    )
    analysis = analyze_response(experiment, design, ended, experiment.responses[0])
    assert analysis.blocked is None
    assert analysis.comparison is not None
    assert any("blocks are left out" in warning for warning in analysis.warnings)


@pytest.mark.parametrize("factors", [True, False], ids=["factors", "none"])
def test_the_mean_of_one_package_allows_for_other_blocks(factors: bool) -> None:
    """As many trials as one likes within a block say nothing about the next one."""
    experiment, design, table, _ = interleave(0.2, packages=1)
    if not factors:
        names = ("optimization", "aslr")
        design = replace(design, factors=tuple(item for item in design.factors if item.name not in names))
        experiment = replace(experiment, factors=())
        # The first level of one and the other: six trials of each block.
        table = table.filter(pl.col("optimization") != "-O0").drop(*names)
    within = analyze_response(experiment, design, table, experiment.responses[0]).mean
    assert within is not None
    rate = table.filter((pl.col("response") == "rate") & pl.col("valid"))
    of_blocks = rate.group_by("block").agg(pl.col("value").mean())["value"].to_numpy()
    half = float(stats.t.ppf(0.975, 5)) * float(np.std(of_blocks, ddof=1)) / np.sqrt(6)
    assert within.value.high - within.value.low == pytest.approx(2 * half, rel=0.1)
