import numpy as np
import polars as pl
import pytest

from datamill.analysis.model_data.columns import Lines, encode_factors
from datamill.analysis.model_data.observations import read_columns
from datamill.experiment.errors import InputError

ROWS = 150_000


def encode(texts: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    (factor,), (codes,) = encode_factors(pl.DataFrame({"f": texts}), ["f"], {}, Lines("t.csv", 2))
    return factor.levels, codes


@pytest.mark.parametrize("levels", [1, 2, 5, 12, 40, 255, 256, 1000])
def test_levels_of_a_long_column_are_found_however_many_there_are(levels: int) -> None:
    names = np.array([f"level {index:04d}, with a name that is long" for index in range(levels)])
    wanted = np.random.default_rng(1).integers(0, levels, ROWS)
    found, codes = encode(names[wanted])
    assert found == tuple(names)
    assert np.array_equal(codes, wanted)


def test_a_level_that_comes_late_is_found() -> None:
    texts = np.array(["a", "b"])[np.arange(ROWS) % 2].astype(object)
    texts[-1] = "late"
    found, codes = encode(texts)
    assert found == ("a", "b", "late")
    assert codes[-1] == 2
    assert np.array_equal(codes[:-1], np.arange(ROWS - 1) % 2)


def test_blanks_around_a_level_do_not_make_another() -> None:
    found, codes = encode(np.array(["a", " a", "b"])[np.arange(ROWS) % 3])
    assert found == ("a", "b")
    assert np.array_equal(codes, (np.arange(ROWS) % 3 == 2).astype(int))


@pytest.mark.parametrize("missing", [None, "", "  "])
def test_a_row_without_a_level_is_refused_by_its_line(missing: str | None) -> None:
    texts = np.array(["a", "b"])[np.arange(ROWS) % 2].astype(object)
    texts[120_000] = missing
    with pytest.raises(InputError, match="no level here") as caught:
        encode(texts)
    assert caught.value.where == "t.csv:120002"


@pytest.mark.parametrize("length", [1, 11, 12, 13, 40])
def test_levels_that_differ_in_their_last_letter_are_told_apart(length: int) -> None:
    texts = np.array(["x" * (length - 1) + last for last in "abc"])
    wanted = np.arange(ROWS) % 3
    found, codes = encode(texts[wanted])
    assert found == tuple(texts)
    assert np.array_equal(codes, wanted)


def test_a_column_of_several_parts_has_one_numbering() -> None:
    names = [
        pl.Series("f", [f"a level of part {part} here", "all", "last" if part else "first"])
        for part in (0, 1)
    ]
    column = pl.concat([names[0], names[1], names[0].slice(1)], rechunk=False)
    assert column.n_chunks() == 3
    (factor,), (codes,) = encode_factors(column.to_frame(), ["f"], {}, Lines("t.csv", 2))
    assert [factor.levels[code] for code in codes] == column.to_list()
    assert factor.levels == ("a level of part 0 here", "a level of part 1 here", "all", "first", "last")


def test_the_same_table_as_texts_and_as_categories_has_the_same_cells() -> None:
    rng = np.random.default_rng(2)
    texts = pl.DataFrame(
        {
            "f": np.array(["on", "off"])[rng.integers(0, 2, ROWS)],
            "g": rng.integers(0, 300, ROWS).astype(str),
            "y": rng.standard_normal(ROWS),
        }
    )
    categories = texts.with_columns(pl.col("f", "g").cast(pl.Categorical))
    one, other = (read_columns(table, "y", ["f", "g"]).cells for table in (texts, categories))
    assert one.factors == other.factors
    for name in ("codes", "counts", "means", "within_ss", "lows", "highs", "of_row", "values"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
