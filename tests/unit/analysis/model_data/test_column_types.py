"""Columns of every type: levels and numbers mean the same whatever a table calls them."""

from __future__ import annotations

import datetime
from typing import Any

import pandas as pd
import polars as pl
import pytest

import datamill
from datamill.analysis.model_data.observations import read_columns
from datamill.experiment.errors import InputError


def list_levels(column: pl.Series) -> tuple[str, ...]:
    values = [float(row % 7) for row in range(column.len())]
    observations = read_columns(pl.DataFrame({"g": column, "y": values}), "y", ["g"])
    return observations.cells.factors[0].levels


@pytest.mark.parametrize(
    "ordered",
    [
        [True, False],
        [datetime.datetime(2024, 5, 1), datetime.datetime(2023, 5, 1)],  # noqa: DTZ001 - as pandas has them
        [2.5, 1e-7],
        ["mid", "high"],
    ],
)
def test_an_ordered_categorical_of_pandas_keeps_its_order(ordered: list[object]) -> None:
    column = pd.Categorical(ordered * 6, categories=ordered, ordered=True)
    frame = pd.DataFrame({"g": column, "y": [float(row % 5) + row % 2 for row in range(12)]})
    first = frame["y"][frame["g"] == ordered[0]]
    for table in (frame, {"g": frame["g"], "y": frame["y"]}):
        found = datamill.summary(table, response="y", factors=["g"]).summary
        assert found.groups[0].mean == pytest.approx(first.mean())
        assert [group.n for group in found.groups] == [6, 6]


def test_space_around_the_levels_of_an_enum_leaves_their_order() -> None:
    kind = pl.Enum(["low ", "mid", " high"])
    assert list_levels(pl.Series([" high", "low ", "mid"] * 4, dtype=kind)) == ("low", "mid", "high")


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pd.cut(range(12), [-1, 5, 20]), "neither numbers nor texts"),
        (pd.period_range("2024-01", periods=12, freq="M"), "neither numbers nor texts"),
        ([complex(row) for row in range(12)], "is not a table"),
    ],
)
def test_types_of_pandas_that_have_no_texts_are_refused(column: Any, words: str) -> None:
    frame = pd.DataFrame({"g": column, "y": [float(row % 5) for row in range(12)]})
    with pytest.raises(InputError, match=words):
        datamill.summary(frame, response="y", factors=["g"])


@pytest.mark.parametrize("zeros", [[0.0, -0.0], [-0.0, 0.0]])
@pytest.mark.parametrize("kind", [pl.Float32, pl.Float64])
def test_both_zeros_are_one_level_whichever_comes_first(
    zeros: list[float], kind: type[pl.Float32 | pl.Float64]
) -> None:
    assert list_levels(pl.Series([*zeros, 1.0] * 3, dtype=kind)) == ("0.0", "1.0")


@pytest.mark.parametrize("kind", [pl.UInt64, pl.Int128, pl.String])
def test_whole_numbers_beyond_63_bits_are_refused_where_doubles_would_round_their_differences(
    kind: pl.DataType,
) -> None:
    addresses = pl.Series([2**63 + 1, 2**63 + 3, 2**63 + 700], dtype=pl.UInt64).cast(kind)
    with pytest.raises(InputError, match="rounded away") as caught:
        read_columns(pl.DataFrame({"g": ["a", "b", "a"], "y": addresses}), "y", ["g"])
    assert str(2**63 + 1) in caught.value.remedy
