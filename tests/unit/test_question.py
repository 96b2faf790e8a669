"""What is asked of a tidy table where little is named."""

import polars as pl
import pytest

from datamill.analysis.model_data.question import Question, select_model_data
from datamill.experiment.errors import InputError


def make_tidy(levels: str = "ab") -> pl.DataFrame:
    rows = [
        {"trial_id": f"t{at}", "response": "y", "value": float(at % 5), "valid": True, "order": at}
        | {"compiler": levels[at % len(levels)]}
        for at in range(12)
    ]
    return pl.DataFrame(rows)


def test_covariates_stand_beside_a_tables_factors_and_never_replace_them() -> None:
    data = select_model_data(make_tidy(), Question(covariates=("order",)))
    assert [factor.name for factor in data.observations.cells.factors] == ["compiler"]
    assert {term.name for term in data.terms} == {"compiler", "order"}


def test_a_formula_alone_says_that_there_are_no_factors() -> None:
    data = select_model_data(make_tidy(), Question(formula="y ~ order"))
    assert data.observations.cells.factors == ()


def test_a_table_whose_factors_do_not_vary_is_one_group_where_none_is_needed() -> None:
    with pytest.raises(InputError, match="no factor has valid data"):
        select_model_data(make_tidy("a"), Question())
    data = select_model_data(make_tidy("a"), Question(), allow_no_factor=True)
    assert data.observations.cells.counts.tolist() == [12]
