"""Levels with units are numbers, and only those of one kind."""

import pytest

from datamill.analysis.prediction.numeric_levels import read_numeric_levels
from datamill.experiment.errors import InputError


def test_sizes_in_unlike_units_are_one_scale() -> None:
    levels = read_numeric_levels("size", ("500kB", "2MB", "1GB"))
    assert levels is not None
    assert levels.unit == "kB"
    assert levels.values == {"500kB": 500.0, "2MB": 2000.0, "1GB": 1e6}
    assert levels.read("1.5 MB") == 1500.0


def test_plain_numbers_have_no_unit() -> None:
    levels = read_numeric_levels("threads", ("1", "2", "8"))
    assert levels is not None
    assert (levels.unit, levels.low, levels.high) == ("", 1.0, 8.0)
    with pytest.raises(InputError, match="Give a plain number"):
        levels.read("3MB")


@pytest.mark.parametrize(
    "labels",
    [("-O0", "-O2"), ("1MB", "2s"), ("1MB", "2"), ("4",), ("1", "1.0"), ("on", "off"), ("1e400", "2")],
)
def test_what_is_not_a_scale_stays_levels(labels: tuple[str, ...]) -> None:
    assert read_numeric_levels("f", labels) is None


@pytest.mark.parametrize("level", ["125", "125s", "much", "1e400MB"])
def test_a_level_in_no_unit_of_the_factor_is_refused(level: str) -> None:
    levels = read_numeric_levels("size", ("25MB", "50MB"))
    assert levels is not None
    with pytest.raises(InputError, match="such as 25MB"):
        levels.read(level)
