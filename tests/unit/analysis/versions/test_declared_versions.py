"""Versions come in the order that a table declares, else in that of their first rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import datamill

DECLARED = ["v2.9", "v2.10", "v1"]
#: Neither first appearance nor reading order agrees with the declared one.
ROWS = ["v1", "v2.10", "v2.9"] * 8
VALUES = [10.0 + (row * 37 % 23) / 10 for row in range(24)]
BUILDS = [row // 6 for row in range(24)]


def take_polars() -> Any:
    return pl.DataFrame(
        {"version": pl.Series(ROWS, dtype=pl.Enum(["unused", *DECLARED])), "build": BUILDS, "value": VALUES}
    )


def take_pandas() -> Any:
    kind = pd.CategoricalDtype(DECLARED, ordered=True)
    return pd.DataFrame({"version": pd.Series(ROWS, dtype=kind), "build": BUILDS, "value": VALUES})


def take_arrow() -> Any:
    codes = pa.array([DECLARED.index(name) for name in ROWS], pa.int8())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(DECLARED), ordered=True)
    return pa.table({"version": column, "build": BUILDS, "value": VALUES})


def take_text() -> Any:
    return {"version": ROWS, "build": BUILDS, "value": VALUES}


def list_compared(*data: Any, **asked: Any) -> list[str]:
    content = json.loads(datamill.compare(*data, **asked).json())
    return [item["version"] for item in content["versions"]]


@pytest.mark.parametrize("take", [take_polars, take_pandas, take_arrow])
def test_a_declared_order_says_which_version_is_the_baseline(take: Callable[[], Any]) -> None:
    content = json.loads(datamill.compare(take()).json())
    assert [item["version"] for item in content["versions"]] == DECLARED
    reason = "the first in the order that the table declares; baseline= names another"
    assert content["baseline"] == {"version": "v2.9", "reason": reason}


@pytest.mark.parametrize("take", [take_polars, take_pandas, take_arrow])
def test_variances_come_in_the_declared_order(take: Callable[[], Any]) -> None:
    content = json.loads(datamill.variance(take()).json())
    assert [item["version"] for item in content["versions"]] == DECLARED


def test_a_file_keeps_the_order_that_it_declares(tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    pq.write_table(take_arrow(), file)
    assert list_compared(file) == DECLARED


def test_a_series_in_its_declared_order_is_not_warned_about() -> None:
    asked = datamill.compare(take_polars(), series=True)
    assert not any("alternate" in text for text in asked.warnings)
    assert any("alternate" in text for text in datamill.compare(take_text(), series=True).warnings)


def test_the_numbers_of_a_version_do_not_depend_on_its_place() -> None:
    ordered, plain = (
        {item["version"]: item for item in json.loads(datamill.variance(take()).json())["versions"]}
        for take in (take_polars, take_text)
    )
    assert ordered == plain


def test_text_comes_in_the_order_of_its_first_rows() -> None:
    assert list_compared(take_text()) == ["v1", "v2.10", "v2.9"]
    unordered = take_arrow().to_pandas().astype({"version": "str"})
    assert list_compared(unordered) == ["v1", "v2.10", "v2.9"]


def test_a_tidy_table_says_that_it_declares_the_order() -> None:
    tidy = pl.DataFrame(
        {
            "trial_id": [f"t{row}" for row in range(24)],
            "package": "p",
            "compiler": pl.Series(ROWS, dtype=pl.Enum(DECLARED)),
            "response": "time",
            "value": VALUES,
            "valid": True,
        }
    )
    content = json.loads(datamill.compare(tidy).json())
    assert content["baseline"]["version"] == "compiler=v2.9"
    assert content["baseline"]["reason"].startswith("the first in the order that the table declares")
