"""A row of a tidy table that is neither valid nor invalid is refused, wherever the table comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from faces.python_verbs import VERBS

import datamill
from datamill.experiment.errors import InputError


def make_tidy(valid: Any) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "trial_id": [f"t{row}" for row in range(12)],
            "package": ["old", "new"] * 6,
            "response": "time",
            "unit": "s",
            "value": [1.0 + (row * 7 % 12) / 100 for row in range(12)],
            "valid": valid,
        }
    )


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("word", ["yes", "1", " true", "NA"])
def test_a_row_in_memory_that_is_neither_valid_nor_invalid_is_named(
    verb: Callable[..., Any], word: str
) -> None:
    words = ["true"] * 12
    words[4] = word
    with pytest.raises(InputError, match=f'valid is "{word}", which is neither true nor false') as caught:
        verb(make_tidy(words))
    assert caught.value.where in ("table:5", "table 1:5")


@pytest.mark.parametrize("verb", VERBS)
def test_numbers_are_no_truth_values(verb: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match='valid is "1", which is neither true nor false'):
        verb(make_tidy([1] * 12))


@pytest.mark.parametrize("verb", VERBS)
def test_validity_of_a_type_without_words_is_refused(verb: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match="valid holds"):
        verb(make_tidy([[True]] * 12))


@pytest.mark.parametrize("verb", VERBS)
def test_words_of_spreadsheets_say_the_same_as_truth_values(verb: Callable[..., Any]) -> None:
    truth = [row != 5 for row in range(12)]
    words = [str(item).upper() for item in truth]
    assert verb(make_tidy(words)).json() == verb(make_tidy(truth)).json()


def test_rows_chosen_by_a_level_do_not_move_the_row_that_is_named() -> None:
    table = make_tidy(["true"] * 11 + ["perhaps"]).with_columns(size=pl.Series(["1", "1", "2", "2"] * 3))
    with pytest.raises(InputError, match='valid is "perhaps"') as caught:
        datamill.compare(table, where={"size": "2"})
    assert caught.value.where == "table 1:12"
