"""The linear model against R's lm with contr.sum and drop1 (Type III)."""

import csv
from itertools import product

import numpy as np
import polars as pl
import pytest
from reference.r_answers import ask_r
from scipy.stats import f as f_distribution

from datamill.analysis.levels.packages import compare_packages
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import ModelFactor, gather_cells
from datamill.analysis.model_data.observations import read_columns

LEVELS = {"a": ("1", "2"), "b": ("1", "2", "3"), "c": ("1", "2", "3", "4")}

SCRIPT = """
d <- read.csv(file("stdin"), colClasses = c("factor", "factor", "factor", "numeric"))
options(contrasts = c("contr.sum", "contr.poly"))
m <- lm(as.formula(commandArgs(TRUE)[1]), d)
full <- function(...) sprintf("%.17g", c(...))
say <- function(...) cat(c(...), sep = ",", fill = 1000)
ci <- confint(m)
for (i in seq_along(coef(m))) say("coef", full(coef(m)[i], ci[i, ]))
t <- drop1(m, . ~ ., test = "F")
columns <- c("Df", "Sum of Sq", "F value", "Pr(>F)")
for (i in 2:nrow(t)) say("term", rownames(t)[i], full(unlist(t[i, columns])))
say("error", full(deviance(m), df.residual(m), summary(m)$r.squared))
"""


def make_table(seed: int, *, balanced: bool, drop_cell: bool = False) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for a, b, c in product(*LEVELS.values()):
        if drop_cell and (a, b, c) == ("2", "3", "4"):
            continue
        for _ in range(3 if balanced else int(rng.integers(1, 6))):
            y = 50 + 8 * (a == "2") + 3 * (b == "3") * (a == "1") - 2.5 * (c == "4") + rng.normal(0, 4)
            rows.append({"a": a, "b": b, "c": c, "y": repr(float(y))})
    return pl.DataFrame(rows)


def fit_in_r(table: pl.DataFrame, formula: str) -> dict[str, list[list[str]]]:
    rows: dict[str, list[list[str]]] = {"coef": [], "term": [], "error": []}
    for row in csv.reader(ask_r(SCRIPT, formula, text=table.write_csv()).splitlines()):
        rows[row[0]].append(row[1:])
    return rows


def compare_with_r(model: LinearModel, reference: dict[str, list[list[str]]]) -> None:
    terms = {row[0]: [float(number) for number in row[1:5]] for row in reference["term"]}
    assert set(terms) == {row.term.name for row in model.terms}
    for row in model.terms:
        df, sum_sq, f, p = terms[row.term.name]
        assert row.term.df == df
        assert row.sum_sq == pytest.approx(sum_sq, rel=1e-8)
        assert row.f == pytest.approx(f, rel=1e-8)
        assert row.p == pytest.approx(p, rel=1e-6)
    sse, df, r_squared = (float(number) for number in reference["error"][0][:3])
    assert model.error_ss == pytest.approx(sse, rel=1e-10)
    assert model.error_df == df
    assert model.r_squared == pytest.approx(r_squared, rel=1e-10)
    mean = [float(number) for number in reference["coef"][0][:3]]
    assert (model.mean.estimate, model.mean.low, model.mean.high) == pytest.approx(mean, rel=1e-10)


CASES = [
    ("a*b*c", 3, True),
    ("a*b*c", 3, False),
    ("(a+b+c)^2", 2, True),
    ("(a+b+c)^2", 2, False),
    ("a+b+c", 1, False),
]


@pytest.mark.parametrize(("formula", "order", "balanced"), CASES)
def test_type_iii_table_and_mean_agree_with_r(formula: str, order: int, balanced: bool) -> None:
    table = make_table(seed=order, balanced=balanced)
    model = fit_linear_model(read_columns(table, "y", list("abc")).cells, order=order)
    compare_with_r(model, fit_in_r(table, f"y ~ {formula}"))


def test_coefficients_with_intervals_agree_with_r_where_coding_differs_by_sign_only() -> None:
    table = make_table(seed=9, balanced=False)
    model = fit_linear_model(read_columns(table, "y", list("abc")).cells, order=1)
    reference = [[float(number) for number in row[:3]] for row in fit_in_r(table, "y ~ a+b+c")["coef"]]
    ours = [(item.value.estimate, item.value.low, item.value.high) for item in model.coefficients]
    # R's contr.sum gives the first of two levels +1, the thesis gives it -1.
    first = ours[0]
    assert (-first[0], -first[2], -first[1]) == pytest.approx(reference[1], rel=1e-8)
    for got, wanted in zip(ours[1:], reference[2:], strict=True):
        assert got == pytest.approx(wanted, rel=1e-7)
    # The last level is minus the sum of the others.
    effects = next(row.effects for row in model.terms if row.term.name == "b")
    assert sum(effect.value.estimate for effect in effects) == pytest.approx(0, abs=1e-9)


def test_the_last_level_has_the_interval_that_r_gives_when_levels_are_reordered() -> None:
    table = make_table(seed=10, balanced=False)
    model = fit_linear_model(read_columns(table, "y", list("abc")).cells, order=1)
    last = next(row.effects for row in model.terms if row.term.name == "b")[-1]
    swapped = table.with_columns(pl.col("b").replace({"1": "3", "3": "1"}))
    reference = [float(number) for number in fit_in_r(swapped, "y ~ a+b+c")["coef"][2][:3]]
    assert last.levels == ("3",)
    assert (last.value.estimate, last.value.low, last.value.high) == pytest.approx(reference, rel=1e-8)


def test_with_a_failed_cell_the_reduced_model_is_the_one_that_r_fits_without_that_interaction() -> None:
    table = make_table(seed=4, balanced=True, drop_cell=True)
    model = fit_linear_model(read_columns(table, "y", list("abc")).cells, order=3)
    assert model.not_estimable == ("a:b:c",)
    compare_with_r(model, fit_in_r(table, "y ~ (a+b+c)^2"))


def test_p_values_agree_with_r_far_into_the_tail() -> None:
    script = 'cat(sprintf("%.15g\\n", pf(c(1e4, 1e6, 1e3), c(1, 4, 2), c(150, 90, 400), lower.tail=FALSE)))'
    ours = f_distribution.sf([1e4, 1e6, 1e3], [1, 4, 2], [150, 90, 400])
    assert list(ours) == pytest.approx([float(line) for line in ask_r(script).split()], rel=1e-9)


def test_two_packages_without_other_factors_are_compared_as_by_welchs_t_test() -> None:
    first, second = [10.1, 11.4, 9.7, 10.9, 10.2], [12.8, 19.5, 15.1, 8.4]
    script = """
    a <- c(10.1, 11.4, 9.7, 10.9, 10.2); b <- c(12.8, 19.5, 15.1, 8.4)
    t <- t.test(b, a)
    cat(sprintf("%.15g\n", c(t$conf.int, t$parameter, t$p.value)))
    """
    codes = np.array([0] * len(first) + [1] * len(second)).reshape(-1, 1)
    cells = gather_cells([ModelFactor("package", ("a", "b"))], codes, np.array(first + second))
    pair = compare_packages(cells, factor=0, baseline="a", direction="higher").pairs[0]
    ours = [pair.difference.low, pair.difference.high, pair.df, pair.p]
    assert ours == pytest.approx([float(line) for line in ask_r(script).split()], rel=1e-9)
