"""What is said of groups, variability and distributions: the words, and when they are used."""

from dataclasses import astuple

import numpy as np
import pytest

from datamill.analysis.distribution.summary import summarize_distributions
from datamill.analysis.distribution.variability import measure_variability
from datamill.analysis.distribution.variability_comparison import compare_variability
from datamill.analysis.distribution.windows import analyze_windows
from datamill.analysis.groups.comparison import compare_groups
from datamill.analysis.groups.group_comparison import Group, GroupComparison, Stratum
from datamill.analysis.groups.means.variance_tests import compare_brown_forsythe
from datamill.analysis.groups.permutation import permute_two_groups
from datamill.analysis.groups.ranks import rank_tests
from datamill.analysis.groups.ranks.rank_tests import compare_mann_whitney
from datamill.analysis.groups.splitting import find_factor, split_groups
from datamill.analysis.model_data.cells import Cells, ModelFactor, gather_cells
from datamill.analysis.model_data.observations import Covariate, Observations
from datamill.experiment.errors import InputError
from datamill.report.summary.statement import state_summary
from datamill.report.tables.envelope import write_json
from datamill.report.tables.text import render_text
from datamill.report.tests.figures import draw_comparison
from datamill.report.tests.json import spell_tests
from datamill.report.tests.statement import ResponseNotes, collect_warnings, phrase_answer, state_tests
from datamill.report.variability.json import spell_variability
from datamill.report.variability.statement import phrase_variability, state_variability
from datamill.report.words.scales import Scale

NOTES = ResponseNotes("latency", "s", excluded=3, averaged=2, partly_valid=1)
RNG = np.random.default_rng(1)
NEAR, FAR = RNG.normal(1.0, 0.1, 20), RNG.normal(2.0, 0.1, 20)


def compare(*values: np.ndarray, **options: str) -> GroupComparison:
    groups = tuple(Group("abcdef"[index], part) for index, part in enumerate(values))
    return compare_groups([Stratum((), groups)], "sched", **options)  # type: ignore[arg-type]


def make_cells(values: list[float], codes: list[int], names: tuple[str, ...] = ("a", "b")) -> Cells:
    return gather_cells([ModelFactor("f", names)], [np.array(codes)], np.array(values))


def test_the_answer_names_the_larger_group_first_and_carries_every_interval() -> None:
    said = phrase_answer("latency", compare(NEAR, FAR, assumption="normal"), Scale(1.0, "s"))
    assert said.startswith("The latency of b is larger than that of a (p = ")
    assert said.count("95% interval") == 2
    assert "difference of means +" in said


def test_without_a_detected_difference_the_answer_says_what_remains_possible() -> None:
    said = phrase_answer("latency", compare(NEAR, NEAR + 0.001), Scale(1.0, "s"))
    assert said.startswith("No difference in latency between a and b was detected (p = ")
    assert "95% interval" in said


def test_spread_is_called_spread() -> None:
    said = phrase_answer("latency", compare(NEAR, 1 + 9 * (NEAR - 1), aspect="spread"), Scale(1.0, "s"))
    assert said.startswith("The spread of latency of b is larger than that of a")


def test_of_several_groups_the_clearest_pair_is_told_and_how_many_others_there_are() -> None:
    found = compare(NEAR, NEAR + 0.01, FAR)
    said = phrase_answer("latency", found, Scale(1.0, "s"))
    assert said.endswith("2 of 3 comparisons tell their groups apart.")
    alike = phrase_answer("latency", compare(NEAR, NEAR, NEAR), Scale(1.0, "s"))
    assert alike.startswith("No two groups of sched are told apart by latency (3 comparisons")
    assert "Kruskal-Wallis" in found.method
    assert "(Holm)" in found.method


def test_what_became_of_rows_is_said() -> None:
    text = render_text(state_tests(NOTES, compare(NEAR, FAR)))
    assert "Excluded: 3 invalid rows" in text
    assert "2 trials have several measurements, averaged: they are not replicates" in text
    assert "1 trials have invalid measurements besides valid ones" in text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_unequal_spread_under_ranks_is_not_a_test_of_medians() -> None:
    said = " ".join(collect_warnings(compare(RNG.normal(0, 1, 200), RNG.normal(0, 9, 200))))
    assert "spreads differ" in said
    assert "not that the medians do" in said
    assert "spreads differ" not in " ".join(collect_warnings(compare(NEAR, FAR)))


def test_data_that_speak_against_the_assumption_are_named() -> None:
    skewed = RNG.lognormal(0, 1.5, 100)
    said = " ".join(collect_warnings(compare(skewed, NEAR, assumption="normal", aspect="spread")))
    assert "a do not look normal" in said
    assert "wrong, however many" in said
    said = " ".join(
        collect_warnings(
            compare(RNG.normal(0, 1, 99), RNG.normal(0, 9, 99), assumption="normal-equal-variances")
        )
    )
    assert 'choose assume="normal"' in said


def test_ties_are_mentioned() -> None:
    found = compare(np.array([1.0, 2, 2, 3, 5]), np.array([2.0, 3, 3, 4, 4]))
    assert any("ties" in warning for warning in collect_warnings(found))
    assert not any("ties" in warning for warning in collect_warnings(compare(NEAR, FAR)))


@pytest.mark.parametrize("assumption", ["normal", "normal-equal-variances"])
def test_without_variation_there_is_neither_interval_nor_p(assumption: str) -> None:
    found = compare(np.full(4, 1.0), np.full(4, 2.0), assumption=assumption)
    pair = found.strata[0].pairs[0]
    assert (pair.test.p, pair.test.estimates) == (None, ())
    assert "nothing varies" in phrase_answer("latency", found, Scale(1.0, "s"))
    with pytest.raises(InputError, match="no pair has an estimate"):
        draw_comparison("latency", "s", found)


def test_ranks_of_constant_groups_have_a_p_and_a_share_but_no_shift() -> None:
    test = compare_mann_whitney(Group("a", np.full(8, 1.0)), Group("b", np.full(8, 2.0)), 0.95)
    assert test.p == pytest.approx(2 / 12870)
    assert [item.name for item in test.estimates] == ["probability of superiority"]
    assert any("no interval" in warning for warning in test.warnings)


def test_an_interval_that_cannot_reach_its_level_says_which_it_reaches() -> None:
    first, second = Group("a", np.array([1.0, 2.0, 3.5])), Group("b", np.array([4.0, 5.0, 7.0]))
    for test in (compare_mann_whitney(first, second, 0.95), permute_two_groups([(first, second)], 0.95, 1)):
        shift = next(item for item in test.estimates if item.measure == "response")
        assert shift.confidence == pytest.approx(0.9)
        assert any("3 against 3" in warning for warning in test.warnings)


def test_random_exchanges_state_number_and_seed_and_repeat_themselves() -> None:
    pairs = [(Group("a", NEAR), Group("b", FAR))]
    one, two = permute_two_groups(pairs, 0.95, seed=4), permute_two_groups(pairs, 0.95, seed=4)
    assert one == two
    assert "9999 random exchanges of labels, seed 4" in one.method
    assert one.p == 2 / 10_000
    with pytest.raises(InputError, match="would take minutes"):
        permute_two_groups([(Group("a", np.arange(2e5)), Group("b", np.arange(9.0)))], 0.95, 1)


def test_groups_are_split_within_the_other_factors_and_blocks_do_not_form_them() -> None:
    factors = [ModelFactor("day", ("1", "2")), ModelFactor("f", ("a", "b"))]
    codes = [np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 1])]
    cells = gather_cells(factors, codes, np.array([1.0, 2, 3, 4, 6]))
    assert find_factor(cells, "", blocks=("day",)) == 1
    strata = split_groups(cells, 1)
    assert [item.levels for item in strata] == [(("day", "1"),), (("day", "2"),)]
    assert [[list(group.values + group.origin) for group in item.groups] for item in strata] == [
        [[1.0], [2.0]],
        [[3.0], [4.0, 6.0]],
    ]


def test_variability_warns_of_means_near_zero_of_negatives_and_of_few() -> None:
    near_zero = measure_variability(make_cells([-1.0, 1.2, 0.3, 2.0, 2.1, 2.2], [0, 0, 0, 1, 1, 1]))
    said = " ".join(near_zero.warnings)
    for words in ("hardly differs from zero", "negative observations", "fewer than 10 observations"):
        assert words in said
    below = measure_variability(make_cells([-1.0, -1.2, 2.0, 2.1, 5.0], [0, 0, 1, 1, 1]))
    assert below.points[0].cv is None
    assert "mean that is not positive" in " ".join(below.warnings)
    text = render_text(state_variability(NOTES, below, compare_variability(below)))
    assert "Variability of latency by design point" in text


def test_a_coefficient_of_variation_without_an_upper_bound_says_so() -> None:
    found = measure_variability(make_cells([0.5] * 9 + [9.0], [0] * 10, ("a",)))
    cv = found.points[0].cv
    assert cv is not None
    assert cv.high == np.inf
    assert "no upper bound" in " ".join(found.warnings)
    text = render_text(state_variability(NOTES, found, ()))
    assert "% or more)" in text
    assert "inf" not in text
    assert '"high": null' in write_json(spell_variability(NOTES, found, ()))


def test_two_against_two_design_points_cannot_show_a_factor_to_matter() -> None:
    values = [1.0, 1.1, 1.3, 2.0, 2.3, 2.9, 4.0, 4.4, 4.9, 9.0, 9.5, 9.9]
    factors = [ModelFactor("f", ("a", "b")), ModelFactor("g", ("x", "y"))]
    codes = [np.repeat([0, 0, 1, 1], 3), np.repeat([0, 1, 0, 1], 3)]
    found = measure_variability(gather_cells(factors, codes, np.array(values)))
    factors_found = compare_variability(found)
    said = phrase_variability("latency", found, factors_found)
    assert said[0].startswith("Coefficients of variation of latency range from")
    assert all(sentence.startswith("No effect of") for sentence in said[1:])
    assert "2 against 2" in render_text(state_variability(NOTES, found, factors_found))


def test_what_is_said_of_a_factor_and_the_interval_of_its_ratio_come_from_one_test() -> None:
    rng = np.random.default_rng(6)
    factors = [ModelFactor("f", ("a", "b")), ModelFactor("g", tuple("stuvw"))]
    codes = [np.repeat([0, 1], 15), np.tile(np.repeat(np.arange(5), 3), 2)]
    detected = 0
    for _ in range(60):
        values = rng.normal(100, np.where(codes[0] == 0, 1, 4))
        found = compare_variability(measure_variability(gather_cells(factors, codes, values)))
        assert [item.factor for item in found] == ["f", "g"]
        item = found[0]
        assert item.deciding.name == "Mann-Whitney"
        assert item.overall.name == found[1].deciding.name == "Kruskal-Wallis"
        ratio = next(estimate for estimate in item.deciding.estimates if estimate.name == "ratio")
        assert ratio.confidence >= 0.975 - 1e-9
        if not ratio.value.low <= 1 <= ratio.value.high:
            detected += 1
            assert item.adjusted_p is not None
            assert item.adjusted_p < 0.05
    assert detected > 5


def test_windows_follow_the_given_order_and_stay_within_design_points() -> None:
    cells = make_cells([9.0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 0, 0, 0, 0, 0, 0])
    events = Covariate("e", np.array([1.0, 0, 0, 0, 0, 0, 0, 1]))
    order = np.array([0.0, 7, 6, 5, 4, 3, 2, 1])
    found = analyze_windows(Observations("y", "", cells, 0, 0, covariates=(events,), order=order), 3)
    assert [(window.levels, window.count) for window in found.windows] == [(("a",), 1.0), (("a",), 0.0)]
    assert found.windows[0].cv == pytest.approx(1 / 6)
    assert found.left_over == 2
    with pytest.raises(InputError, match="no design point has 8 observations"):
        analyze_windows(Observations("y", "", cells, 0, 0, covariates=(events,)), 8)


def test_summary_shows_a_box_for_each_group_and_no_interval_where_there_is_none() -> None:
    cells = make_cells([1.0, 2, 3, 4, 5, 6, 7, 30], [0, 0, 0, 0, 0, 0, 0, 1])
    text = render_text(
        state_summary(NOTES, summarize_distributions(Observations("latency", "s", cells, 0, 0)))
    )
    assert "█" in text
    assert "1 of 2 groups have a single independent observation" in text
    assert "type 7" in text
    assert max(len(line) for line in text.splitlines()) <= 110


@pytest.mark.parametrize(("few", "many"), [(1, 60), (3, 60), (9, 55), (3, 20_000)])
def test_ranks_of_few_against_many_hold_their_level_or_say_which(few: int, many: int) -> None:
    found = compare_mann_whitney(Group("a", RNG.normal(0, 1, few)), Group("b", RNG.normal(0, 1, many)), 0.99)
    level = found.estimates[1].confidence
    # The interval misses where the smallest difference is still above, or the largest still below zero.
    assert level == pytest.approx(1 - 2 / 61) if few == 1 else level == 0.99
    assert any("1 against 60" in item for item in found.warnings) == (few == 1)
    assert ("exact" in found.method) == (many < 100)


def test_the_interval_of_few_against_many_covers_no_shift_as_often_as_it_says() -> None:
    random = np.random.default_rng(8)
    covered, tests = 0, 500
    for _ in range(tests):
        shift = compare_mann_whitney(
            Group("a", random.normal(0, 1, 2)), Group("b", random.normal(0, 1, 70)), 0.9
        ).estimates[1]
        covered += shift.value.low <= 0 <= shift.value.high
    assert covered / tests > 0.86


def test_the_uniform_approximation_agrees_with_the_exact_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = Group("a", RNG.normal(0, 1, 3)), Group("b", RNG.normal(1, 1, 400))
    exact = compare_mann_whitney(*groups, 0.95)
    monkeypatch.setattr(rank_tests, "_LARGEST_TABLE", 0)
    near = compare_mann_whitney(*groups, 0.95)
    assert "uniform" in near.method
    assert near.p == pytest.approx(exact.p, rel=0.01)
    assert near.estimates[1].value == exact.estimates[1].value


def test_a_test_of_spreads_and_the_interval_of_their_ratio_never_disagree() -> None:
    random = np.random.default_rng(2)
    detected, open_ended = 0, 0
    for n in (3, 5, 12, 30):
        for _ in range(100):
            pair = Group("a", random.lognormal(0, 1, n)), Group("b", random.lognormal(0, 1, 2 * n) * 3)
            test = compare_brown_forsythe(pair, 0.95)
            value = test.estimates[0].value
            assert test.p is not None
            assert value.low <= value.estimate <= value.high
            assert (test.p < 0.05) == (not value.low <= 1 <= value.high)
            detected += test.p < 0.05
            open_ended += np.isinf(value.high)
    assert detected > 50
    assert open_ended > 50


def test_neither_the_unit_nor_its_size_changes_a_ratio_of_spreads() -> None:
    first, second = NEAR[:8], FAR[:11] ** 3
    plain = compare_brown_forsythe((Group("a", first), Group("b", second)), 0.95).estimates[0].value
    for unit in (1e-120, 1e120):
        groups = Group("a", unit * first), Group("b", unit * second)
        value = compare_brown_forsythe(groups, 0.95).estimates[0].value
        assert astuple(value) == pytest.approx(astuple(plain))


def test_a_level_beyond_the_number_of_resamples_is_warned_of() -> None:
    cells = make_cells(list(RNG.lognormal(0, 1, 30)), [0] * 30, ("a",))
    assert any(
        "resamples lie beyond" in item for item in measure_variability(cells, confidence=0.999).warnings
    )
    assert not any("resamples lie beyond" in item for item in measure_variability(cells).warnings)


def test_a_ratio_of_spreads_without_an_upper_bound_is_said_drawn_and_written() -> None:
    first, second = np.array([1.0, 1.1, 1.2, 9.0]), np.array([1.0, 3, 4, 50.0])
    found = compare_groups([Stratum((), (Group("a", first), Group("b", second)))], "f", aspect="spread")
    value = found.strata[0].pairs[0].test.estimates[0].value
    assert value.high == np.inf
    text = render_text(state_tests(NOTES, found))
    assert "without bounds" in text or "or more)" in text
    assert "inf" not in text
    assert '"high": null' in write_json(spell_tests(NOTES, found))
    assert "although their intervals go on" in draw_comparison("latency", "s", found).caption


def test_few_observations_make_a_comparison_of_spreads_rough() -> None:
    few = compare_brown_forsythe(
        (Group("a", np.array([1.0, 2, 4, 9])), Group("b", np.array([1.0, 3, 4, 5]))), 0.95
    )
    assert "differences that do not exist" in few.warnings[0]


def summarize(values: np.ndarray, codes: list[int]) -> str:
    cells = gather_cells([ModelFactor("f", ("a", "b"))], [np.array(codes)], values)
    found = summarize_distributions(Observations("latency", "", cells, 0, 0))
    return render_text(state_summary(ResponseNotes("latency", ""), found))


def test_a_summary_shows_what_varies_beside_a_large_offset_or_on_a_tiny_scale() -> None:
    values, codes = np.arange(40.0), [0, 1] * 20
    assert "from 1\u202f000\u202f000\u202f000\u202f019.0 (" in summarize(1e12 + values, codes)
    assert "× 1e-99" in summarize(1e-100 * (9 + values), codes)
    assert "0.0000000" not in summarize(1e-100 * (9 + values), codes)


def test_equal_medians_are_not_called_a_range() -> None:
    said = summarize(np.repeat([0.0, 3.0], [25, 15]), [0, 1] * 20).splitlines()
    assert said[0] == "Medians of latency are 0 in all 2 groups (95% intervals within 0.000 to 3.000)."
