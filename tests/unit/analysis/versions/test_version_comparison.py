"""Versions compared: verdicts, what it takes to tell, what cannot be compared; and series of them."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from made.nested_draws import draw_version, take_one_build
from scipy.stats import ttest_rel

from datamill.analysis.interval import Interval
from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.versions.compare import compare_versions
from datamill.analysis.versions.history import find_changes
from datamill.analysis.versions.means import estimate_version_mean, list_unit_means
from datamill.analysis.versions.version_comparison import VersionMean
from datamill.experiment.errors import InputError
from datamill.report.compare.answer import phrase_cost, scale_comparison, state_answer
from datamill.report.compare.history_figure import draw_history
from datamill.report.compare.json import spell_comparison
from datamill.report.compare.statement import state_comparison
from datamill.report.compare.version_figure import draw_changes
from datamill.report.figures.figure import write_figure
from datamill.report.tables.envelope import write_json
from datamill.report.tables.text import render_text
from datamill.results.judgement.costs import RepetitionCosts


def make_version(name: str, builds: list[float], unit: str = "ms", response: str = "latency") -> NestedValues:
    """A version whose builds have one execution of one measurement each."""
    offsets = np.arange(len(builds) + 1)
    return NestedValues(name, response, unit, np.array(builds), offsets, offsets)


def make_mean(name: str, mean: float, error: float = 0.3, units: int = 6) -> VersionMean:
    value = Interval(mean, mean - 2 * error, mean + 2 * error)
    return VersionMean(
        name, "build", units, units, 1.0, 1.0, units, value, value, units - 1.0, error**2, error * units**0.5
    )


STEADY = [100.0, 100.1, 99.9, 100.05, 99.95, 100.0]


def test_the_three_verdicts_follow_from_the_interval_and_the_threshold() -> None:
    versions = [
        make_version("base", STEADY),
        make_version("same", [value + 0.02 for value in STEADY]),
        make_version("slower", [value + 5 for value in STEADY]),
        make_version("noisy", [90.0, 112.0, 95.0, 108.0, 99.0, 101.0]),
        make_version("little", [value + 0.5 for value in STEADY]),
    ]
    comparison = compare_versions(versions, threshold=0.01, direction="lower")
    verdicts = {change.version: change.verdict for change in comparison.changes}
    assert verdicts == {
        "same": "unchanged", "slower": "changed", "noisy": "cannot tell", "little": "unchanged",
    }  # fmt: skip
    little = comparison.changes[3]
    assert little.detected
    assert little.within
    text = " ".join(state_answer(comparison))
    assert "slower has changed: its latency is 5.0" in text
    assert "which is worse" in text
    assert "little is unchanged within ±1% of base" in text
    assert "A difference (worse) was detected, too small to matter." in text
    assert "The data cannot tell yet whether noisy has changed" in text


def test_pairs_follow_the_baseline_or_the_version_before() -> None:
    versions = [make_version(name, [value + at for value in STEADY]) for at, name in enumerate("abc")]
    assert [(c.version, c.baseline) for c in compare_versions(versions, baseline="b").changes] == [
        ("a", "b"), ("c", "b"),
    ]  # fmt: skip
    assert [(c.version, c.baseline) for c in compare_versions(versions, consecutive=True).changes] == [
        ("b", "a"), ("c", "b"),
    ]  # fmt: skip


def test_the_ratio_leaves_out_one_exactly_where_the_difference_leaves_out_zero() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        pair = [draw_version(rng, name, (4, 2, 2)) for name in ("a", "b")]
        change = compare_versions(pair).changes[0]
        assert change.ratio is not None
        assert change.ratio.low is not None
        assert change.ratio.high is not None
        apart = change.difference.low > 0 or change.difference.high < 0
        assert apart == (change.ratio.low > 1 or change.ratio.high < 1)
        assert change.p is not None
        assert apart == (change.p < 0.05)


def test_one_build_is_compared_by_its_executions_with_a_loud_warning() -> None:
    rng = np.random.default_rng(2)
    pair = [take_one_build(draw_version(rng, name, (2, 8, 4))) for name in ("a", "b")]
    comparison = compare_versions(pair)
    assert {mean.level for mean in comparison.means} == {"execution"}
    assert "one build only. Differences between builds are in no interval" in comparison.warnings[0]
    assert "(one build)" in render_text(state_comparison(comparison))


def test_one_execution_is_compared_by_its_measurements_with_a_louder_warning() -> None:
    rng = np.random.default_rng(2)
    pair = [draw_version(rng, name, (1, 1, 20)) for name in ("a", "b")]
    comparison = compare_versions(pair)
    assert {mean.level for mean in comparison.means} == {"measurement"}
    assert "a verdict is about this one process" in comparison.warnings[0]


def test_versions_that_never_vary_differ_as_measured() -> None:
    versions = [make_version("a", [7.0] * 3), make_version("b", [7.0] * 3), make_version("c", [8.0] * 3)]
    comparison = compare_versions(versions, direction="lower")
    assert [(change.verdict, change.p) for change in comparison.changes] == [
        ("unchanged", None), ("changed", None),
    ]  # fmt: skip
    assert "do not differ at all" in comparison.warnings[0]
    assert "14.29% higher than a's as measured, which is worse" in " ".join(state_answer(comparison))


def test_means_that_are_not_above_zero_have_a_difference_and_no_percentage() -> None:
    comparison = compare_versions([make_version("a", [-1.0, 1.0, 0.5]), make_version("b", [9.0, 9.5, 10.0])])
    change = comparison.changes[0]
    assert change.verdict == "changed"
    assert change.percent is not None or change.ratio is None or change.ratio.note
    negative = compare_versions([make_version("a", [-1.0, -1.2]), make_version("b", [-1.1, -1.3])])
    assert negative.changes[0].verdict == "cannot tell"
    assert "need" in phrase_cost(negative.changes[0], negative)
    assert "not above zero" in negative.warnings[0]
    assert draw_changes(negative, {"a": np.array([-1.2, -1.0]), "b": np.array([-1.3, -1.1])}).chart


def test_more_builds_are_asked_for_where_it_cannot_be_told_and_costs_become_time() -> None:
    noisy = [make_version("a", [98.0, 103.0, 100.0, 99.0]), make_version("b", [97.0, 104.0, 101.0, 100.0])]
    costs = RepetitionCosts(build_s=10.0, execution_s=1.0, measurement_s=0.5, source="made up")
    comparison = compare_versions(noisy, costs=costs)
    cost = comparison.changes[0].cost
    assert cost is not None
    assert cost.builds is not None
    assert cost.builds > 50
    assert cost.seconds == pytest.approx(2 * (cost.builds - 4) * 11.5)
    assert f"{cost.builds - 4} more of each" in phrase_cost(comparison.changes[0], comparison)


def test_holm_detects_what_bonferroni_misses_and_both_say_how() -> None:
    versions = [make_version("base", STEADY)]
    versions += [make_version(f"far{at}", [value + 9 for value in STEADY]) for at in range(3)]
    versions.append(make_version("near", [value + 0.12 for value in STEADY]))
    holm = compare_versions(versions, adjustment="holm", threshold=0.001)
    bonferroni = compare_versions(versions, threshold=0.001)
    assert holm.changes[-1].detected
    assert not bonferroni.changes[-1].detected
    assert "Holm" in holm.method
    assert "Bonferroni" in bonferroni.method


def test_what_cannot_be_compared_is_refused_with_what_to_do() -> None:
    one = make_version("a", STEADY)
    cases = [
        ([one], "one version only"),
        ([one, one], 'two versions are called "a"'),
        ([one, make_version("b", STEADY, unit="s")], "is in s"),
        ([one, make_version("b", STEADY, response="size")], "different things"),
        ([one, make_version("b", [1.0])], "single measurement"),
    ]
    for versions, words in cases:
        with pytest.raises(InputError, match=words):
            compare_versions(versions)
    with pytest.raises(InputError, match='no version "z"'):
        compare_versions([one, make_version("b", STEADY)], baseline="z")


def test_builds_with_different_numbers_of_executions_count_the_same() -> None:
    uneven = NestedValues(
        "a", "latency", "ms", np.array([1.0, 3.0, 10.0]), np.array([0, 1, 2, 3]), np.array([0, 2, 3])
    )
    mean = estimate_version_mean(uneven, 0.95)
    assert mean.value.estimate == pytest.approx(6.0)
    comparison = compare_versions([uneven, make_version("b", [5.0, 6.0])])
    assert any("each build counts the same" in warning for warning in comparison.warnings)


def test_units_and_offsets_do_not_change_a_verdict() -> None:
    rng = np.random.default_rng(4)
    pair = [draw_version(rng, name, (6, 2, 2)) for name in ("a", "b")]
    first = compare_versions(pair).changes[0]
    tiny = [replace(item, values=item.values * 1e-100) for item in pair]
    change = compare_versions(tiny).changes[0]
    assert change.verdict == first.verdict
    assert change.p == pytest.approx(first.p)
    assert change.ratio is not None
    assert first.ratio is not None
    assert change.ratio.low == pytest.approx(first.ratio.low)


def test_a_series_finds_its_step_and_says_up_to_where() -> None:
    means = [make_mean(f"v{at}", 100.0 if at < 5 else 104.0) for at in range(10)]
    history = find_changes(means)
    assert [change.at for change in history.changes] == [5]
    assert history.changes[0].difference.estimate == pytest.approx(4.0)
    assert [(item.first, item.last) for item in history.segments] == [(0, 4), (5, 9)]


def test_a_series_of_equal_means_has_no_change() -> None:
    assert not find_changes([make_mean(f"v{at}", 100.0) for at in range(8)]).changes


def test_a_version_that_stands_out_is_no_change_and_the_last_one_is_marked_as_uncertain() -> None:
    values = [100.0] * 5 + [104.0] + [100.0] * 5
    lone = find_changes([make_mean(f"v{at}", value) for at, value in enumerate(values)])
    assert not lone.changes
    assert [item.version for item in lone.lone] == ["v5"]
    last = find_changes([make_mean(f"v{at}", value) for at, value in enumerate([100.0] * 6 + [105.0])])
    assert [change.version for change in last.changes] == ["v6"]
    assert "v6 alone" in last.warnings[0]


def test_a_series_that_never_varies_changes_where_it_differs() -> None:
    history = find_changes(
        [make_mean(f"v{at}", value, error=0.0) for at, value in enumerate([1.0, 1.0, 2.0, 2.0])]
    )
    assert [change.version for change in history.changes] == ["v2"]
    assert "do not vary at all" in history.warnings[0]


def test_a_series_of_two_is_refused() -> None:
    with pytest.raises(InputError, match="a series takes 3"):
        find_changes([make_mean("a", 1.0), make_mean("b", 2.0)])


def test_the_same_seed_gives_the_same_penalty() -> None:
    means = [make_mean(f"v{at}", 100.0) for at in range(6)]
    assert find_changes(means, seed=3).penalty == find_changes(means, seed=3).penalty
    assert find_changes(means, seed=3).penalty != find_changes(means, seed=4).penalty


def test_json_and_figures_hold_what_the_text_says() -> None:
    rng = np.random.default_rng(6)
    versions = [
        draw_version(rng, f"it's v{at}", (5, 2, 2), mean=100.0 + 4 * (at > 3), spreads=(0.5, 0.2, 0.2))
        for at in range(8)
    ]
    comparison = compare_versions(versions, consecutive=True)
    history = find_changes(comparison.means)
    content = json.loads(write_json(spell_comparison(comparison, history)))
    assert [item["version"] for item in content["history"]["changes"]] == ["it's v4"]
    assert content["changes"][3]["verdict"] == "changed"
    assert len(content["versions"]) == 8
    for figure in (draw_history(comparison, history), draw_history(comparison)):
        assert figure.chart["layer"]
    units = {item.version: list_unit_means(item, "build") for item in versions}
    figure = draw_changes(comparison, units)
    observations, changes = figure.chart["hconcat"]
    points = observations["layer"][0]["data"]["values"]
    assert [row["value"] for row in points if row["level"] == "it's v4"] == pytest.approx(units["it's v4"])
    assert all(len(units[item.version]) == 5 for item in versions)
    drawn = next(layer for layer in changes["layer"] if layer["mark"]["type"] == "point")
    assert [row["level"] for row in drawn["data"]["values"]] == [f"it's v{at}" for at in range(1, 8)]
    assert "all 40 builds" in figure.caption
    assert "95%" in figure.caption
    assert scale_comparison(comparison).unit == "ms"
    assert render_text(state_comparison(comparison, history)).startswith(
        "latency changes 1 time in 8 versions: at it's v4."
    )


@pytest.mark.parametrize("few", [2, 3, 5])
def test_few_builds_beside_many_miss_the_difference_no_oftener_than_stated(few: int) -> None:
    rng = np.random.default_rng(7)
    drawn, missed = 1500, 0
    for _ in range(drawn):
        pair = [
            make_version(name, list(rng.normal(100.0, 1.0, count))) for name, count in (("a", few), ("b", 20))
        ]
        difference = compare_versions(pair).changes[0].difference
        missed += not difference.low <= 0 <= difference.high
    # Welch's own degrees of freedom miss in 12%, 8% and 6%.
    assert missed / drawn < 0.05 + 2.6 * (0.05 * 0.95 / drawn) ** 0.5


def test_versions_measured_in_the_same_builds_differ_by_what_each_build_differs() -> None:
    rng = np.random.default_rng(3)
    builds = rng.normal(100.0, 3.0, 6)
    names = tuple(f"one#{at}" for at in range(6))
    pair = [
        replace(make_version(name, list(builds + shift + rng.normal(0.0, 0.1, 6))), build_names=names)
        for name, shift in (("on", 0.0), ("off", 2.0))
    ]
    change = compare_versions(pair).changes[0]
    paired = ttest_rel(pair[1].values, pair[0].values)
    bounds = paired.confidence_interval(0.95)
    assert change.common_builds == 6
    assert (change.df, change.p) == (5, pytest.approx(paired.pvalue))
    assert (change.difference.low, change.difference.high) == (
        pytest.approx(bounds.low), pytest.approx(bounds.high),
    )  # fmt: skip
    assert change.ratio is not None
    assert change.ratio.low is not None
    assert change.ratio.low > 1
    for without in ((), (*names[:-1], "other#5")):
        assert not compare_versions([replace(pair[0], build_names=without), pair[1]]).changes[0].detected


def test_what_is_left_to_tell_of_common_builds_is_counted_in_such_builds() -> None:
    rng = np.random.default_rng(4)
    builds = rng.normal(100.0, 3.0, 6)
    names = tuple(f"one#{at}" for at in range(6))
    pair = [
        replace(make_version(name, list(builds + rng.normal(0.0, 1.0, 6))), build_names=names)
        for name in ("on", "off")
    ]
    costs = RepetitionCosts(10.0, 1.0, 0.0, "given")
    cost = compare_versions(pair, costs=costs).changes[0].cost
    apart = compare_versions([replace(item, build_names=()) for item in pair], costs=costs).changes[0].cost
    assert cost is not None
    assert apart is not None
    assert cost.builds is not None
    assert apart.builds is not None
    assert cost.builds < apart.builds / 3
    # A build serves both; each has an execution in it.
    assert cost.seconds == pytest.approx((cost.builds - 6) * 12.0)


def test_builds_that_differ_by_the_same_amount_are_said_to() -> None:
    names = tuple(f"one#{at}" for at in range(6))
    pair = [
        replace(make_version(name, [value + shift for value in STEADY]), build_names=names)
        for name, shift in (("on", 0.0), ("off", 8.0))
    ]
    text = " ".join(state_answer(compare_versions(pair)))
    assert "as measured; it was the same in every build" in text


def test_a_build_that_one_version_lost_is_warned_about_as_it_widens_the_interval() -> None:
    rng = np.random.default_rng(3)
    builds = rng.normal(100.0, 3.0, 6)
    names = tuple(f"one#{at}" for at in range(6))
    whole = replace(make_version("on", list(builds)), build_names=names)
    lost = replace(make_version("off", list(builds[1:] + 2.0)), build_names=names[1:])
    comparison = compare_versions([whole, lost])
    assert comparison.changes[0].common_builds == 0
    (warning,) = (text for text in comparison.warnings if "in common" in text)
    assert warning.startswith("off and on have 5 builds in common and 1 that only one of them has")
    assert "in common" not in " ".join(compare_versions([replace(whole, version="a"), whole]).warnings)


def test_names_of_versions_end_no_text_in_the_figure_of_their_history(tmp_path: Path) -> None:
    names = ["a\nb", "it's '+1+'", 'says "b"', "back\\", "line\u2028end", "</script>"]
    versions = [make_version(name, [10.0 + at, 10.1 + at, 9.9 + at]) for at, name in enumerate(names)]
    figure = draw_history(compare_versions(versions, consecutive=True))
    labels = figure.chart["layer"][0]["encoding"]["x"]["axis"]["labelExpr"]
    assert json.loads(labels.removesuffix("[datum.value]")) == names
    write_figure(figure, tmp_path / "history.svg")
    drawn = ElementTree.parse(tmp_path / "history.svg").getroot()
    assert "it's '+1+'" in [element.text for element in drawn.iter()]
