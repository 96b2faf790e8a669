"""Parts of a table, and the same analysis for each level of a factor."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from faces.python_verbs import FACTOR_VERBS, make_versions
from made.page_study import make_study

import datamill
from datamill.cli.main import datamill as command
from datamill.verbs.analyses.by_level import ByLevel


def make_table(seed: int = 2) -> pl.DataFrame:
    """Two flags on three machines; the flag acts on the last machine alone."""
    rng = np.random.default_rng(seed)
    rows = [
        (flag, machine, cores, 10 + (flag == "on" and machine == "c") * 3 + rng.normal(0, 0.5))
        for flag in ("off", "on")
        for machine, cores in (("a", 2), ("b", 2), ("c", 8))
        for _ in range(12)
    ]
    return pl.DataFrame(rows, schema=["flag", "machine", "cores", "y"], orient="row")


@pytest.mark.parametrize("verb", FACTOR_VERBS, ids=lambda verb: verb.__name__)
def test_rows_that_are_chosen_are_as_if_there_were_no_others(verb: Callable[..., Any]) -> None:
    table = make_table()
    chosen = verb(table, response="y", factors=["flag"], where={"machine": ["a", "c"]})
    alone = verb(table.filter(pl.col("machine") != "b"), response="y", factors=["flag"])
    assert chosen.json() == alone.json()


@pytest.mark.parametrize("verb", FACTOR_VERBS, ids=lambda verb: verb.__name__)
def test_each_level_is_analysed_as_if_alone_but_for_its_share_of_the_error_rate(
    verb: Callable[..., Any],
) -> None:
    table = make_table()
    judges = verb in (datamill.anova, datamill.quantiles)
    alpha, own_alpha = ({"alpha": 0.03}, {"alpha": 0.01}) if judges else ({}, {})
    found = verb(table, response="y", factors=["flag"], by="machine", confidence=0.94, **alpha)
    assert isinstance(found, ByLevel)
    assert list(found.results) == ["a", "b", "c"]
    assert found.own_confidence == pytest.approx(0.98)
    own = table.filter(pl.col("machine") == "b")
    level = found.own_confidence
    alone = verb(own, response="y", factors=["flag"], confidence=level, **own_alpha)
    assert found.results["b"].numbers() == alone.numbers()
    assert "98% interval (Bonferroni)" in found.lead[-1]
    assert json.loads(found.json())["levels"][2]["level"] == "c"
    assert "machine b" in found.text()


def test_alpha_is_shared_by_the_levels() -> None:
    found = datamill.anova(make_table(), response="y", factors=["flag"], by="machine", alpha=0.03)
    assert [result.model.alpha for result in found.results.values()] == pytest.approx([0.01] * 3)
    detected = {level: r.model.detects(r.model.terms[0]) for level, r in found.results.items()}
    assert detected == {"a": False, "b": False, "c": True}


def test_tables_of_all_levels_are_one_table() -> None:
    found = datamill.summary(make_table(), response="y", factors=["flag"], by="machine")
    first = found.tables("csv").splitlines()
    assert first[1].startswith("group,flag,n")
    assert [line.split(",")[0] for line in first[2:8]] == [f"machine {m}" for m in "aabbcc"]


def test_figures_have_a_panel_a_level() -> None:
    found = datamill.anova(make_table(), response="y", factors=["flag"], by="machine")
    figure = found.figures()[0]
    assert len(figure.chart["concat"]) == 3
    assert "params" not in json.dumps(figure.chart)
    # What keeps boxes off the frame stays.
    boxes = datamill.summary(make_table(), response="y", factors=["flag"], by="machine").figures()[0]
    assert all(panel["layer"][0]["encoding"]["y"]["scale"]["padding"] for panel in boxes.chart["concat"])
    assert "machine b" in found.page()


def test_builds_and_executions_are_split_too() -> None:
    table = make_versions().with_columns(host=pl.Series(["x", "y"]).sample(36, with_replacement=True, seed=1))
    found = datamill.variance(table, by="host")
    assert set(found.results) == {"x", "y"}
    alone = datamill.variance(table, where={"host": "x"}, confidence=0.975)
    assert found.results["x"].numbers() == alone.numbers()


def test_the_split_factor_leaves_the_model_and_its_numbers_may_be_numbers() -> None:
    found = datamill.anova(make_table(), response="y", factors=["flag", "cores"], by="cores")
    assert list(found.results) == ["2", "8"]
    assert [term.term.name for term in found.results["8"].model.terms] == ["flag"]
    assert datamill.summary(make_table(), response="y", where={"cores": 8.0}).summary.n == 24


def test_a_level_that_allows_no_analysis_says_why() -> None:
    table = make_table().filter(~((pl.col("machine") == "b") & (pl.col("flag") == "on")))
    found = datamill.anova(table, response="y", factors=["flag"], by="machine")
    assert list(found.problems) == ["b"]
    assert found.own_confidence == pytest.approx(0.9834)
    assert any(sentence.startswith("machine b: no analysis") for sentence in found.lead)


def test_a_bundles_table_is_split_by_its_factors_in_their_order() -> None:
    _, design, table, _ = make_study()
    factor = next(item for item in design.crossed if item.name != "package")
    found = datamill.tests(table, response=table["response"][0], factors=["package"], by=factor.name)
    assert set(found.results) == set(factor.levels)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"where": {"machin": "a"}}, 'Did you mean "machine"'),
        ({"where": {"machine": "d"}}, "Its levels are: a, b, c"),
        ({"where": {"machine": "a", "cores": 8}}, "no row has machine=a and cores=8 together"),
        ({"where": "machine"}, "not levels of columns"),
        ({"where": {"machine": []}}, "not a level"),
        ({"by": "machin"}, 'Did you mean "machine"'),
        ({"by": "y"}, "has 72 levels to split by"),
    ],
)
def test_what_is_not_there_is_named(given: dict[str, Any], said: str) -> None:
    with pytest.raises(datamill.InputError) as caught:
        datamill.anova(make_table(), response="y", factors=["flag"], **given)
    assert said in str(caught.value)


@pytest.mark.parametrize("verb", ["anova", "quantiles", "tests", "variability", "summary", "variance"])
def test_every_verb_of_the_command_line_takes_both(verb: str, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    make_table().write_csv(file)
    asked = ["--value", "y"] if verb == "variance" else ["--response", "y", "--factors", "flag"]
    given = ["analyze", verb, str(file), *asked, "--where", "machine=a,c", "--by", "machine", "--json"]
    done = CliRunner().invoke(command, given)
    assert done.exit_code == 0, done.output
    assert [item["level"] for item in json.loads(done.stdout)["levels"]] == ["a", "c"]
