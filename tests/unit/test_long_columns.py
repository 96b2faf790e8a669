import numpy as np
import polars as pl
import pytest

from datamill.analysis.model_data.columns import Lines, encode_factors
from datamill.experiment.errors import InputError

ROWS = 150_000


def encode(texts: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    (factor,), (codes,) = encode_factors(pl.DataFrame({"f": texts}), ["f"], {}, Lines("t.csv", 2))
    return factor.levels, codes


@pytest.mark.parametrize("levels", [1, 2, 5, 12, 40])
def test_levels_of_a_long_column_are_found_however_many_there_are(levels: int) -> None:
    names = np.array([f"level {index:02d}, with a name that is long" for index in range(levels)])
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
