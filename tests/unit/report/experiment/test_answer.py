"""What the answer says of studies whose truth is known."""

import re
from dataclasses import replace

import numpy as np
import pytest
from made.answered_study import render_page, write_answer
from made.planted_study import Point, plan_study

from datamill.design.design import DesignFactor
from datamill.experiment.messages.numbers import format_ceiling
from datamill.report.words.answer import Answer

TWO = {"package": ("a", "b"), "opt": ("-O0", "-O2", "-O3"), "aslr": ("on", "off")}
THREE = {**TWO, "package": ("a", "b", "c")}


def say(answer: Answer) -> str:
    return " ".join(answer.lines())


def add_noise(rng: np.random.Generator, mean: float, spread: float = 1.0) -> float:
    return float(mean + spread * rng.standard_normal())


def test_when_one_package_fails_every_trial_the_mean_is_of_the_other_and_nothing_is_compared() -> None:
    answer = write_answer(
        *plan_study(TWO, lambda rng, point: None if point["package"] == "a" else add_noise(rng, 100))
    )
    assert answer.headline.startswith("There is no comparison: no valid data of a. Mean time of b: ")
    assert "Package a has no valid data and is not compared." in answer.warnings


def test_a_third_package_without_valid_data_is_named_and_not_compared() -> None:
    answer = write_answer(
        *plan_study(THREE, lambda rng, point: None if point["package"] == "c" else add_noise(rng, 100))
    )
    assert "Package c has no valid data and is not compared." in answer.warnings


def test_a_level_without_valid_data_is_named() -> None:
    study = plan_study(TWO, lambda rng, _: add_noise(rng, 100), keep=lambda point, _: point["opt"] != "-O3")
    assert "Opt has no valid data at -O3: nothing is said about that level." in write_answer(*study).warnings


def test_a_crossing_interaction_is_told_by_its_own_departure_with_its_levels() -> None:
    def value(rng: np.random.Generator, point: Point) -> float:
        same = (point["opt"] == "-O0") == (point["aslr"] == "on")
        return add_noise(rng, 110 if same else 90, 0.1)

    levels = {**TWO, "opt": ("-O0", "-O2")}
    line, bound = write_answer(*plan_study(levels, value)).mattered
    assert bound.startswith("Chance accounts for "), bound
    found = re.search(r"opt with aslr .*: ([+−][\d.]+)% \(95% interval .*\) at (-O\d), (on|off)", line)
    assert found is not None
    assert float(found[1].replace("−", "-")) == pytest.approx(10, abs=0.2)
    assert (found[2], found[3]) == ("-O2", "off")


def test_no_bound_is_given_when_the_model_does_not_fit() -> None:
    def value(rng: np.random.Generator, point: Point) -> float:
        odd = (point["x"] + point["y"] + point["w"]).count("1") % 2
        return add_noise(rng, 110 if odd else 90, 0.1)

    levels = {"package": ("a", "b"), "x": ("0", "1"), "y": ("0", "1"), "w": ("0", "1")}
    (line,) = write_answer(*plan_study(levels, value)).mattered
    assert line.startswith("Not detectable here: x, y, w; no bound is given")


def test_bounds_on_means_near_zero_are_in_the_response_s_unit_on_the_page_too() -> None:
    study = plan_study(TWO, lambda rng, point: add_noise(rng, 5 if point["package"] == "b" else -5))
    answer = write_answer(*study)
    assert re.search(r"with 95% confidence\): opt at most [\d.]+ s, aslr at most [\d.]+ s\.", say(answer))
    page = render_page(*study)
    assert re.search(r"<td[^>]*>[+−][\d.]+ s \([+−][\d.]+ to [+−][\d.]+\)</td>", page)
    assert '"change of time (s)"' in page
    positive = plan_study(TWO, lambda rng, _: add_noise(rng, 100))
    assert '"change (%)"' in render_page(*positive)


def test_a_bound_names_the_packages_that_it_covers_and_factors_that_no_data_tell_apart() -> None:
    def value(rng: np.random.Generator, _: Point) -> float:
        return add_noise(rng, 100)

    lacking = plan_study(TWO, value, keep=lambda point, _: point["package"] == "b" or point["aslr"] == "on")
    assert re.search(r"aslr at most [\d.]+% \(b only\)", say(write_answer(*lacking)))
    apart = plan_study(
        TWO, value, keep=lambda point, _: (point["package"] == "a") == (point["aslr"] == "off")
    )
    answer = write_answer(*apart)
    assert any(line.startswith("Nothing is known about aslr: ") for line in answer.mattered)
    assert not any("aslr at most" in line for line in answer.mattered)


@pytest.mark.parametrize(
    ("value", "decimals", "text"), [(1.2301, 2, "1.24"), (1.23, 2, "1.23"), (0, 1, "0.0")]
)
def test_a_bound_is_rounded_up(value: float, decimals: int, text: str) -> None:
    assert format_ceiling(value, decimals) == text


def test_equal_repeats_prove_nothing_and_get_no_interval() -> None:
    study = plan_study(
        TWO, lambda _, point: (10.0 if point["package"] == "a" else 8.0) + (point["aslr"] == "on")
    )
    answer = write_answer(*study)
    assert answer.headline == (
        "b's time was 19.05% lower than a's as measured; like trials did not differ, so no interval can be "
        "given."
    )
    assert answer.mattered == ()
    assert "interval" not in " ".join(answer.details)
    assert sum("do not differ at all" in warning for warning in answer.warnings) == 1


def test_a_tiny_gap_on_a_large_offset_keeps_its_digits_and_its_interval() -> None:
    study = plan_study(
        TWO, lambda rng, point: add_noise(rng, 1e9 + (100 if point["package"] == "a" else 0)), unit="cycles"
    )
    found = re.search(
        r"is ([\d.]+)% \(95% interval ([\d.]+)% to ([\d.]+)%\) lower", write_answer(*study).headline
    )
    assert found is not None
    estimate, low, high = (float(text) for text in found.groups())
    assert low < 1e-5 < high
    assert low < estimate < high
    # The standard error of the gap is a third of a cycle in 1e9: 3.3e-8 %.
    assert 1e-7 < high - low < 2e-7


def test_one_constant_package_and_one_lost_trial_still_give_an_answer() -> None:
    study = plan_study(
        TWO,
        lambda rng, point: 10.0 if point["package"] == "a" else add_noise(rng, 12, 0.1),
        keep=lambda point, replicate: replicate == 0 or tuple(point.values()) != ("b", "-O0", "on"),
    )
    answer = write_answer(*study)
    assert answer.headline.startswith("a is better: its time is 16.")
    assert "Mean time of a: 10.000 s (like trials did not differ), n = 18." in answer.details


@pytest.mark.parametrize(
    ("means", "headline"),
    [
        (
            (10.0, 9.0, 11.0),
            r"b is the best of 3 packages: its time is [\d.]+% \(.*\) lower than that of a, ",
        ),
        (
            (9.0, 9.0, 11.0),
            r"[ab] has the best mean time of 3 packages, but the data do not tell it apart from ",
        ),
    ],
)
def test_with_three_packages_the_answer_leads_with_the_best_against_the_runner_up(
    means: tuple[float, ...], headline: str
) -> None:
    truth = dict(zip("abc", means, strict=True))
    answer = write_answer(*plan_study(THREE, lambda rng, point: add_noise(rng, truth[point["package"]], 0.1)))
    assert re.match(headline, answer.headline)
    assert sum("better" in line or "apart" in line for line in answer.details) == 2


@pytest.mark.parametrize(
    ("means", "headline"),
    [
        (
            (10.0, 9.0, 11.0),
            "b has the best mean time of 3 packages as measured; like trials of some did not",
        ),
        ((9.0, 9.0, 11.0), "a and b have the same mean time, the best of 3 packages, without any variation."),
    ],
)
def test_with_three_packages_that_never_vary_the_best_is_as_measured(
    means: tuple[float, ...], headline: str
) -> None:
    truth = dict(zip("abc", means, strict=True))
    answer = write_answer(*plan_study(THREE, lambda _, point: truth[point["package"]]))
    assert answer.headline.startswith(headline)
    assert "interval" not in " ".join(answer.details).replace("no interval", "")


def test_a_ratio_of_many_powers_of_ten_is_not_told_as_a_hundred_percent() -> None:
    study = plan_study(
        TWO, lambda rng, point: (1e-6 if point["package"] == "a" else 1e6) * add_noise(rng, 1, 0.01)
    )
    found = re.match(
        r"a is better: by time it is (\S+) times \(95% interval (\S+) to (\S+)\) as fast as b\.",
        write_answer(*study).headline,
    )
    assert found is not None
    assert found.group(1) in ("1e+12", "9.99e+11")


def test_factors_that_chance_drew_are_more_than_one_condition() -> None:
    levels = {"package": ("a", "b")}
    experiment, design, table, trials = plan_study(levels, lambda rng, _: add_noise(rng, 100))
    assert "were compared under one condition only." in say(write_answer(experiment, design, table, trials))
    drawn = (
        DesignFactor("aslr", ("on", "off"), 2, build=False, role="nuisance", drawn_from="on, off"),
        DesignFactor("symbol_seed", ("random",), 1, build=True, role="nuisance"),
        DesignFactor("locale", ("C",), 1, build=False, role="nuisance"),
    )
    design = replace(design, factors=(*design.factors, *drawn))
    said = say(write_answer(experiment, design, table, trials))
    assert "one condition only" not in said
    assert "compared at one combination of the crossed factors, while aslr and symbol_seed were drawn" in said
