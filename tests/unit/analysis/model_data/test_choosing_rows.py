"""Rows to compare, chosen from Python: a level is what it is in the table, and anything else is refused."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import datamill
from datamill.experiment.errors import InputError

ROWS = [
    (version, build, size, 2.0**-20 * size, size == 8, 10 + build % 3 + size)
    for version in "AB"
    for build in range(4)
    for size in (8, 16)
]
FRAME = pl.DataFrame(ROWS, schema=["version", "build", "size", "share", "small", "value"], orient="row")


@pytest.mark.parametrize("where", [{"size": "8"}, {"size": 8}, {"small": True}, {"share": 2.0**-17}])
def test_a_level_is_a_text_or_the_number_itself(where: dict[str, Any]) -> None:
    means = datamill.compare(FRAME, where=where).comparison.means
    assert [mean.n for mean in means] == [4, 4]
    assert means[0].value.estimate == pytest.approx(18.75)


@pytest.mark.parametrize(
    "where", [{"size": ["8", "16"]}, {"size": ["8"]}, {"size": None}, {3: "8"}, "size=8", ["size=8"]]
)
def test_what_is_no_single_level_is_refused(where: Any) -> None:
    with pytest.raises(InputError, match="where") as caught:
        datamill.compare(FRAME, where=where)
    assert "one level for each column" in caught.value.remedy
