"""No spreadsheet executes a text of a table in CSV, and datamill reads the text back as it was."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamill.conduct.fleet.score_table import spell_scores
from datamill.protocol.api.machines import MachineScore, ScoreList
from datamill.results.tables.csv_files.formula_cells import mark_cells, mark_text, unmark_cells
from datamill.results.tables.table_files import read_table_file

FORMULAS = (
    "=1+1",
    '=HYPERLINK("http://x","y")',
    "-f(x)",
    "+[Book.xlsx]Sheet!A1",
    "-'file:///x'#$A.A1",
    "+1\t=1",
    "-1\n=1",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "=",
)
NUMBERS = ("-1", "+1", "-1.5", "-.5", "+2e-9", "-3E+4")
PLAIN = ("", "O2", "a=b", "'", "it's", "1-2", " =1", "é", "'quoted'")
#: Levels and names that other programs read, and that reach nothing.
SIGNED = ("-O2", "--fast", "-march=native", "-Wl,-z,now", "+sse4.2", "-", "-1.5e", "- 1", "'-O2")


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_a_spreadsheet_would_compute_has_an_apostrophe(text: str) -> None:
    assert mark_text(text) == f"'{text}"


@pytest.mark.parametrize("text", NUMBERS + PLAIN + SIGNED)
def test_numbers_plain_texts_and_flags_stay_as_they_are(text: str) -> None:
    assert mark_text(text) == text


def test_columns_of_numbers_are_never_touched_and_missing_cells_stay_missing() -> None:
    table = pl.DataFrame(
        {"value": [-1.5, None], "order": [-1, 2], "valid": [True, False], "level": ["=O2", None]}
    )
    marked = mark_cells(table)
    assert marked.drop("level").equals(table.drop("level"))
    assert marked["level"].to_list() == ["'=O2", None]


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum([*FORMULAS, *NUMBERS])])
def test_levels_that_are_kept_as_numbers_are_texts_all_the_same(kind: pl.DataType) -> None:
    levels = [*FORMULAS, *NUMBERS]
    table = pl.DataFrame({"level": pl.Series(levels, dtype=pl.String).cast(kind)})
    assert mark_cells(table)["level"].to_list() == [mark_text(level) for level in levels]


@given(st.lists(st.text(alphabet="'=+-@\t\r\n1.eO,\"(|! ", min_size=1, max_size=6), min_size=1, max_size=20))
def test_what_was_marked_is_read_as_it_was(texts: list[str]) -> None:
    table = pl.DataFrame({"level": texts, "other": ["x"] * len(texts)})
    marked = mark_cells(table)
    assert marked["level"].to_list() == [mark_text(text) for text in texts]
    assert unmark_cells(marked).equals(table)


def test_a_file_that_was_written_is_read_with_its_own_levels(tmp_path: Path) -> None:
    levels = [*FORMULAS, *NUMBERS, *(text for text in PLAIN if text), *SIGNED, "'=1", "''-f()"]
    table = pl.DataFrame({"level": levels, "seconds": [-0.5] * len(levels)})
    file = tmp_path / "table.csv"
    mark_cells(table).write_csv(file)
    read = read_table_file(file)
    assert read["level"].to_list() == levels
    assert read["seconds"].unique().to_list() == ["-0.5"]


def test_scores_of_machines_are_marked_as_well() -> None:
    score = MachineScore("=1+1", "-f(x)", 1, -2.5, 3)
    assert spell_scores(ScoreList((score,))).splitlines()[1] == "'=1+1,'-f(x),1,-2.5,3"
