"""Tables as files: what is none is named as what it is."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from datamill.analysis.model_data.observations import read_columns
from datamill.experiment.errors import InputError
from datamill.results.bundles.replaced_file import replace_file
from datamill.results.tables.table_batches import count_combinations
from datamill.results.tables.table_files import read_table_file


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("semi.csv", b"g;y\na;1,5\nb;2,5\n", "separated by semicolons"),
        ("tabs.csv", b"g\ty\na\t1\n", "separated by tabs"),
        ("tabs.tsv", b"g\ty\na\t1\n", "separated by tabs"),
        ("page.html", b"<!doctype html><p>", "HTML"),
        ("values.json", b'{"y": 1}', "JSON"),
        ("book.csv", b"PK\x03\x04\x14\0[Content_Types].xml\x84", "Excel workbook"),
        ("book.xlsx", b"PK\x03\x04\x14\0\x84", "Excel workbook"),
        ("old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Excel workbook"),
        ("table.csv.zip", b"PK\x03\x04\x14\0table.csv", "zip archive"),
        ("table.csv", b"PAR1\x15\x04", "Parquet"),
        ("wide.csv", "g,y\na,1\n".encode("utf-16"), "UTF-8"),
        ("latin.csv", "gäb,y\na,1\n".encode("latin-1"), "UTF-8"),
        ("empty.parquet", b"", "empty"),
    ],
)
def test_a_file_that_is_no_table_is_called_what_it_is(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_table_file(file)
    assert words in caught.value.message
    assert caught.value.where == str(file)
    assert caught.value.remedy
    assert "Schema" not in str(caught.value)


def test_a_row_with_too_many_fields_is_named_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "ragged.csv"
    file.write_text('g,y\n"a\nb",1\nc,2,3\nd,4\n')
    with pytest.raises(InputError) as caught:
        read_table_file(file)
    assert caught.value.where == f"{file}:4"
    assert "3 fields, the header 2" in caught.value.message


def test_a_table_that_cannot_be_written_is_named_by_its_own_name(tmp_path: Path) -> None:
    # A folder of the draft's name keeps it from being opened, also for root.
    (tmp_path / ".table.csv").mkdir()
    with pytest.raises(OSError) as caught:  # noqa: PT011 - whichever of them
        replace_file(tmp_path / "table.csv", [b"g,y\n"])
    assert caught.value.filename == str(tmp_path / "table.csv")


@pytest.mark.parametrize(
    ("first", "steps", "refused"),
    [(2**53, 1, True), (2**53 + 1, 3, True), (2**53, 2**10, False), (0, 1, False)],
)
def test_whole_numbers_too_large_for_doubles_are_refused_in_batches_as_in_memory(
    tmp_path: Path, first: int, steps: int, refused: bool
) -> None:
    file = tmp_path / "t.parquet"
    table = pl.DataFrame({"f": ["a", "b", "a", "b"], "y": [first + steps * row for row in range(4)]})
    table.write_parquet(file)
    for read in (
        lambda: count_combinations(file, ["f"], "y"),
        lambda: read_columns(table, "y", ["f"], source=str(file)),
    ):
        if refused:
            with pytest.raises(InputError, match="so large") as caught:
                read()
            assert caught.value.where == str(file)
        else:
            read()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("words", [["true", "maybe"], ["TRUE", "1"], ["false", " true"]])
def test_a_row_that_is_neither_valid_nor_invalid_is_not_left_out_in_silence(
    tmp_path: Path, suffix: str, words: list[str]
) -> None:
    table = pl.DataFrame(
        {"trial_id": ["a", "b"], "response": "t", "value": [1.0, 2.0], "unit": "s", "valid": words}
    )
    file = tmp_path / f"table{suffix}"
    (table.write_csv if suffix == ".csv" else table.write_parquet)(file)
    with pytest.raises(InputError, match=f'valid is "{words[1]}", which is neither true nor false') as caught:
        read_table_file(file)
    assert caught.value.where == f"{file}:{3 if suffix == '.csv' else 2}"


def test_validity_may_be_written_as_spreadsheets_do(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("trial_id,response,value,valid\na,t,1,TRUE\nb,t,2,FALSE\nc,t,2,\n")
    assert read_table_file(file)["valid"].to_list() == ["TRUE", "FALSE", None]
