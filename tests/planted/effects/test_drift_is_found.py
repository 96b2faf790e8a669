"""Drift that is there is found with its size, none is found where there is none, and blocks take it out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from running.nightly import choose_count

from datamill.analysis.contrasts.blocks import fit_blocks
from datamill.analysis.drift.drift import RunOrder
from datamill.analysis.drift.find import find_drift
from datamill.analysis.levels.packages import compare_packages
from datamill.analysis.model_data.cells import ModelFactor, gather_cells

EXPERIMENTS = choose_count(100, 200)
#: 5% of them, and four standard deviations more: of 200 they are 22.
MOST_WRONG = int(0.05 * EXPERIMENTS + 4 * (0.05 * 0.95 * EXPERIMENTS) ** 0.5)


def run_trials(
    rng: np.random.Generator,
    points: int,
    replicates: int,
    *,
    drift=lambda place: 0.0 * place,
    interleaved: bool = False,
    heavy: bool = False,
    blocks: int = 1,
    spread: float = 0.01,
) -> RunOrder:
    """An experiment of two packages; spread and mean differ between design points."""
    point = rng.permutation(np.repeat(np.arange(points), replicates))
    if interleaved:
        point = np.concatenate([rng.permutation(points) for _ in range(replicates)])
    n = point.size
    place = np.arange(n) / (n - 1)
    noise = rng.standard_t(2, n) if heavy else rng.standard_normal(n)
    values = 10.0 ** rng.uniform(0, 2, points)[point] * (1 + spread * (1 + point % 3) * noise + drift(place))
    return RunOrder(
        values=values,
        point=point,
        package=point % 2,
        reference=point == points - 1,
        block=np.arange(n) * blocks // n,
        packages=("a", "b"),
        blocks=tuple(f"hour {number + 1}" for number in range(blocks)),
    )


@pytest.mark.parametrize(
    ("points", "replicates", "interleaved", "heavy", "blocks"),
    [(20, 2, False, False, 1), (4, 10, True, True, 1), (6, 12, False, True, 8)],
)
def test_without_drift_it_is_found_no_more_often_than_alpha_says(
    points, replicates, interleaved, heavy, blocks
) -> None:
    rng = np.random.default_rng(20130421)
    found = 0
    for _ in range(EXPERIMENTS):
        order = run_trials(rng, points, replicates, interleaved=interleaved, heavy=heavy, blocks=blocks)
        drift = find_drift(order, compare_blocks=blocks > 1, alpha=0.05)
        assert drift is not None
        found += drift.kind != "none"
    assert 1 <= found <= MOST_WRONG


def test_a_steady_drift_is_found_and_its_interval_covers_it() -> None:
    rng = np.random.default_rng(5)
    found = covered = 0
    for _ in range(60):
        order = run_trials(rng, 6, 10, drift=lambda place: 0.05 * place)
        drift = find_drift(order, alpha=0.01)
        assert drift is not None
        found += drift.kind == "trend"
        # In percent of the mean, which half of the drift has raised.
        covered += drift.trend.change.low <= 5 / 1.025 <= drift.trend.change.high
    assert found >= 56
    assert covered >= 50


@pytest.mark.parametrize("blocks", [1, 12])
def test_a_lucky_hour_is_found_where_it_was(blocks: int) -> None:
    rng = np.random.default_rng(6)
    found = 0
    for _ in range(20):
        order = run_trials(
            rng, 6, 40, drift=lambda place: -0.1 * ((place > 0.5) & (place < 7 / 12)), blocks=blocks
        )
        drift = find_drift(order, compare_blocks=blocks > 1, alpha=0.01)
        assert drift is not None
        if drift.kind != "stretch":
            continue
        assert drift.stretch is not None
        overlap = min(drift.stretch.last, 140) - max(drift.stretch.first, 121) + 1
        found += overlap >= 17 and drift.stretch.last - drift.stretch.first <= 23
        assert -12 < drift.stretch.shift.estimate < -8
        assert drift.stretch.block == ("hour 7" if blocks > 1 else "")
    assert found >= 18


def test_an_experiment_that_is_too_large_to_deal_anew_keeps_its_rate() -> None:
    rng = np.random.default_rng(7)
    found = sum(
        drift.kind != "none"
        for drift in (find_drift(run_trials(rng, 4, 1100), alpha=0.05) for _ in range(12))
        if drift is not None
    )
    assert found <= 4


def test_a_package_that_ran_first_is_told_from_one_that_took_turns() -> None:
    rng = np.random.default_rng(8)
    order = run_trials(rng, 2, 40, drift=lambda place: 0.1 * place)
    by_turns = find_drift(order)
    assert by_turns is not None
    assert by_turns.imbalance < 0.2
    assert by_turns.distortion < 2
    place = np.arange(80) / 79
    ordered = replace(
        order,
        point=np.repeat([0, 1], 40),
        package=np.repeat([1, 0], 40),
        reference=np.zeros(80, dtype=bool),
        values=(1 + 0.1 * place) * (1 + 0.005 * rng.standard_normal(80)),
    )
    one_by_one = find_drift(ordered)
    assert one_by_one is not None
    assert one_by_one.imbalance == pytest.approx(40 / 79, rel=0.01)
    assert (one_by_one.earliest, one_by_one.latest) == ("b", "a")
    # Half of the 10% lie between the packages, which is all of their difference.
    assert 4 < one_by_one.distortion < 6


def test_few_trials_say_nothing_of_drift() -> None:
    rng = np.random.default_rng(9)
    assert find_drift(run_trials(rng, 10, 1)) is None
    assert find_drift(run_trials(rng, 4, 2)) is None


def test_values_that_are_all_the_same_do_not_drift() -> None:
    order = run_trials(np.random.default_rng(10), 4, 10)
    drift = find_drift(replace(order, values=np.ones(40)))
    assert drift is not None
    assert drift.kind == "none"
    assert drift.trend.change.estimate == 0


def test_comparisons_within_blocks_keep_alpha_and_see_more() -> None:
    rng = np.random.default_rng(11)
    wrong = {"within": 0, "without": 0}
    seen = {"within": 0, "without": 0}
    packages = ModelFactor("package", ("a", "b"))
    blocks = np.repeat(np.arange(10), 4)
    for _ in range(EXPERIMENTS):
        package = np.concatenate([rng.permutation([0, 0, 1, 1]) for _ in range(10)])
        noise = 3 * rng.standard_normal(10)[blocks] + rng.standard_normal(40) * (1 + package)
        for effect, count in ((0.0, wrong), (2.0, seen)):
            cells = gather_cells((packages,), package[:, None], 100 + effect * package + noise)
            fit = fit_blocks(cells, blocks, tuple("0123456789"))
            for name, given in (("within", fit), ("without", None)):
                pairs = compare_packages(
                    cells, factor=0, baseline="a", direction="higher", alpha=0.05, blocks=given
                ).pairs
                count[name] += pairs[0].verdict != "uncertain"
    assert 1 <= wrong["within"] <= MOST_WRONG
    assert seen["within"] > 2 * seen["without"]
