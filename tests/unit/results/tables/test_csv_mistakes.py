"""Odd CSV files are read as they are meant, or refused with the line; no row is lost or joined to another."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import polars as pl
import pytest

from datamill.experiment.errors import InputError
from datamill.results.tables.table_files import read_table_file

PLAIN = b"g,t\na,1\nb,2\n"


def read(folder: Path, content: bytes, name: str = "table.csv") -> pl.DataFrame:
    (folder / name).write_bytes(content)
    return read_table_file(folder / name)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        # Polars joins these rows into one, without the quotation marks.
        (b'g,t\na,1\n"x\n,x" "\nx1,aaa\nxa\n , x""\na", 1x\n', 3),
        (b'g,t\n"1,a1\n""xx,1x\n"xx",\nx\n\n\na,\n"\n', 2),
        (b'\xef\xbb\xbf"g","t"\r\n"a\r\nb","1"\r\n"a"b,"2"\r\n', 4),
        (b'g,t\na,1\n"a,2\nb,3\n', 3),
        (b'g,t\na,1\na"x,2\nb,3\n', 3),
        (b'g,t\n"a\nb",1\n5" disk,2\n6" disk,3\n', 4),
    ],
)
def test_a_quotation_mark_in_the_wrong_place_is_named_by_its_line(
    tmp_path: Path, content: bytes, line: int
) -> None:
    with pytest.raises(InputError, match="quotation mark stands in the wrong place") as caught:
        read(tmp_path, content)
    assert caught.value.where == f"{tmp_path / 'table.csv'}:{line}"
    assert "doubled" in caught.value.remedy


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (PLAIN.replace(b"\n", b"\r\n"), [("a", "1"), ("b", "2")]),
        (b"\xef\xbb\xbf" + PLAIN, [("a", "1"), ("b", "2")]),
        (b'\xef\xbb\xbf"g","t"\n"a","1"\n', [("a", "1")]),
        (b'g,t\n"a ""q"", x",1\n"b\r\ny",2', [('a "q", x', "1"), ("b\r\ny", "2")]),
        (b'g,t\n"""",1\n"",2\n', [('"', "1"), ("", "2")]),
        # Quotation marks inside a text without any around it stand for themselves.
        (b'g,t\n{"a": 1},1\na "b",2\n', [('{"a": 1}', "1"), ('a "b"', "2")]),
        (b"g,t\na,1\nb,2\n\n,\n", [("a", "1"), ("b", "2")]),
    ],
)
def test_an_odd_file_is_read_as_it_is_meant(
    tmp_path: Path, content: bytes, rows: list[tuple[str, str]]
) -> None:
    assert read(tmp_path, content).rows() == rows


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (gzip.compress(PLAIN, mtime=0), "compressed with gzip"),
        (bz2.compress(PLAIN), "compressed with bzip2"),
        (lzma.compress(PLAIN), "compressed with xz"),
        (b"\x28\xb5\x2f\xfd\x24\x0c\x61\x00", "compressed with zstd"),
        (PLAIN.replace(b"\n", b"\r"), "carriage returns"),
        (PLAIN.decode().encode("utf-16-le"), "UTF-8"),
        (b"sep=,\r\n" + PLAIN, "note to a spreadsheet"),
        (b"\n\ng,t,t\na,1,2\n", 'the column "t" stands there twice'),
    ],
)
def test_what_cannot_be_read_is_called_what_it_is(tmp_path: Path, content: bytes, words: str) -> None:
    for name in ("table.csv", "table.CSV"):
        with pytest.raises(InputError, match=words) as caught:
            read(tmp_path, content, name)
        assert caught.value.where.startswith(str(tmp_path / name))
        assert caught.value.remedy


def test_a_compressed_table_of_any_name_is_called_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="compressed with gzip"):
        read(tmp_path, gzip.compress(PLAIN, mtime=0), "table.csv.gz")
