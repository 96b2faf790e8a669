"""Warnings, marks and remedies say no more than is known, in units and names that a reader has."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import datamill
from datamill.analysis.assumptions.assumption_checks import CheckResult
from datamill.experiment.errors import InputError
from datamill.report.anova.diagnosis import diagnose_model

#: Two levels of so unlike size that the median of their coefficients is anything between.
FLAT = np.where(np.arange(16) < 8, 1.0, 3e5) * (1 + np.arange(16) % 5 / 10)


def make_flat(unit: str, factor: float = 1.0) -> pl.DataFrame:
    table = pl.DataFrame({"flag": ["a", "b"] * 8, "value": FLAT * factor})
    return table.with_columns(
        pl.Series("trial_id", [f"t{index}" for index in range(16)]),
        response=pl.lit("latency"),
        unit=pl.lit(unit),
        valid=pl.lit(value=True),
    )


def make_spread(deviations: list[float], noise: list[float]) -> pl.DataFrame:
    """Four design points with the same noise (n), as many times as large as their deviation."""
    return pl.DataFrame(
        [
            (("old", "new")[cell // 2], ("-g", "-O2")[cell % 2], 50 + deviation * value)
            for cell, deviation in enumerate(deviations)
            for value in noise
        ],
        schema=["tool", "flag", "seconds"],
        orient="row",
    )


def check_spread(table: pl.DataFrame) -> tuple[CheckResult, str]:
    """The check of equal spread, and its mark on a page."""
    checks = datamill.anova(table, response="seconds", factors=["tool", "flag"], quantiles=False).checks
    check = next(item for item in checks.checks if item.assumption == "equal variances")
    diagnosis = diagnose_model(checks)
    assert diagnosis is not None
    line = next(line for line in diagnosis.lines if line.text.lower().startswith(check.words[:40].lower()))
    return check, line.sign


@pytest.mark.parametrize(
    ("unit", "factor", "told", "scale"),
    [
        ("s", 1e-6, "ms wide)", 1e3),
        ("us", 1.0, "ms wide)", 1e-3),
        ("B/s", 1e3, "MB/s wide)", 1e-6),
        ("{widgets}", 10.0, "million widgets wide)", 1e-6),
    ],
)
def test_the_width_of_a_flat_bottom_is_told_in_a_unit_that_people_read(
    unit: str, factor: float, told: str, scale: float
) -> None:
    result = datamill.quantiles(make_flat(unit, factor), quantiles=[0.5])
    (said,) = [warning for warning in result.warnings if "flat bottom" in warning]
    number, _, rest = said.split("up to ")[1].partition(" ")
    assert rest.startswith(told)
    assert float(number) == pytest.approx(result.model.fits[0].flat_width * scale, rel=0.01)
    assert said in json.loads(result.json())["warnings"]
    assert said in " ".join(result.text().split())


def test_a_flat_bottom_is_told_in_the_scale_of_the_tables() -> None:
    table = make_flat("{items}/s").with_columns(value=8e6 + pl.Series([1.0, 2.0, 3.0, 4.0] * 4) * 1e5)
    (said,) = [
        warning for warning in datamill.quantiles(table, quantiles=[0.5]).warnings if "flat bottom" in warning
    ]
    assert ", up to 0.200 million items/s wide)" in said


def test_a_flat_bottom_without_a_unit_says_whose_unit_it_is() -> None:
    table = make_flat("s", 1e-3).select("flag", seconds="value")
    result = datamill.quantiles(table, response="seconds", factors=["flag"], quantiles=[0.5])
    (said,) = [warning for warning in result.warnings if "flat bottom" in warning]
    assert "wide in the unit of seconds)" in said


def test_a_large_ratio_of_spreads_that_is_not_detected_has_no_tick() -> None:
    noise = [-0.02, -0.01, 0.0, 0.01, 0.02, 30.0]
    check, sign = check_spread(make_spread([0.005, 1, 1, 1], noise))
    assert check.p > 0.05
    assert check.size is not None
    assert check.size > 150
    assert (check.state, sign) == ("unknown", "?")
    assert check.words.startswith("whether the spread is the same everywhere is not clear")
    assert "times as large at" in check.words


def test_a_ratio_of_spreads_that_chance_makes_keeps_its_tick_and_says_so() -> None:
    random = np.random.default_rng(3)
    table = make_spread([1.0] * 4, [0.0] * 6).with_columns(seconds=50 + pl.Series(random.normal(size=24)))
    check, sign = check_spread(table)
    assert check.size is not None
    assert check.size > 1.5
    assert (check.state, sign) == ("held", "✓")
    assert check.words.startswith("no difference in spread was detected (standard deviation ")
    assert "chance" in check.words


@pytest.mark.parametrize("replicates", [3, 6])
def test_equal_normal_errors_seldom_lose_their_tick(replicates: int) -> None:
    random = np.random.default_rng(11)
    table, unclear = make_spread([1.0] * 4, [0.0] * replicates), 0
    for _ in range(150):
        drawn = table.with_columns(seconds=50 + pl.Series(random.normal(size=table.height)))
        check, _ = check_spread(drawn)
        unclear += check.words.startswith("whether the spread")
    assert unclear <= 13  # 5% of 150, and what chance adds to it in 1 of 50 such tests


def test_a_missing_response_is_answered_with_columns_that_are_there() -> None:
    table = pl.DataFrame({"sched": ["BFS", "CFS"] * 4, "place": range(8), "latency_us": np.arange(8.0)})
    with pytest.raises(InputError) as caught:
        datamill.anova(table, factors=["sched"])
    assert caught.value.remedy == "Name a column of numbers with response=: place or latency_us."
    with pytest.raises(InputError) as caught:
        datamill.anova(table)
    assert caught.value.remedy == (
        "Name a column of numbers with response=: place or latency_us. And name what explains it with "
        "factors=."
    )
    with pytest.raises(InputError) as caught:
        datamill.anova(table, response="latency_us")
    assert caught.value.remedy == (
        "Name what explains it with factors=, one column or several separated by commas: sched or place."
    )


def test_a_streamed_table_is_asked_for_by_columns_that_are_there(tmp_path: Path) -> None:
    file = tmp_path / "latency.parquet"
    pl.DataFrame({"sched": ["BFS", "CFS"], "latency_us": [1.0, 2.0]}).write_parquet(file)
    with pytest.raises(InputError, match="response= is missing") as caught:
        datamill.quantiles(file, factors=["sched"], stream=True)
    assert caught.value.remedy == "Name the columns to be read, of sched, latency_us."


def test_a_table_without_numbers_names_all_columns_instead() -> None:
    table = pl.DataFrame({"a": ["x", "y"], "b": ["u", "v"]})
    with pytest.raises(InputError) as caught:
        datamill.summary(table)
    assert caught.value.remedy == "No column holds numbers; the columns are: a, b."


def test_one_text_among_numbers_is_named_where_no_column_holds_numbers() -> None:
    table = pl.DataFrame({"a": ["x", "y", "x"], "time_s": ["1", "2 ms", "3"]})
    with pytest.raises(InputError) as caught:
        datamill.summary(table)
    assert caught.value.remedy == (
        'No column holds numbers (time_s would, but for "2 ms"); the columns are: a, time_s.'
    )


@pytest.mark.parametrize("assumption", ["nothing", "normal"])
def test_a_comparison_of_spreads_has_no_unit_where_it_shows_only_ratios(assumption: str) -> None:
    table = make_flat("s", 1e-8).with_columns(flag=pl.Series(["a"] * 8 + ["b"] * 8))
    spread = datamill.tests(table, compare="spread", assume=assumption).text()
    assert "latency by flag: do observations of one group spread more" in spread
    assert "latency (ms) by flag: are observations" in datamill.tests(table, assume=assumption).text()


def test_groups_whose_spread_is_not_told_apart_are_said_to_be_compared_by_spread() -> None:
    table = make_spread([1.0] * 4, [-2.0, -1.0, 0.0, 1.5, 2.5])
    options = {"response": "seconds", "factors": ["tool", "flag"], "factor": "tool"}
    spread = datamill.tests(table, compare="spread", **options)
    assert spread.lead[0].startswith("No two groups of tool are told apart by the spread of seconds (2 ")


def test_a_difference_of_spreads_keeps_its_unit() -> None:
    still = make_flat("s", 1e-9).with_columns(
        flag=pl.Series(["a"] * 8 + ["b"] * 8),
        value=pl.Series([1.0] * 8 + [1.001, 1.002, 1.004, 1.001, 1.005, 1.003, 1.007, 1.002]),
    )
    text = datamill.tests(still, compare="spread").text()
    assert "latency (ms) by flag: do observations of one group spread more" in text


def make_points(points: int) -> pl.DataFrame:
    """A table with `points` design points at each level of `flag`, 5 observations each."""
    random = np.random.default_rng(points)
    return pl.DataFrame(
        [
            (flag, f"m{point}", float(random.normal(100, 2)))
            for flag in "ab"
            for point in range(points)
            for _ in range(5)
        ],
        schema=["flag", "machine", "seconds"],
        orient="row",
    )


@pytest.mark.parametrize(("points", "level"), [(2, "67%"), (3, "90%"), (4, "97.1%")])
def test_a_ratio_of_few_design_points_says_why_its_interval_has_a_level_of_its_own(
    points: int, level: str
) -> None:
    result = datamill.variability(make_points(points), response="seconds", factors=["flag", "machine"])
    (said,) = [sentence for sentence in result.lead if sentence.startswith("No effect of flag")]
    assert f"; {level} is the highest level that {points} against {points} design points allow)" in said
    assert f"({level} interval " in said
    assert f"{level.rstrip('%')}." not in " ".join(result.lead)


def test_an_interval_that_reaches_its_level_says_nothing_of_a_highest_one() -> None:
    result = datamill.variability(make_points(7), response="seconds", factors=["flag"])
    assert "highest level" not in result.text()
    assert "(95% interval " in result.lead[-1] or "(97.5% interval " in result.lead[-1]


def test_a_list_of_pairs_says_once_which_levels_are_the_highest_possible() -> None:
    random = np.random.default_rng(0)
    rows = [
        (flag, machine, float(random.normal(100, 2)))
        for flag in "abc"
        for machine in ("m1", "m2")
        for _ in range(5)
    ]
    table = pl.DataFrame(rows, schema=["flag", "machine", "seconds"], orient="row")
    text = datamill.variability(table, response="seconds", factors=["flag", "machine"]).text()
    assert text.count("(67% interval ") >= 3
    assert "66.67" not in text
    assert text.count("67% is the highest level that 2 against 2 design points allow.") == 1
