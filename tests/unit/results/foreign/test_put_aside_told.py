"""Every verb tells how many rows are put aside, apart from invalid ones, in text, JSON and on the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from faces.python_verbs import VERBS

import datamill
from datamill.results.judgement.validity import CALIBRATION_REASON, REFERENCE_REASON

TOLD = "Put aside: 6 rows of this response (warm-ups 3, calibrations 2, reference trials 1)."
COUNTS = {"warm-ups": 3, "calibrations": 2, "reference trials": 1}


def make_tidy(reasons: list[str | None]) -> pl.DataFrame:
    """Twelve valid rows of two packages, and one row for each reason."""
    rows = 12 + len(reasons)
    return pl.DataFrame(
        {
            "trial_id": [f"t{row}" for row in range(rows)],
            "package": [("old", "new")[row % 2] for row in range(rows)],
            "response": "time",
            "unit": "s",
            "value": [1.0 + (row * 7 % 12) / 100 for row in range(rows)],
            "valid": [True] * 12 + [False] * len(reasons),
            "exclusion": [None] * 12 + reasons,
        },
        schema_overrides={"exclusion": pl.String},
    )


ASIDE: list[str | None] = [
    "warm-up: among the first 3 of its execution",
    "trial failed: no such file",
    CALIBRATION_REASON,
    "warm-up: before the values",
    "calibration: of loops",
    REFERENCE_REASON,
    "warm-up: before the values",
]


@pytest.mark.parametrize("verb", VERBS)
def test_rows_put_aside_are_told_once_by_what_they_are(verb: Callable[..., Any]) -> None:
    result = verb(make_tidy(ASIDE))
    text = " ".join(str(result).split())
    assert text.count("Put aside:") == 1
    assert TOLD in text
    assert "Excluded: 1 invalid rows of this response." in text
    assert "warm-up among them" not in text
    content = json.loads(result.json())
    assert (content["excluded"], content["put_aside"]) == (1, COUNTS)
    assert " ".join(result.page().split()).count(TOLD) == 1


@pytest.mark.parametrize("verb", VERBS)
def test_a_table_without_such_rows_says_nothing_of_them(verb: Callable[..., Any]) -> None:
    result = verb(make_tidy([]))
    assert "aside" not in str(result)
    assert json.loads(result.json())["put_aside"] == {}


def test_a_plan_tells_what_its_pilot_leaves_out() -> None:
    result = datamill.plan(make_tidy(ASIDE), half_width="5%", only="old", costs="b=10,w=5,q=1")
    assert TOLD in " ".join(str(result).split())
    assert json.loads(result.json())["put_aside"] == COUNTS


def test_rows_of_several_tables_are_counted_together() -> None:
    tables = [make_tidy(ASIDE).filter(pl.col("package") == name) for name in ("old", "new")]
    content = json.loads(datamill.compare(*tables).json())
    assert (content["excluded"], content["put_aside"]) == (1, COUNTS)


@pytest.mark.parametrize("verb", VERBS)
def test_a_row_that_is_valid_is_used_and_counted_as_such_whatever_its_reason_says(
    verb: Callable[..., Any],
) -> None:
    table = make_tidy(ASIDE).with_columns(
        valid=pl.col("valid") | pl.col("exclusion").str.starts_with("warm-up")
    )
    content = json.loads(verb(table).json())
    assert content["put_aside"] == {"calibrations": 2, "reference trials": 1}
    assert content["excluded"] == 1
