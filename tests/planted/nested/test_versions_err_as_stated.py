"""Versions compared where the truth is known: false alarms, coverage, changes that are there."""

import numpy as np
import pytest
from made.nested_draws import draw_version, take_one_build
from running.nightly import choose_count
from scipy.stats import binom

from datamill.analysis.versions.compare import compare_versions
from datamill.analysis.versions.history import VersionHistory, find_changes
from datamill.analysis.versions.means import estimate_version_mean
from datamill.analysis.versions.version_comparison import VersionChange

ALPHA = 0.05


def assert_rate_near(hits: int, draws: int, rate: float) -> None:
    low, high = binom.ppf((0.0005, 0.9995), draws, rate)
    assert low <= hits <= high, f"{hits / draws:.4f}, not {rate}"


def compare_two(
    rng: np.random.Generator, builds: int, change: float, *, single: bool = False
) -> VersionChange:
    old = draw_version(rng, "old", (builds, 5, 3), spreads=(3.0, 1.0, 1.0))
    new = draw_version(rng, "new", (builds, 5, 3), mean=100 * (1 + change), spreads=(3.0, 1.0, 1.0))
    pair = [take_one_build(old), take_one_build(new)] if single else [old, new]
    return compare_versions(pair, threshold=0.001).changes[0]


def test_equal_versions_of_many_builds_seem_changed_as_often_as_stated_and_of_one_build_mostly() -> None:
    draws = choose_count(400, 1000)
    alarms = {False: 0, True: 0}
    for single in alarms:
        rng = np.random.default_rng(1)
        alarms[single] = sum(
            compare_two(rng, 10, 0.0, single=single).verdict == "changed" for _ in range(draws)
        )
    assert_rate_near(alarms[False], draws, ALPHA)
    # The same data by a single build of each: the false verdicts that the paper is about (Figure 2, 40–60%).
    assert alarms[True] > 0.4 * draws


def test_a_change_of_three_percent_is_found_and_the_papers_rule_finds_it_later() -> None:
    rng = np.random.default_rng(2)
    found = [compare_two(rng, 30, 0.03) for _ in range(300)]
    detected = sum(change.verdict == "changed" and change.difference.estimate > 0 for change in found)
    by_paper = sum(change.paper_detects for change in found)
    assert detected > 0.93 * 300
    assert by_paper < detected


@pytest.mark.parametrize("builds", [5, 10, 30])
def test_differences_and_ratios_are_covered_though_variances_differ(builds: int) -> None:
    rng, draws = np.random.default_rng(builds), choose_count(600, 1500)
    covered = {"difference": 0, "ratio": 0}
    for _ in range(draws):
        old = draw_version(rng, "old", (builds, 3, 4))
        new = draw_version(rng, "new", (builds, 3, 4), mean=110.0, spreads=(0.6, 0.3, 1.0))
        change = compare_versions([old, new]).changes[0]
        assert change.ratio is not None
        assert change.ratio.low is not None
        assert change.ratio.high is not None
        covered["difference"] += change.difference.low <= 10 <= change.difference.high
        covered["ratio"] += change.ratio.low <= 1.1 <= change.ratio.high
    # Welch's degrees of freedom are estimated: with five builds intervals are a little short.
    slack = 0.008 if builds == 5 else 0.0
    for hits in covered.values():
        assert hits >= binom.ppf(0.0005, draws, 1 - ALPHA - slack), hits / draws
        assert hits <= binom.ppf(0.9995, draws, 1 - ALPHA), hits / draws


def test_intervals_of_several_versions_hold_together() -> None:
    rng, draws, missed = np.random.default_rng(5), choose_count(250, 600), 0
    for _ in range(draws):
        versions = [draw_version(rng, f"v{at}", (8, 2, 2)) for at in range(5)]
        changes = compare_versions(versions).changes
        missed += any(not change.difference.low <= 0 <= change.difference.high for change in changes)
    assert missed <= binom.ppf(0.9995, draws, ALPHA)


def test_a_version_is_seldom_called_unchanged_when_it_changed_by_the_threshold() -> None:
    rng, draws, wrong = np.random.default_rng(6), choose_count(400, 800), 0
    for _ in range(draws):
        old = draw_version(rng, "old", (12, 2, 2), spreads=(0.3, 0.1, 0.1))
        new = draw_version(rng, "new", (12, 2, 2), mean=101.001, spreads=(0.3, 0.1, 0.1))
        wrong += compare_versions([old, new]).changes[0].verdict == "unchanged"
    # One side of the interval only can err.
    assert wrong <= binom.ppf(0.9995, draws, ALPHA / 2)


def test_the_builds_that_would_tell_do_tell() -> None:
    rng = np.random.default_rng(17)
    pilot = [draw_version(rng, name, (8, 3, 2), spreads=(2.0, 0.5, 0.5)) for name in ("old", "new")]
    first = compare_versions(pilot, threshold=0.02).changes[0]
    assert first.verdict == "cannot tell"
    assert first.cost is not None
    assert first.cost.builds is not None
    shape = (first.cost.builds, 3, 2)
    told = 0
    for _ in range(100):
        more = [draw_version(rng, name, shape, spreads=(2.0, 0.5, 0.5)) for name in ("old", "new")]
        told += compare_versions(more, threshold=0.02).changes[0].verdict != "cannot tell"
    assert told > 80


def search(rng: np.random.Generator, means: list[float], builds: int, seed: int) -> VersionHistory:
    versions = [
        estimate_version_mean(
            draw_version(rng, f"v{at}", (builds, 2, 2), mean=mean, spreads=(1.0, 0.5, 0.5)), 0.95
        )
        for at, mean in enumerate(means)
    ]
    return find_changes(versions, alpha=ALPHA, seed=seed)


@pytest.mark.parametrize(("versions", "builds"), [(10, 5), (25, 3), (25, 10)])
def test_a_series_without_a_change_is_cut_as_seldom_as_stated(versions: int, builds: int) -> None:
    rng, draws = np.random.default_rng(versions + builds), choose_count(60, 120)
    cut = sum(
        bool((found := search(rng, [100.0] * versions, builds, at)).changes or found.lone)
        for at in range(draws)
    )
    assert cut <= binom.ppf(0.9995, draws, ALPHA)


def test_steps_of_three_percent_are_found_at_their_version_and_covered() -> None:
    rng, draws, found, covered, total = np.random.default_rng(8), 60, 0, 0, 0
    means = [100.0] * 8 + [103.0] * 8 + [100.0] * 8
    for at in range(draws):
        history = search(rng, means, 6, at)
        places = [change.at for change in history.changes]
        found += places == [8, 16]
        if places == [8, 16]:
            for change, step in zip(history.changes, (3.0, -3.0), strict=True):
                total += 1
                covered += change.difference.low <= step <= change.difference.high
    assert found > 0.75 * draws
    assert covered > 0.88 * total


def test_a_single_lucky_version_is_no_two_changes() -> None:
    rng, alone, cut = np.random.default_rng(9), 0, 0
    means = [100.0] * 9 + [96.0] + [100.0] * 9
    for at in range(30):
        history = search(rng, means, 6, at)
        alone += [item.at for item in history.lone] == [9]
        cut += len(history.changes) > 1
    assert alone > 24
    assert cut < 4
