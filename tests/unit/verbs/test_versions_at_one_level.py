"""Versions compared at a level that some of them have as their only one."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import datamill
from datamill.experiment.errors import InputError


def write_tidy(path: Path, column: str, levels: tuple[str, ...]) -> Path:
    """A table as datamill writes it, of four trials at each level, slower by the level's place."""
    rows = [
        {
            "experiment": "e",
            "trial_id": f"{level}{number}",
            "attempt": 1,
            "outcome": "completed",
            "package": "p",
            "response": "wall_time",
            "unit": "s",
            "measurement": 0,
            "value": 1.0 + place + 0.01 * number,
            "valid": True,
            "exclusion": None,
            column: level,
        }
        for place, level in enumerate(levels)
        for number in range(4)
    ]
    pl.DataFrame(rows).write_parquet(path)
    return path


def test_a_circumstance_of_one_table_is_a_level_of_the_factor_of_the_other(tmp_path: Path) -> None:
    several = write_tidy(tmp_path / "several.parquet", "machine", ("a", "b"))
    single = write_tidy(tmp_path / "single.parquet", "context.machine", ("a",))
    found = datamill.compare(several, single, where={"machine": "a"})
    assert [mean.version for mean in found.comparison.means] == ["several", "single"]
    assert [mean.value.estimate for mean in found.comparison.means] == pytest.approx([1.015, 1.015])
    assert found.origins == (0, 1)
    with pytest.raises(InputError, match='no row has machine = "b"'):
        datamill.compare(several, single, where={"machine": "b"})


def test_a_plain_table_has_only_the_columns_that_it_names() -> None:
    table = pl.DataFrame({"context.machine": ["a"] * 4, "version": ["x", "x", "y", "y"], "value": [1.0] * 4})
    with pytest.raises(InputError, match='there is no column "machine"'):
        datamill.compare(table, where={"machine": "a"})


def test_each_version_says_which_argument_it_came_from(tmp_path: Path) -> None:
    both = write_tidy(tmp_path / "both.parquet", "machine", ("a", "b"))
    one = write_tidy(tmp_path / "one.parquet", "machine", ("c",))
    assert datamill.compare(both, one).origins == (0, 0, 1)
