"""The verbs of `analyze` in Python, on tables of every kind."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import datamill

ROWS = 240


def make_table() -> pl.DataFrame:
    random = np.random.default_rng(3)
    flag = np.arange(ROWS) % 2
    machine = np.arange(ROWS) // 2 % 3
    return pl.DataFrame(
        {
            "flag": [("off", "on")[code] for code in flag],
            "machine": [("amber", "beryl", "coral")[code] for code in machine],
            "size": random.uniform(1, 9, ROWS),
            "seconds": 10 + flag + 2.0 * machine + random.gamma(2, 0.2, ROWS),
        }
    )


TABLE = make_table()
KINDS = {
    "polars": TABLE,
    "lazy": TABLE.lazy(),
    "pandas": TABLE.to_pandas(),
    "arrow": TABLE.to_arrow(),
    "columns": TABLE.to_dict(as_series=False),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_analysis(kind: str) -> None:
    expected = datamill.anova(TABLE, response="seconds", factors=["flag", "machine"])
    found = datamill.anova(KINDS[kind], response="seconds", factors=["flag", "machine"])
    assert found.text() == expected.text()


@pytest.mark.parametrize("verb", ["anova", "quantiles", "tests", "variability", "summary"])
def test_a_verb_prints_what_its_command_prints(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from datamill.cli.main import main

    TABLE.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(SystemExit) as stop:
        main(
            [
                "analyze",
                verb,
                str(tmp_path / "t.parquet"),
                "--response",
                "seconds",
                "--factors",
                "flag,machine",
            ]
        )
    assert stop.value.code == 0
    result = getattr(datamill, verb)(TABLE, response="seconds", factors=["flag", "machine"])
    assert capsys.readouterr().out == str(result) + "\n"
    assert result.json().startswith("{")
    assert result.figures()
    page = result.page()
    assert result.lead
    assert "<script src" not in page
    assert "<link" not in page


def test_a_formula_with_a_covariate_is_understood_by_both_models() -> None:
    formula = "seconds ~ flag * machine + log(size)"
    assert "log(size)" in datamill.anova(TABLE, formula=formula).text()
    assert "log(size)" in datamill.quantiles(TABLE, formula=formula, quantiles=[0.5]).text()


def test_the_order_of_a_pandas_categorical_is_the_order_of_the_levels() -> None:
    frame = TABLE.to_pandas()
    frame["flag"] = pd.Categorical(frame["flag"], categories=["on", "off"], ordered=True)
    flag = datamill.anova(frame, response="seconds", factors=["flag"]).model.factors[0]
    assert flag.levels == ("on", "off")


@pytest.mark.parametrize("table", [3, "no-such-file.csv", None, np.ones(3)])
def test_what_is_no_table_is_refused_with_a_remedy(table: object) -> None:
    with pytest.raises(datamill.InputError) as problem:
        datamill.summary(table, response="seconds")
    assert problem.value.remedy


def test_importing_datamill_does_not_import_the_statistics() -> None:
    import subprocess
    import sys

    code = "import sys, datamill; sys.exit('scipy' in sys.modules or 'polars' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_factor_that_groups_are_made_of_need_not_be_named_twice() -> None:
    table = pl.DataFrame(
        {"size": ["s", "l"] * 10, "day": ["mo", "tu"] * 10, "y": [float(row) for row in range(20)]}
    )
    once = datamill.tests(table, response="y", factor="size")
    assert once.json() == datamill.tests(table, response="y", factors=["size"]).json()
    with pytest.raises(datamill.InputError, match="no column"):
        datamill.tests(table, response="y", factor="sise")
