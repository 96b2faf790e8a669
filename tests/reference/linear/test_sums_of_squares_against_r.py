"""Types I, II and III, covariates, blocks and diagnostics against R (lm, car, cooks.distance)."""

import csv
import io
from functools import cache

import numpy as np
import polars as pl
import pytest
from reference.r_answers import ask_r

from datamill.analysis.assumptions.assumption_checks import AssumptionChecks
from datamill.analysis.assumptions.check import check_assumptions
from datamill.analysis.assumptions.influential import measure_cook
from datamill.analysis.linear.linear_model import LinearModel, SquaresType
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.question import ModelData, ModelQuestion, select_model_data

SCRIPT = r"""
suppressMessages(library(car))
d <- read.csv(file("stdin"), colClasses = c(a = "factor", b = "factor", day = "factor"))
d$x <- d$x - mean(d$x); d$z <- d$z - mean(d$z)
options(contrasts = c("contr.sum", "contr.poly"))
m <- lm(as.formula(commandArgs(TRUE)[1]), d)
full <- function(...) sprintf("%.17g", c(...))
say <- function(...) cat(c(...), sep = ",", fill = 4000)
table <- function(kind, t) for (name in rownames(t)) {
  if (name %in% c("Residuals", "(Intercept)")) next
  square <- grep("Sum Sq", colnames(t), value = TRUE)
  say(kind, name, full(t[name, "Df"], t[name, square], t[name, "F value"], t[name, "Pr(>F)"]))
}
table("I", anova(m)); table("II", Anova(m, type = 2)); table("III", Anova(m, type = 3))
s <- summary(m)
for (name in rownames(coef(s))) say("coef", name, full(coef(s)[name, 1:2], confint(m)[name, ]))
say("error", full(deviance(m), df.residual(m), s$r.squared))
say("cook", full(cooks.distance(m)))
z <- residuals(m) / sqrt(1 - hatvalues(m))
t <- shapiro.test(z); say("shapiro", full(t$statistic, t$p.value))
# The correlation of neighbours with its exact moments.
X <- model.matrix(m); e <- residuals(m); n <- nrow(X); k <- ncol(X)
r <- sum(e[-1] * e[-n]) / sum(e^2)
A <- matrix(0, n, n); A[cbind(1:(n - 1), 2:n)] <- 1/2; A[cbind(2:n, 1:(n - 1))] <- 1/2
M <- diag(n) - X %*% solve(crossprod(X)) %*% t(X)
MA <- M %*% A
mean <- sum(diag(MA)) / (n - k)
var <- 2 * (sum(diag(MA %*% MA)) - sum(diag(MA))^2 / (n - k)) / ((n - k) * (n - k + 2))
say("neighbours", full(r, 2 * pnorm(-abs(r - mean) / sqrt(var))))
trend <- lm(update(formula(m), . ~ . + position), cbind(d, position = seq_len(n)))
say("trend", full(coef(summary(trend))["position", 3:4]))
"""


@cache
def make_text() -> str:
    """An unbalanced 2 × 3 design in three blocks, with two covariates of very different size."""
    rng = np.random.default_rng(11)
    n = 150
    a, b = rng.choice(["p", "q"], n, p=[0.35, 0.65]), rng.choice(["r", "s", "t"], n)
    day = np.array(["mon", "tue", "wed"])[np.sort(rng.integers(0, 3, n))]
    x, z = rng.uniform(0, 10, n), 1e6 + 1e3 * rng.standard_normal(n)
    y = 20 + 2 * (a == "q") - (b == "t") * (a == "p") + x * (0.3 + 0.2 * (b == "s")) + (day == "tue")
    y += 1e-3 * (z - 1e6) + rng.standard_normal(n)
    return pl.DataFrame({"a": a, "b": b, "day": day, "x": x, "z": z, "y": y}).write_csv()


@cache
def fit_in_r(formula: str) -> dict[str, list[list[str]]]:
    answer = ask_r(SCRIPT, formula, text=make_text(), packages=("car",))
    rows: dict[str, list[list[str]]] = {}
    for row in csv.reader(answer.splitlines()):
        rows.setdefault(row[0], []).append(row[1:])
    return rows


def fit(
    formula: str, squares: SquaresType = "III", blocks: tuple[str, ...] = ()
) -> tuple[ModelData, LinearModel]:
    table = pl.read_csv(io.StringIO(make_text()), infer_schema=False)
    data = select_model_data(table, ModelQuestion(formula=formula, blocks=blocks))
    model = fit_linear_model(
        data.observations.cells,
        terms=data.terms,
        covariates=data.observations.covariates,
        blocks=blocks,
        squares=squares,
    )
    return data, model


def check(formula: str, blocks: tuple[str, ...] = ()) -> AssumptionChecks:
    data, model = fit(formula, blocks=blocks)
    return check_assumptions(data.observations.cells, model, covariates=data.observations.covariates)


def read_numbers(row: list[str]) -> list[float]:
    return [float(number) for number in row]


#: Our formula and blocks, and R's formula for the same model.
CASES = {
    "unbalanced factors": ("y ~ a * b", (), "y ~ a * b"),
    "factors and a covariate": ("y ~ b + a + x", (), "y ~ b + a + x"),
    "covariate in interactions": ("y ~ a * b * x", (), "y ~ a * b * x"),
    "two covariates that interact": ("y ~ a + b + x * z + a:z", (), "y ~ a + b + x * z + a:z"),
    "blocks": ("y ~ a * b + z", ("day",), "y ~ day + a * b + z"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("squares", ["I", "II", "III"])
def test_each_type_agrees_with_r_for_factors_covariates_and_blocks(case: str, squares: SquaresType) -> None:
    ours, blocks, formula = CASES[case]
    _, model = fit(ours, squares, blocks)
    reference = {
        tuple(sorted(row[0].split(":"))): read_numbers(row[1:]) for row in fit_in_r(formula)[squares]
    }
    assert len(reference) == len(model.terms)
    for row in model.terms:
        df, sum_sq, f, p = reference[tuple(sorted(row.term.name.split(":")))]
        assert row.term.df == df
        assert row.sum_sq == pytest.approx(sum_sq, rel=1e-7)
        assert row.f == pytest.approx(f, rel=1e-7)
        assert row.p == pytest.approx(p, rel=1e-5)
        assert row.block == (row.term.name in blocks)
    sse, df, r_squared = read_numbers(fit_in_r(formula)["error"][0])
    assert model.error_ss == pytest.approx(sse, rel=1e-10)
    assert model.error_df == df
    assert model.r_squared == pytest.approx(r_squared, rel=1e-10)


@pytest.mark.parametrize("case", CASES)
def test_mean_slopes_and_their_intervals_agree_with_r(case: str) -> None:
    ours, blocks, formula = CASES[case]
    _, model = fit(ours, blocks=blocks)
    reference = {row[0]: read_numbers(row[1:]) for row in fit_in_r(formula)["coef"]}
    mean = reference["(Intercept)"]
    assert (model.mean.estimate, model.mean.low, model.mean.high) == pytest.approx(
        (mean[0], mean[2], mean[3]), rel=1e-10
    )
    compared = 0
    for item in model.coefficients:
        # Coefficients of covariates have the same name and sign in both codings.
        if item.name in reference:
            value = item.value
            numbers = [value.estimate, item.standard_error, value.low, value.high]
            assert numbers == pytest.approx(reference[item.name], rel=1e-7)
            compared += 1
    assert compared == sum(1 for row in model.terms if row.term.covariates and not row.term.factors)


@pytest.mark.parametrize("case", CASES)
def test_cooks_distances_shapiro_wilk_neighbours_and_the_trend_agree_with_r(case: str) -> None:
    ours, blocks, formula = CASES[case]
    data, model = fit(ours, blocks=blocks)
    cells = data.observations.cells
    reference = fit_in_r(formula)
    cook = measure_cook(cells, model, slice(None))
    assert cook == pytest.approx(read_numbers(reference["cook"][0]), rel=1e-6, abs=1e-12)
    checks = check(ours, blocks)
    assert checks.influential is not None
    assert checks.influential.distance == pytest.approx(float(np.max(cook)))
    assert checks.influential.row == int(np.argmax(cook)) + 1
    by_name = {item.assumption: item for item in checks.checks}
    for name, row in (
        ("normal errors", "shapiro"),
        ("independent errors: neighbours", "neighbours"),
        ("independent errors: trend", "trend"),
    ):
        statistic, p = read_numbers(reference[row][0])
        assert by_name[name].statistic == pytest.approx(statistic, rel=1e-6)
        assert by_name[name].p == pytest.approx(p, rel=1e-3 if row == "shapiro" else 1e-5)


def test_the_spread_is_compared_as_by_car_levene_test_about_medians() -> None:
    data, model = fit("y ~ a * b")
    script = """
    suppressMessages(library(car)); d <- read.csv(file("stdin"))
    t <- leveneTest(d$y, interaction(d$a, d$b), center = median)
    cat(sprintf("%.17g\\n", c(t[1, "F value"], t[1, "Pr(>F)"])))
    """
    answer = ask_r(script, text=make_text(), packages=("car",))
    spread = check_assumptions(data.observations.cells, model).checks[0]
    assert spread.assumption == "equal variances"
    assert [spread.statistic, spread.p] == pytest.approx([float(line) for line in answer.split()], rel=1e-8)


def test_anderson_darling_of_many_residuals_agrees_with_the_formula_in_r() -> None:
    rng = np.random.default_rng(5)
    y = rng.standard_t(12, 6000)
    table = pl.DataFrame({"g": ["u", "v"] * 3000, "y": y})
    script = """
    d <- read.csv(file("stdin")); m <- lm(y ~ g, d); x <- sort(residuals(m) / sqrt(1 - hatvalues(m)))
    n <- length(x); z <- (x - mean(x)) / sd(x)
    A <- -n - mean((2 * seq_len(n) - 1) * (pnorm(z, log.p = TRUE) + pnorm(-rev(z), log.p = TRUE)))
    AA <- (1 + 0.75 / n + 2.25 / n^2) * A
    p <- if (AA < 0.2) 1 - exp(-13.436 + 101.14 * AA - 223.73 * AA^2) else
      if (AA < 0.34) 1 - exp(-8.318 + 42.796 * AA - 59.938 * AA^2) else
      if (AA < 0.6) exp(0.9177 - 4.279 * AA - 1.38 * AA^2) else exp(1.2937 - 5.709 * AA + 0.0186 * AA^2)
    cat(sprintf("%.17g\\n", c(A, p)))
    """
    answer = ask_r(script, text=table.write_csv())
    data = select_model_data(table, ModelQuestion("y", ("g",)))
    model = fit_linear_model(data.observations.cells, order=1)
    normal = next(
        item
        for item in check_assumptions(data.observations.cells, model).checks
        if item.assumption == "normal errors"
    )
    assert "Anderson-Darling" in normal.method
    assert [normal.statistic, normal.p] == pytest.approx([float(line) for line in answer.split()], rel=1e-8)
