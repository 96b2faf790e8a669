"""A table that is streamed: its columns mean what they mean in memory, or are refused alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import datamill
from datamill.experiment.errors import InputError

ROWS = 240
VALUES = [float((row * 37) % 101) + row % 3 for row in range(ROWS)]


def write_table(folder: Path, levels: Sequence[Any] | pl.Series, values: Sequence[Any] | pl.Series) -> Path:
    column = levels if isinstance(levels, pl.Series) else pl.Series([*levels] * (ROWS // len(levels)))
    file = folder / "table.parquet"
    pl.DataFrame({"g": column, "y": values}).write_parquet(file)
    return file


def fit(file: Path, *, stream: bool) -> Any:
    asked = datamill.quantiles(
        file, response="y", factors=["g"], quantiles=[0.5, 0.9], errors="nid", stream=stream
    )
    return json.loads(asked.json())


@pytest.mark.parametrize("levels", [[0.0, -0.0, 1.0], [-0.0, 2.5, 0.0], ["a ", "a", "b"]])
def test_levels_that_are_one_in_memory_are_one_in_a_stream(tmp_path: Path, levels: list[Any]) -> None:
    file = write_table(tmp_path, levels, VALUES)
    whole, passes = fit(file, stream=False), fit(file, stream=True)
    assert passes["factors"] == whole["factors"]
    assert passes["cells"] == whole["cells"] == 2
    for one, other in zip(passes["quantiles"], whole["quantiles"], strict=True):
        for here, there in zip(one["coefficients"], other["coefficients"], strict=True):
            assert [here[name] for name in ("estimate", "low", "high")] == pytest.approx(
                [there[name] for name in ("estimate", "low", "high")]
            )


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "levels", [[1.0, float("nan"), 2.0], ["a", "", "b"], ["a", " ", "b"], ["a", None, "b"]]
)
def test_a_row_without_a_level_is_refused(tmp_path: Path, levels: list[Any], stream: bool) -> None:
    file = write_table(tmp_path, levels, VALUES)
    with pytest.raises(InputError, match="factor g has no level here") as caught:
        fit(file, stream=stream)
    assert caught.value.where == f"{file}:2"


def test_an_unused_category_without_a_name_is_no_missing_level(tmp_path: Path) -> None:
    kind = pl.Enum(["", "b", "a"])
    file = write_table(tmp_path, pl.Series(["a", "b"] * (ROWS // 2), dtype=kind), VALUES)
    assert fit(file, stream=True)["factors"] == fit(file, stream=False)["factors"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("levels", "values", "words"),
    [
        (["a", "b"], [row % 3 == 0 for row in range(ROWS)], "not numbers"),
        (["a", "b"], [value * 1e200 for value in VALUES], "cannot be squared"),
        ([b"a", b"b"], VALUES, "neither numbers nor texts"),
        ([[1], [2]], VALUES, "neither numbers nor texts"),
        (pl.Series([1, 2] * (ROWS // 2)).cast(pl.Duration("ms")), VALUES, "neither numbers nor texts"),
    ],
)
def test_columns_that_cannot_be_used_are_refused_alike(
    tmp_path: Path, levels: Any, values: Sequence[Any], words: str, stream: bool
) -> None:
    file = write_table(tmp_path, levels, values)
    with pytest.raises(InputError, match=words):
        fit(file, stream=stream)


@pytest.mark.parametrize("stream", [False, True])
def test_a_column_of_a_type_of_pandas_alone_is_refused(tmp_path: Path, stream: bool) -> None:
    months = pd.period_range("2024-01", periods=2, freq="M").repeat(ROWS // 2)
    file = tmp_path / "table.parquet"
    pd.DataFrame({"g": months, "y": VALUES}).to_parquet(file)
    with pytest.raises(InputError, match="neither numbers nor texts"):
        fit(file, stream=stream)


def test_a_tidy_table_is_not_streamed_since_its_rows_are_not_all_valid(tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    pl.DataFrame(
        {
            "trial_id": [f"t{row}" for row in range(ROWS)],
            "g": ["a", "b"] * (ROWS // 2),
            "response": "wall_time_s",
            "value": VALUES,
            "valid": [row % 5 != 0 for row in range(ROWS)],
        }
    ).write_parquet(file)
    with pytest.raises(InputError, match="not all valid"):
        datamill.quantiles(file, response="value", factors=["g"], stream=True)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8()])
def test_a_dictionary_as_full_as_its_type_allows_is_read(tmp_path: Path, kind: pa.DataType) -> None:
    count = 128 if kind == pa.int8() else 256
    numbers = pa.array([row % count for row in range(2 * count)], type=kind)
    levels = pa.DictionaryArray.from_arrays(numbers, pa.array([f"level {n:03}" for n in range(count)]))
    file = tmp_path / "table.parquet"
    pq.write_table(pa.table({"g": levels, "y": [float(row * 37 % 101) for row in range(2 * count)]}), file)
    assert fit(file, stream=True)["cells"] == count
