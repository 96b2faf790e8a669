"""The order of levels that a table declares: the same wherever the table comes from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import datamill

DECLARED = ["small", "huge", "medium"]
ROWS = [DECLARED[(row * 2 + 1) % 3] for row in range(240)]
VALUES = [float((row * 37) % 101) + row % 3 for row in range(240)]


def make_dictionary(rows: list[str], *, ordered: bool = True) -> pa.DictionaryArray:
    codes = pa.array([DECLARED.index(level) for level in rows], pa.int8())
    return pa.DictionaryArray.from_arrays(codes, pa.array(DECLARED), ordered=ordered)


def make_table(*, ordered: bool = True) -> pa.Table:
    return pa.table({"g": make_dictionary(ROWS, ordered=ordered), "y": VALUES})


def write_parquet(folder: Path, table: pa.Table) -> Path:
    file = folder / "table.parquet"
    pq.write_table(table, file, row_group_size=50)
    return file


def write_enum(folder: Path) -> Path:
    file = folder / "table.parquet"
    pl.DataFrame({"g": pl.Series(ROWS, dtype=pl.Enum(DECLARED)), "y": VALUES}).write_parquet(file)
    return file


def write_pandas(folder: Path) -> Path:
    file = folder / "table.parquet"
    make_table().to_pandas().to_parquet(file)
    return file


def list_levels(table: Any, *, stream: bool = False) -> list[str]:
    asked = datamill.quantiles(
        table, response="y", factors=["g"], quantiles=[0.5], errors="nid", stream=stream
    )
    return list(json.loads(asked.json())["factors"][0]["levels"])


@pytest.mark.parametrize(
    "make",
    [
        make_table,
        lambda: make_table().to_batches()[0],
        lambda: make_table().to_reader(max_chunksize=7),
        lambda: make_table().to_pandas(),
        lambda: {"g": make_dictionary(ROWS), "y": VALUES},
        lambda: {"g": pa.chunked_array([make_dictionary(ROWS)]), "y": VALUES},
        lambda: {"g": make_table().to_pandas()["g"], "y": VALUES},
        lambda: pl.DataFrame({"g": pl.Series(ROWS, dtype=pl.Enum(DECLARED)), "y": VALUES}),
    ],
)
def test_a_table_in_memory_has_its_levels_in_the_order_that_it_declares(make: Callable[[], Any]) -> None:
    assert list_levels(make()) == DECLARED


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "write", [lambda folder: write_parquet(folder, make_table()), write_enum, write_pandas]
)
def test_a_file_has_its_levels_in_the_order_that_it_declares(
    tmp_path: Path, write: Callable[[Path], Path], stream: bool
) -> None:
    assert list_levels(write(tmp_path), stream=stream) == DECLARED


@pytest.mark.parametrize("stream", [False, True])
def test_a_dictionary_that_declares_no_order_has_the_usual_one(tmp_path: Path, stream: bool) -> None:
    usual = list_levels({"g": ROWS, "y": VALUES})
    assert list_levels(make_table(ordered=False)) == usual != DECLARED
    assert list_levels(write_parquet(tmp_path, make_table(ordered=False)), stream=stream) == usual


def test_pieces_whose_orders_contradict_each_other_declare_none() -> None:
    codes = pa.array([0, 1] * 60, pa.int8())
    pieces = [
        pa.DictionaryArray.from_arrays(codes, pa.array(order), ordered=True)
        for order in (["b", "a"], ["a", "b"])
    ]
    assert list_levels(pa.table({"g": pa.chunked_array(pieces), "y": VALUES})) == ["a", "b"]


def test_pieces_that_know_some_levels_each_are_put_together() -> None:
    codes = pa.array([0, 1] * 60, pa.int8())
    pieces = [
        pa.DictionaryArray.from_arrays(codes, pa.array(order), ordered=True)
        for order in (["z", "m"], ["m", "a"])
    ]
    assert list_levels(pa.table({"g": pa.chunked_array(pieces), "y": VALUES})) == ["z", "m", "a"]
