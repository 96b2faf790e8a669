"""Quantile regression against R's quantreg: coefficients, objective, and every kind of error."""

import csv
import io
from functools import cache
from itertools import product

import numpy as np
import polars as pl
import pytest
from reference.r_answers import ask_r

from datamill.analysis.model_data.question import ModelData, ModelQuestion, select_model_data
from datamill.analysis.quantile.model import fit_quantiles
from datamill.analysis.quantile.quantile_model import QuantileFit

#: Quantiles at which no design here has a flat bottom.
QUANTILES = (0.1037, 0.4981, 0.8973)

SCRIPT = """
suppressMessages(library(quantreg))
arguments <- commandArgs(TRUE)
if (arguments[1] == "engel") { data(engel); d <- engel } else d <- read.csv(file("stdin"))
text <- vapply(d, is.character, TRUE)
d[text] <- lapply(d[text], factor)
two <- function(n) if (n == 2) matrix(c(-1, 1)) else contr.sum(n)
for (name in names(d)[text]) {
  k <- nlevels(d[[name]])
  contrasts(d[[name]], how.many = k - 1) <- two(k)
}
full <- function(...) sprintf("%.17g", c(...))
say <- function(...) cat(c(...), sep = ",", fill = 5000)
if (arguments[1] == "engel") write.csv(d, row.names = FALSE) else cat("\\n")
cat("ANSWERS\\n")
# Covariates count from their means, as in datamill.
response <- all.vars(as.formula(arguments[2]))[1]
numbers <- names(d)[vapply(d, is.numeric, TRUE)]
for (name in setdiff(numbers, response)) d[[name]] <- d[[name]] - mean(d[[name]])
for (tau in as.numeric(strsplit(arguments[3], ",")[[1]])) {
  m <- rq(as.formula(arguments[2]), tau, d)
  r <- residuals(m)
  say("objective", full(tau, sum(r * (tau - (r < 0)))))
  say("coef", full(tau, coef(m)))
  for (se in c("nid", "ker", "iid")) {
    s <- suppressWarnings(summary(m, se = se))$coefficients
    say(se, full(tau, s[, 2])); say(paste0("p", se), full(tau, s[, 4]))
  }
  say("bofinger", full(tau, suppressWarnings(summary(m, se = "nid", hs = FALSE))$coefficients[, 2]))
  s <- suppressWarnings(summary(m, se = "rank", alpha = 0.05, iid = FALSE))$coefficients
  say("low", full(tau, s[, 2])); say("high", full(tau, s[, 3]))
}
"""


def ask_quantreg(table: pl.DataFrame | None, formula: str) -> tuple[str, dict[tuple[str, float], np.ndarray]]:
    source, text = ("engel", "") if table is None else ("table", table.write_csv())
    quantiles = ",".join(map(str, QUANTILES))
    answer = ask_r(SCRIPT, source, formula, quantiles, text=text, packages=("quantreg",))
    head, _, tail = answer.partition("ANSWERS\n")
    found = {}
    for row in csv.reader(tail.splitlines()):
        numbers = np.array([float(number) for number in row[1:]])
        found[row[0], float(numbers[0])] = numbers[1:]
    return head, found


def make_factorial(seed: int, levels: dict[str, int], *, balanced: bool = True) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for codes in product(*(range(count) for count in levels.values())):
        for _ in range(30 if balanced else int(rng.integers(8, 40))):
            y = 20 + 3 * codes[0] + (1 + codes[0]) * rng.lognormal() + codes[-1] * rng.normal(1, 0.5)
            rows.append({**{n: f"l{c}" for n, c in zip(levels, codes, strict=True)}, "y": float(y)})
    return pl.DataFrame(rows)


def make_covariate(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    table = make_factorial(seed, {"a": 2, "b": 2}, balanced=False)
    x = rng.uniform(1, 4, table.height)
    return table.with_columns(pl.Series("x", x), pl.col("y") + pl.Series(x * rng.exponential(1, x.size)))


CASES = {
    "2^2 saturated": (make_factorial(1, {"a": 2, "b": 2}), "y ~ a * b"),
    "2^4 saturated": (make_factorial(2, {"a": 2, "b": 2, "c": 2, "d": 2}), "y ~ a * b * c * d"),
    "2^4 pairs": (
        make_factorial(3, {"a": 2, "b": 2, "c": 2, "d": 2}, balanced=False),
        "y ~ (a + b + c + d)^2",
    ),
    "unbalanced": (make_factorial(4, {"a": 2, "b": 2, "c": 2}, balanced=False), "y ~ a * b + c"),
    "three levels": (make_factorial(5, {"a": 2, "b": 3}, balanced=False), "y ~ a + b"),
    "three levels saturated": (make_factorial(6, {"a": 2, "b": 3}, balanced=False), "y ~ a * b"),
    "covariate": (make_covariate(11), "y ~ a * b + x"),
    "covariate with a slope by level": (make_covariate(13), "y ~ a * x + b"),
    "engel": (None, "foodexp ~ income"),
}


@cache
def solve_case(case: str) -> tuple[ModelData, dict[tuple[str, float], np.ndarray]]:
    table, formula = CASES[case]
    head, answers = ask_quantreg(table, formula)
    if table is None:
        table = pl.read_csv(io.StringIO(head))
    return select_model_data(table, ModelQuestion(formula=formula)), answers


def fit(case: str, errors: str) -> list[tuple[float, QuantileFit]]:
    data, _ = solve_case(case)
    return list(zip(QUANTILES, fit_quantiles(data, QUANTILES, errors=errors).fits, strict=True))


@pytest.mark.parametrize("case", CASES)
def test_coefficients_and_objective_are_those_of_quantreg(case: str) -> None:
    _, answers = solve_case(case)
    for quantile, own in fit(case, "nid"):
        assert own.objective == pytest.approx(float(answers["objective", quantile][0]), rel=1e-10)
        if own.unique:
            estimates = [row.value.estimate for row in own.coefficients]
            assert estimates == pytest.approx(answers["coef", quantile], rel=1e-8, abs=1e-8)
    assert all(own.unique for _, own in fit(case, "nid"))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("errors", "named"), [("nid", "nid"), ("kernel", "ker"), ("iid", "iid")])
def test_standard_errors_and_p_values_are_those_of_quantreg(case: str, errors: str, named: str) -> None:
    _, answers = solve_case(case)
    for quantile, own in fit(case, errors):
        computed = [row.standard_error for row in own.coefficients]
        # R takes 1.5e-8 from every distance of fits, and sums in another order.
        assert computed == pytest.approx(answers[named, quantile], rel=2e-6)
        p_values = [row.p for row in own.coefficients[1:]]
        assert p_values == pytest.approx(answers[f"p{named}", quantile][1:], rel=1e-4, abs=1e-12)


@pytest.mark.parametrize("case", ["2^4 saturated", "unbalanced", "covariate"])
def test_bofingers_bandwidth_is_that_of_quantreg(case: str) -> None:
    data, answers = solve_case(case)
    model = fit_quantiles(data, QUANTILES, errors="nid", bandwidth="bofinger")
    for own in model.fits:
        computed = [row.standard_error for row in own.coefficients]
        assert computed == pytest.approx(answers["bofinger", own.quantile], rel=2e-6)


@pytest.mark.parametrize("case", [case for case in CASES if not case.startswith("2^")])
def test_limits_from_ranks_are_those_of_quantreg(case: str) -> None:
    # Not in 2^k designs: the statistic has plateaus there, over which R interpolates between other points.
    _, answers = solve_case(case)
    for quantile, own in fit(case, "rank"):
        with np.errstate(over="ignore"):  # R writes a large number where no value is rejected
            widths = answers["high", quantile] - answers["low", quantile]
        for side in ("low", "high"):
            # R's limits of the intercept sometimes lie a step off.
            ours = np.array([getattr(row.value, side) for row in own.coefficients])[1:]
            theirs = answers[side, quantile][1:]
            bounded = np.abs(theirs) < 1e100
            assert not np.any(np.isfinite(ours[~bounded]))
            away = np.abs(ours[bounded] - theirs[bounded])
            assert np.all(away < 1e-5 * widths[1:][bounded])


@pytest.mark.parametrize("case", ["2^2 saturated", "three levels", "covariate"])
def test_p_values_from_ranks_agree_with_their_limits(case: str) -> None:
    data, _ = solve_case(case)
    for confidence in (0.8, 0.95, 0.99):
        for own in fit_quantiles(data, QUANTILES, errors="rank", confidence=confidence).fits:
            for row in own.coefficients[1:]:
                outside = row.value.low > 0 or row.value.high < 0
                assert row.p is not None
                if abs(row.p - (1 - confidence)) > 0.02:
                    assert outside == (row.p < 1 - confidence)
