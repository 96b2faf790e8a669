"""Screening: planted active factors are found, inactive ones stay silent at the stated rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from running.nightly import choose_count
from scipy.stats import binom

from datamill.analysis.answer.screening import Screening, find_observed_aliases, screen_factors
from datamill.analysis.contrasts.blocks import fit_blocks
from datamill.analysis.contrasts.lenth import estimate_pseudo_error, find_pseudo_critical, judge_effects
from datamill.analysis.model_data.cells import ModelFactor, gather_cells
from datamill.design.points.fractional import find_fraction
from datamill.design.points.plackett_burman import build_folded_plackett_burman, build_plackett_burman

FOLDED = build_folded_plackett_burman(11)
FRACTION = find_fraction(7, 4).list_signs()
ROUNDS = choose_count(200, 400)


def screen(
    signs: np.ndarray,
    *,
    seed: int,
    replicates: int = 2,
    active: Mapping[int, float] | None = None,
    interactions: Sequence[tuple[int, int, float]] = (),
    packages: int = 1,
    lost: int = 0,
    noise: float = 1.0,
) -> Screening:
    """Screen made-up data of mean 100; effects are whole changes from the low to the high level."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(signs, replicates, axis=0)
    values = np.full(len(rows), 100.0)
    for factor, size in (active or {}).items():
        values += size / 2 * rows[:, factor]
    for first, second, size in interactions:
        values += size / 2 * rows[:, first] * rows[:, second]
    factors = [ModelFactor(f"f{at}", ("low", "high")) for at in range(signs.shape[1])]
    codes = (rows > 0).astype(np.int64)
    if packages > 1:
        factors.append(ModelFactor("package", tuple(f"p{at}" for at in range(packages))))
        codes = np.concatenate([np.column_stack([codes, np.full(len(codes), at)]) for at in range(packages)])
        values = np.tile(values, packages)
    values += noise * rng.standard_normal(values.size)
    kept = np.sort(rng.permutation(values.size)[lost:])
    return screen_factors(
        gather_cells(factors, codes[kept], values[kept]),
        [f"f{at}" for at in range(signs.shape[1])],
        package_factor=signs.shape[1] if packages > 1 else None,
        package="p0",
    )


@pytest.mark.parametrize("replicates", [2, 1])
def test_planted_factors_are_found_strongest_first(replicates: int) -> None:
    found = screen(FOLDED, seed=1, replicates=replicates, active={2: -9.0, 7: 6.0})
    assert found.survivors == ("f2", "f7")
    strongest = found.effects[0]
    assert strongest.factor == "f2"
    assert strongest.effect.low < -9 < strongest.effect.high
    assert strongest.percent is not None
    assert strongest.percent.estimate == pytest.approx(-9, abs=1.5)


@pytest.mark.parametrize(
    ("signs", "replicates", "packages"), [(FOLDED, 2, 1), (FOLDED, 1, 1), (FRACTION, 1, 1), (FRACTION, 2, 2)]
)
def test_no_factor_survives_by_chance_more_often_than_stated(
    signs: np.ndarray, replicates: int, packages: int
) -> None:
    # 1% of experiments at most have a false survivor, and more than these by chance once in a thousand.
    false = sum(
        bool(screen(signs, seed=seed, replicates=replicates, packages=packages).survivors)
        for seed in range(ROUNDS)
    )
    assert false <= binom.ppf(0.999, ROUNDS, 0.01)


@pytest.mark.parametrize(("signs", "replicates"), [(FOLDED, 2), (FOLDED, 1), (FRACTION, 1)])
def test_intervals_cover_as_stated(signs: np.ndarray, replicates: int) -> None:
    covered = [
        effect.effect.low <= (4.0 if effect.factor == "f1" else 0.0) <= effect.effect.high
        for seed in range(ROUNDS)
        for effect in screen(signs, seed=seed, replicates=replicates, active={1: 4.0}).effects
    ]
    assert 0.93 < np.mean(covered) < 0.97


def test_interactions_spoil_no_main_effect_of_a_folded_design_and_are_reported() -> None:
    interactions = [(1, 2, 10.0), (3, 4, -8.0)]
    found = [screen(FOLDED, seed=seed, interactions=interactions) for seed in range(200)]
    assert sum(bool(item.survivors) for item in found) <= 8
    assert all(any("depends on other factors" in warning for warning in item.warnings) for item in found)
    alone = screen(FOLDED, seed=1, replicates=1, interactions=interactions)
    assert any("interactions go unnoticed" in warning for warning in alone.warnings)
    means = np.mean(
        [
            [effect.effect.estimate for effect in sorted(item.effects, key=lambda e: e.factor)]
            for item in found
        ],
        axis=0,
    )
    assert np.all(np.abs(means) < 0.1)


def test_a_design_of_resolution_three_says_which_interaction_a_survivor_may_be() -> None:
    signs = find_fraction(7, 3).list_signs()
    # The first two factors' interaction alone; their product is the column of another factor.
    product = signs[:, 0] * signs[:, 1]
    victim = next(at for at in range(7) if abs(int(signs[:, at] @ product)) == len(signs))
    found = screen(signs, seed=3, interactions=[(0, 1, 12.0)])
    assert found.survivors == (f"f{victim}",)
    cells = gather_cells(
        [ModelFactor(f"f{at}", ("low", "high")) for at in range(7)],
        (signs > 0).astype(np.int64),
        np.arange(8.0),
    )
    structure = find_observed_aliases(cells, [f"f{at}" for at in range(7)])
    assert structure is not None
    assert "f0:f1" in structure.find_group(f"f{victim}")


def test_a_plackett_burman_design_without_foldover_leaks_a_third_of_an_interaction() -> None:
    signs = build_plackett_burman(11)
    found = screen(signs, seed=3, interactions=[(0, 1, 12.0)], noise=1e-3)
    sizes = {effect.factor: abs(effect.effect.estimate) for effect in found.effects}
    assert sizes["f0"] == pytest.approx(0, abs=0.01)
    assert all(sizes[f"f{at}"] == pytest.approx(4, abs=0.01) for at in range(2, 11))


def test_factors_that_lost_trials_made_one_are_not_judged() -> None:
    signs = np.array([[-1, -1, -1], [-1, -1, 1], [1, 1, -1], [1, 1, 1]])
    found = screen(signs, seed=1, replicates=3, active={2: 20.0})
    assert found.unknown == ("f0", "f1")
    assert found.survivors == ("f2",)


def test_lost_trials_leave_the_rest_sound() -> None:
    found = [screen(FOLDED, seed=seed, active={5: 5.0}, lost=7) for seed in range(200)]
    assert all(item.survivors[:1] == ("f5",) for item in found)
    assert sum(len(item.survivors) > 1 for item in found) <= 8


def test_blocks_that_differ_hide_nothing_and_feign_nothing() -> None:
    names = [f"f{at}" for at in range(11)]
    false = found = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        rows, block = np.tile(FOLDED, (3, 1)), np.repeat(np.arange(3), len(FOLDED))
        values = 100 + 1.5 * rows[:, 1] + 30.0 * block + rng.standard_normal(len(rows))
        cells = gather_cells(
            [ModelFactor(name, ("low", "high")) for name in names], (rows > 0).astype(np.int64), values
        )
        screening = screen_factors(cells, names, blocks=fit_blocks(cells, block, ("1", "2", "3")))
        assert screening.errors[0].source == "blocks"
        found += "f1" in screening.survivors
        false += any(name != "f1" for name in screening.survivors)
    assert found == 150
    assert false <= 6


def test_what_a_build_happens_to_be_is_not_taken_for_the_effect_of_a_build_factor() -> None:
    names = [f"f{at}" for at in range(11)]
    false = found = naive = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        rows = np.repeat(FOLDED, 4, axis=0)
        # The first two factors need builds of their own: four of each combination, in all points with it.
        build = 4 * (rows[:, 0] > 0) + 8 * (rows[:, 1] > 0) + np.tile(np.arange(4), len(FOLDED))
        values = (
            100 + 1.5 * rows[:, 5] + 2.0 * rng.standard_normal(16)[build] + rng.standard_normal(len(rows))
        )
        plain = gather_cells(
            [ModelFactor(name, ("low", "high")) for name in names], (rows > 0).astype(np.int64), values
        )
        screening = screen_factors(replace(plain, builds=build), names)
        assert screening.errors[0].source == "builds"
        found += "f5" in screening.survivors
        false += any(name != "f5" for name in screening.survivors)
        naive += any(name != "f5" for name in screen_factors(plain, names).survivors)
    assert found >= 145
    assert false <= 6
    assert naive > 30, "otherwise this test could not fail"


def test_what_cannot_be_excluded_is_told_from_what_is_quiet() -> None:
    quiet = screen(FOLDED, seed=1, replicates=2, noise=0.2)
    assert quiet.survivors == quiet.unresolved == ()
    assert len(quiet.quiet) == 11
    loud = screen(FOLDED, seed=1, replicates=2, noise=20.0)
    assert len(loud.unresolved) == 11


def test_values_that_never_vary_are_not_judged() -> None:
    found = screen(FOLDED, seed=1, noise=0.0, active={1: 3.0})
    assert found.survivors == ()
    assert any("no error to judge by" in warning for warning in found.warnings)


def test_too_few_effects_without_replicates_say_nothing() -> None:
    found = screen(find_fraction(2, 4).list_signs(), seed=1, replicates=1)
    assert found.effects == ()
    assert "raise replicates" in found.warnings[0]


def test_the_pseudo_standard_error_is_as_defined_and_has_the_published_critical_values() -> None:
    # Lenth (1989), section 2: s0 = 1.5 x median, outliers beyond 2.5 s0 left out, then again.
    effects = np.array([0.1, -0.2, 0.3, -0.4, 0.5, 10.0, -12.0])
    first = 1.5 * 0.4
    assert first == pytest.approx(0.6)
    assert estimate_pseudo_error(effects) == pytest.approx(1.5 * 0.3)
    assert judge_effects(effects)[-1] < 0.01 < judge_effects(effects)[0]
    # Ye and Hamada (2000), Table 1: individual critical value of 7 contrasts at 5% is 2.30, of 15 it is 2.16.
    assert find_pseudo_critical(7, 0.95) == pytest.approx(2.30, abs=0.03)
    assert find_pseudo_critical(15, 0.95) == pytest.approx(2.16, abs=0.03)
