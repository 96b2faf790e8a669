"""What `predict` says, chooses and refuses."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import datamill

ASKED = {"response": "seconds", "factors": ["package", "size"]}


def make_table(
    bend: float = 0.0, sizes: tuple[int, ...] = (25, 50, 100, 200), noise: float = 0.3, *, log: bool = False
) -> pl.DataFrame:
    """Two packages whose seconds are a line in size, or in its logarithm; `bend` times the square besides."""
    rng = np.random.default_rng(5)
    rows = [
        (
            package,
            f"{size}MB",
            slope * (np.log(size) * 30 if log else size) + bend * size**2 + rng.normal(2, noise),
        )
        for package, slope in (("a", 0.05), ("b", 0.12))
        for size in sizes
        for along in [np.log(size) * 30 if log else size]
        for _ in range(6)
    ]
    return pl.DataFrame(rows, schema=["package", "size", "seconds"], orient="row")


def test_a_level_between_those_measured_is_predicted_for_each_package() -> None:
    found = datamill.predict(make_table(), at={"size": "125MB"}, confidence=0.999, **ASKED).found
    assert [dict(item.levels)["package"] for item in found.predictions] == ["a", "b"]
    for item, truth in zip(found.predictions, (0.05 * 125 + 2, 0.12 * 125 + 2), strict=True):
        assert item.value.low < truth < item.value.high
        assert item.new.low < item.value.low
        assert item.new.high > item.value.high
    assert not found.bends


def test_units_do_not_change_a_prediction() -> None:
    ends = [
        datamill.predict(make_table(), at={"size": level, "package": "b"}, **ASKED).found.predictions[0].value
        for level in ("125MB", "0.125GB", "125000kB")
    ]
    assert ends[0] == ends[1] == ends[2]


def test_the_scale_that_fits_is_chosen_and_named() -> None:
    linear = datamill.predict(make_table(), at={"size": "125MB"}, **ASKED)
    curved = datamill.predict(make_table(log=True), at={"size": "125MB"}, **ASKED)
    assert [linear.found.slopes[0].scale, curved.found.slopes[0].scale] == ["linear", "log"]
    assert "a straight line in the logarithm of size" in curved.lead[-1]
    assert "times the error sum of squares" in curved.lead[-1]


def test_a_line_that_misses_what_was_measured_is_warned_of() -> None:
    asked = datamill.predict(make_table(bend=0.002), at={"size": "125MB"}, **ASKED, scale={"size": "linear"})
    assert asked.found.bends
    assert any("does not follow the model" in warning for warning in asked.warnings)
    assert not any(
        "does not follow" in text
        for text in datamill.predict(make_table(), at={"size": "125MB"}, **ASKED).warnings
    )


def test_two_levels_cannot_show_a_bend_and_what_the_other_scale_would_say_is_told() -> None:
    found = datamill.predict(make_table(sizes=(25, 200)), at={"size": "125MB"}, **ASKED)
    (said,) = [warning for warning in found.warnings if "two levels only" in warning]
    assert "the first prediction would be" in said


def test_beyond_the_measured_levels_nothing_is_said_unless_asked_for() -> None:
    with pytest.raises(datamill.InputError, match="lies beyond what was measured, 25MB to 200MB"):
        datamill.predict(make_table(), at={"size": "201MB"}, **ASKED)
    found = datamill.predict(make_table(), at={"size": "201MB"}, extrapolate=True, **ASKED)
    assert found.found.predictions[0].outside == ("size",)
    assert any("lie beyond those that were measured" in warning for warning in found.warnings)


def test_a_level_that_this_package_never_had_is_beyond_what_was_measured() -> None:
    table = make_table().filter(~((pl.col("package") == "b") & (pl.col("size") == "200MB")))
    datamill.predict(table, at={"size": "125MB", "package": "a"}, **ASKED)
    with pytest.raises(datamill.InputError, match="with these levels of the other factors"):
        datamill.predict(table, at={"size": "125MB", "package": "b"}, **ASKED)


def test_a_numeric_factor_alone_is_a_line_and_so_are_two_of_them() -> None:
    table = make_table().filter(pl.col("package") == "b").drop("package")
    alone = datamill.predict(
        table, at={"size": "125MB"}, response="seconds", factors=["size"], confidence=0.999
    )
    (item,) = alone.found.predictions
    assert item.value.low < 0.12 * 125 + 2 < item.value.high
    assert alone.figures()
    rng = np.random.default_rng(9)
    rows = [
        (n, t, 1 + 0.5 * n + 2 / 8 * t + rng.normal(0, 0.05))
        for n in (1, 4)
        for t in (1, 4, 8)
        for _ in range(5)
    ]
    two = pl.DataFrame(rows, schema=["n", "threads", "seconds"], orient="row")
    found = datamill.predict(
        two, at={"n": 2, "threads": 6}, response="seconds", factors=["n", "threads"], confidence=0.999
    )
    (item,) = found.found.predictions
    assert item.value.low < 1 + 1 + 1.5 < item.value.high
    assert [slope.factor for slope in found.found.slopes] == ["n", "threads"]
    assert found.figures()


def test_a_measured_level_is_its_own_mean() -> None:
    table = make_table()
    found = datamill.predict(table, at={"size": "100MB", "package": "a"}, **ASKED).found
    mean = table.filter((pl.col("package") == "a") & (pl.col("size") == "100MB"))["seconds"].mean()
    assert not found.slopes
    assert found.predictions[0].value.estimate == pytest.approx(mean)


def test_the_logarithm_of_the_response_predicts_its_median() -> None:
    result = datamill.predict(
        make_table(), at={"size": "125MB"}, scale={"seconds": "log", "size": "log"}, **ASKED
    )
    assert result.found.predictions[0].new.low > 0
    assert "the median of seconds" in result.lead[0]


def test_an_interval_that_no_measured_value_allows_is_warned_of() -> None:
    def list_warnings(noise: float, **asked: object) -> list[str]:
        table = make_table(noise=noise).filter(pl.col("seconds") > 0)
        found = datamill.predict(table, at={"size": "30MB", "package": "a"}, **ASKED, **asked).found
        return [text for text in found.warnings if "reach below zero" in text]

    (said,) = list_warnings(3.0)
    assert 'scale={"seconds": "log"}' in said
    assert not list_warnings(0.3)
    assert not list_warnings(3.0, scale={"seconds": "log"})


def test_blocks_are_averaged_over() -> None:
    table = make_table().with_columns(day=pl.Series(["mon", "tue"] * 24))
    shifted = table.with_columns(
        seconds=pl.col("seconds") + pl.when(pl.col("day") == "tue").then(10.0).otherwise(0.0)
    )
    found = datamill.predict(shifted, at={"size": "125MB", "package": "a"}, blocks=["day"], **ASKED).found
    assert found.predictions[0].value.estimate == pytest.approx(0.05 * 125 + 2 + 5, abs=0.5)
    assert found.predictions[0].new.high - found.predictions[0].new.low < 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"at": {}}, "no level is asked for"),
        ({"at": {"sise": "1MB"}}, 'Did you mean "size"'),
        ({"at": {"package": "c"}}, "levels that are not numbers"),
        ({"at": {"size": "125MB"}, "scale": {"size": "cubic"}}, "Choose linear or log"),
        ({"at": {"size": "125MB"}, "scale": {"package": "log"}}, "its levels are not numbers"),
        ({"at": {"size": "125MB"}, "formula": "seconds ~ size"}, "follows from its factors"),
        ({"at": {"size": [f"{25 + n}MB" for n in range(150)]}}, "more than 200 combinations"),
    ],
)
def test_what_cannot_be_predicted_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(datamill.InputError) as caught:
        datamill.predict(make_table(), **{**ASKED, **given})  # type: ignore[arg-type]
    assert said in str(caught.value)
