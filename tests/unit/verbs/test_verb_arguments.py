"""What the verbs take from Python: every argument is checked, and every refusal says what to do."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import datamill

RNG = np.random.default_rng(5)
TABLE = pl.DataFrame(
    {
        "f": ["a", "b"] * 20,
        "x": RNG.uniform(1, 9, 40),
        "t": ["u", "u", "v", "v"] * 10,
        "y": RNG.normal(9, 1, 40),
    }
)
VERBS = ("anova", "quantiles", "tests", "variability", "summary")


def ask(verb: str, table: Any = TABLE, **arguments: Any) -> Any:
    return getattr(datamill, verb)(table, **{"response": "y", "factors": ["f"], **arguments})


def refuse(verb: str, table: Any = TABLE, **arguments: Any) -> str:
    with pytest.raises(datamill.InputError) as problem:
        ask(verb, table, **arguments)
    assert problem.value.remedy
    return str(problem.value)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("given", "meant"), [("trials", "trial"), ("covariate", "covariates"), ("block", "blocks")]
)
def test_an_unknown_argument_is_refused_with_the_nearest_known_one(verb: str, given: str, meant: str) -> None:
    said = refuse(verb, **{given: "t"})
    assert f'{verb} has no argument "{given}"' in said
    assert f"Did you mean {meant}?" in said


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("confidence", [95, 1.0, -1, 0, 0.0, 0.5, float("nan"), "0.95", True])
def test_a_confidence_that_is_none_is_refused_and_zero_is_not_the_usual_one(
    verb: str, confidence: Any
) -> None:
    assert "confidence is" in refuse(verb, confidence=confidence)


def test_a_confidence_in_percent_is_told_as_a_fraction() -> None:
    assert "0.95" in refuse("summary", confidence=95)


@pytest.mark.parametrize("verb", ["anova", "quantiles"])
@pytest.mark.parametrize("alpha", [0, 5, -0.1, "0.05"])
def test_an_alpha_that_is_none_is_refused_and_zero_is_not_the_usual_one(verb: str, alpha: Any) -> None:
    assert "alpha is" in refuse(verb, alpha=alpha)


@pytest.mark.parametrize(
    ("verb", "name", "value"),
    [
        ("anova", "squares", "2"), ("anova", "squares", "ii"), ("anova", "order", 1.5), ("anova", "order", 0),
        ("quantiles", "errors", "nids"), ("quantiles", "bandwidth", "z"), ("quantiles", "seed", -1),
        ("quantiles", "seed", 2**70), ("quantiles", "replicates", 0), ("quantiles", "block_length", 0),
        ("tests", "adjust", "bonferroni"), ("tests", "assume", "nothin"), ("tests", "compare", "locations"),
        ("tests", "seed", 1.5), ("tests", "factor", 3), ("variability", "assume", "foo"),
        ("variability", "adjust", "foo"), ("variability", "seed", None),
        ("anova", "response", 3), ("anova", "factors", [1]),
    ],
)  # fmt: skip
def test_an_argument_that_is_not_of_its_kind_is_refused_by_name(verb: str, name: str, value: Any) -> None:
    assert f"{name} is {value!r}" in refuse(verb, **{name: value})


def test_a_window_is_a_whole_number_of_at_least_three() -> None:
    for window in (5.5, 2, 0):
        assert "window is" in refuse("variability", window=window, against="x")


@pytest.mark.parametrize("given", [[], [0.5, 1.0], ["a"], "0.5", 0, None])
def test_quantiles_lie_between_0_and_1(given: Any) -> None:
    assert "quantile" in refuse("quantiles", quantiles=given)


def test_one_quantile_and_one_name_need_no_list() -> None:
    assert ask("quantiles", quantiles=0.5, factors="f").text() == ask("quantiles", quantiles=[0.5]).text()


def test_a_kind_of_figure_that_there_is_not_is_refused() -> None:
    with pytest.raises(datamill.InputError, match="kind is 'boxes'"):
        ask("summary").figure("boxes")


def test_whole_numbers_and_others_may_be_mixed() -> None:
    assert '"median": 2.5' in ask("summary", {"y": [1, 2.5, 3]}, factors=[]).json()


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"y": [1, "a", 2.5], "f": ["a", "b", "a"]}, "column y mixes float, int, str"),
        ({"y": [1.0, 2.0, 3.0], "f": ["a", "b"]}, "make no table"),
        ({"y": [1.0, 2.0], 3: ["a", "b"]}, "no text"),
        (TABLE.lazy().select("nothing"), "cannot be computed"),
        (pa.table({"y": pa.array([Decimal("1.5")], type=pa.decimal256(50, 2)), "f": ["a"]}), "decimal256"),
        (TABLE.with_columns(f=pl.lit(timedelta(1))), "f holds Duration"),
        (TABLE.with_columns(f=pl.col("f").cast(pl.Binary)), "f holds Binary"),
        (TABLE.with_columns(f=pl.concat_list("f")), "f holds List"),
        (TABLE.with_columns(f=pl.Series([object()] * 40, dtype=pl.Object)), "f holds Object"),
    ],
)
def test_a_table_of_odd_types_is_refused_with_a_remedy(table: Any, words: str) -> None:
    for verb in VERBS:
        assert words in refuse(verb, table)


@pytest.mark.parametrize("verb", ["tests", "variability", "summary"])
def test_a_verb_without_a_model_refuses_what_only_a_model_heeds(verb: str) -> None:
    assert "covariates (x)" in refuse(verb, covariates=["x"])
    assert "no interactions" in refuse(verb, order=1)
    assert "covariates (x)" in refuse(verb, factors=[], response="", formula="y ~ f + x")
    assert "anova" in refuse(verb, covariates=["x"])
    ask(verb, factors=[], response="", formula="y ~ f * t")


def test_ratios_of_logarithms_are_taken_back_and_do_not_depend_on_the_unit() -> None:
    for assume in ("nothing", "normal", "exchangeable"):
        found = []
        for unit in (1.0, 1000.0):
            table = TABLE.with_columns(y=pl.col("y").exp() * unit)
            result = ask("tests", table, response="", factors=[], formula="log10(y) ~ f", assume=assume)
            found.append([e.value.estimate for e in result.comparison.strata[0].pairs[0].test.estimates])
        assert found[0] == pytest.approx(found[1])
        assert 10 ** found[0][-2] == pytest.approx(found[0][-1])
        assert "ratio" in result.text()


def test_roots_have_no_ratio_and_spreads_of_logarithms_keep_theirs() -> None:
    root = ask("tests", response="", factors=[], formula="sqrt(y) ~ f", assume="normal")
    assert "ratio" not in root.lead[0]
    spread = ask("tests", response="", factors=[], formula="log(y) ~ f", compare="spread")
    assert "ratio" in spread.lead[0]


def test_a_logarithm_has_no_coefficient_of_variation() -> None:
    asked = {"response": "", "factors": [], "formula": "log(y) ~ f"}
    assert "depends on the unit" in refuse("variability", **asked)
    assert ask("summary", **asked).summary.groups[0].cv is None
    assert ask("summary").summary.groups[0].cv is not None


def test_a_page_without_a_figure_is_still_a_page() -> None:
    below = TABLE.with_columns(y=-pl.col("y"))
    assert "<html" in ask("variability", below).page()
    still = TABLE.with_columns(y=pl.when(pl.col("f") == "a").then(1.0).otherwise(2.0))
    assert "<html" in ask("tests", still).page()


def test_a_formula_nested_beyond_all_need_is_refused() -> None:
    deep = "y ~ " + "(" * 2000 + "f" + ")" * 2000
    for verb in VERBS:
        assert "nested more than 50 deep" in refuse(verb, factors=[], response="", formula=deep)
    ask("anova", factors=[], response="", formula="y ~ " + "(" * 50 + "f" + ")" * 50 + " + (((x)))")
