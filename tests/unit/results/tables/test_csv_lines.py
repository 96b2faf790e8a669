"""Errors about cells of a CSV file name the line where the row begins, as editors count lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import datamill
from datamill.experiment.errors import InputError
from datamill.results.tables.csv_files.csv_lines import find_line
from datamill.results.tables.table_files import read_table_file

#: Texts of a table with a value that is no number, and the line of its row.
TABLES = {
    "plain": ("version,value\na,1\nb,x\n", 3),
    "blank lines before the header": ("\n\nversion,value\na,1\nb,x\n", 5),
    "blank lines of Windows before the header": ("\r\n\r\nversion,value\r\na,1\r\nb,x\r\n", 5),
    "a mark of the encoding": ("\ufeff\nversion,value\na,1\nb,x\n", 4),
    "a text of three lines": ('version,value\n"a\nb\nc",1\nb,x\n', 5),
    "a text of three lines of Windows": ('version,value\r\n"a\r\nb\r\nc",1\r\nb,x\r\n', 5),
    "a blank line in a text": ('version,value\n"a\n\nb",1\nb,x\n', 5),
    "a name of two lines": ('version,value,"of\nthis"\na,1,2\nb,x,2\n', 4),
    "the row itself in two lines": ('version,value\na,1\n"b\nb",x\n', 3),
    "a doubled quotation mark": ('version,value\n"a"" b\n",1\nb,x\n', 4),
    "a carriage return in a text": ('version,value\n"a\rb",1\nb,x\n', 3),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    "verb",
    [
        lambda file: datamill.summary(file, response="value", factors=["version"]),
        datamill.variance,
        datamill.compare,
    ],
)
def test_a_value_that_is_no_number_is_named_by_its_line(
    tmp_path: Path, name: str, verb: Callable[..., Any]
) -> None:
    text, line = TABLES[name]
    file = tmp_path / "table.csv"
    file.write_bytes(text.encode())
    with pytest.raises(InputError, match='value is "x"') as caught:
        verb(file)
    assert caught.value.where == f"{file}:{line}"


def test_a_blank_line_among_the_rows_is_named_by_its_own_line(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text('g,y\n"a\nb",1\n\nb,2\n')
    with pytest.raises(InputError, match="factor g has no level here") as caught:
        datamill.summary(file, response="y", factors=["g"])
    assert caught.value.where == f"{file}:4"


def test_unclear_validity_is_named_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text('\ntrial_id,response,value,valid\n"a\n",t,1,true\nb,t,1,perhaps\n')
    with pytest.raises(InputError, match='valid is "perhaps"') as caught:
        read_table_file(file)
    assert caught.value.where == f"{file}:5"


def test_rows_of_a_parquet_file_and_in_memory_are_counted_from_one(tmp_path: Path) -> None:
    table = {"version": ["a", "b"], "value": ["1", "x"]}
    file = tmp_path / "table.parquet"
    pl.DataFrame(table).write_parquet(file)
    for data, place in ((table, "table:2"), (file, f"{file}:2")):
        with pytest.raises(InputError) as caught:
            datamill.variance(data)
        assert caught.value.where == place


def test_a_line_that_cannot_be_told_is_not_invented(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("g,y\na,1\n")
    assert find_line(file, 0) == 2
    assert find_line(file, 9) is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\n\ng,y\na,1\nb,2,3\n", 5),
        ('g,y\n"a\nb",1\n"c\nd",2,3\n', 4),
    ],
)
def test_a_row_with_too_many_fields_is_named_by_the_line_where_it_begins(
    tmp_path: Path, text: str, line: int
) -> None:
    file = tmp_path / "table.csv"
    file.write_text(text)
    with pytest.raises(InputError, match="3 fields, the header 2") as caught:
        read_table_file(file)
    assert caught.value.where == f"{file}:{line}"
