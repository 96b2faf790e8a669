"""Means by level and the change between levels against R's emmeans.

Where cells vary each by itself the reference is a generalised least squares fit with a variance for each
cell and Satterthwaite's degrees of freedom (nlme, emmeans); where one error is pooled, a linear model.
"""

import csv
import io
from functools import cache

import numpy as np
import pytest
from reference.r_answers import ask_r

from datamill.analysis.contrasts.contrast import PooledError
from datamill.analysis.levels.level_changes import find_largest_changes
from datamill.analysis.levels.level_means import estimate_level_means
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import Cells, ModelFactor, gather_cells
from datamill.analysis.model_data.coding import list_formula_terms
from datamill.analysis.model_data.observations import Covariate

LEVELS = (("p", "q", "r"), ("x", "y"))
COUNTS = {(0, 0): 5, (0, 1): 8, (1, 0): 6, (1, 1): 9, (2, 0): 7, (2, 1): 5}
SCRIPT = r"""
suppressMessages({library(emmeans); library(nlme)})
emm_options(msg.interaction = FALSE)
d <- read.csv(file("stdin"), stringsAsFactors = TRUE)
d$cell <- interaction(d$a, d$b)
full <- function(...) sprintf("%.17g", c(...))
say <- function(...) cat(c(...), sep = ",", fill = 4000)
write <- function(kind, t) for (i in seq_len(nrow(t)))
  say(kind, as.character(t[i, 1]), full(t[i, 2], t[i, "SE"], t[i, "df"], t[i, "lower.CL"], t[i, "upper.CL"]))
g <- gls(y ~ a * b, d, weights = varIdent(form = ~ 1 | cell))
own <- suppressMessages(emmeans(g, ~ a, mode = "satterthwaite"))
write("own", as.data.frame(confint(own)))
write("pairs", as.data.frame(confint(pairs(own, adjust = "bonferroni"))))
# One observation a cell: an error from a model without the interaction.
one <- d[!duplicated(d$cell), ]
m <- lm(y ~ a + b, one)
say("error", "sigma2", full(sigma(m)^2, df.residual(m), 0, 0, 0))
write("pooled", as.data.frame(confint(emmeans(m, ~ a))))
# A covariate, a product with it, and unlike numbers of observations.
c <- lm(y ~ a * x + b, d)
write("adjusted", as.data.frame(confint(emmeans(c, ~ a))))
write("adjusted", as.data.frame(confint(emmeans(c, ~ b))))
"""


def make_cells(*, one: bool = False) -> Cells:
    """Cells of unlike size and spread; of each its first observation alone if `one`."""
    codes, values = list_observations()
    if one:
        first = np.sort(np.unique(codes @ np.array([2, 1]), return_index=True)[1])
        codes, values = codes[first], values[first]
    factors = [ModelFactor(name, levels) for name, levels in zip("ab", LEVELS, strict=True)]
    return gather_cells(factors, codes, values)


def list_observations() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(14)
    codes = np.array([cell for cell, count in COUNTS.items() for _ in range(count)])
    values = 10 + 2.0 * codes[:, 0] + rng.standard_normal(codes.shape[0]) * (0.5 + codes.sum(axis=1))
    return codes, values


def list_sizes() -> list[float]:
    """A covariate that goes with the levels of a factor, so that adjusting for it matters."""
    codes, _ = list_observations()
    rng = np.random.default_rng(15)
    return (100 + 5.0 * codes[:, 0] + rng.standard_normal(codes.shape[0])).tolist()


@cache
def ask_emmeans() -> dict[tuple[str, str], list[float]]:
    """Estimate, standard error, degrees of freedom and interval by table and name."""
    codes, values = list_observations()
    rows = "".join(
        f"{LEVELS[0][a]},{LEVELS[1][b]},{value!r},{size!r}\n"
        for (a, b), value, size in zip(codes, values.tolist(), list_sizes(), strict=True)
    )
    # Satterthwaite's degrees of freedom come from numerical derivatives: 2e-5 apart with another BLAS.
    answer = ask_r(SCRIPT, text=f"a,b,y,x\n{rows}", packages=("emmeans", "nlme"), tolerance=1e-3)
    return {
        (kind, name): [float(number) for number in numbers]
        for kind, name, *numbers in csv.reader(io.StringIO(answer))
    }


def test_means_by_level_have_the_estimates_and_intervals_of_emmeans() -> None:
    """The fit in R is iterative, and its degrees of freedom are numerical derivatives."""
    for mean in estimate_level_means(make_cells(), factor=0, group_factor=None):
        estimate, _, _, low, high = ask_emmeans()["own", mean.level]
        assert mean.value.estimate == pytest.approx(estimate, rel=1e-9)
        width = mean.value.high - mean.value.low
        assert width == pytest.approx(high - low, rel=1e-3)
        assert (mean.value.low + mean.value.high) / 2 == pytest.approx(estimate, rel=1e-9)


def test_means_with_a_pooled_error_have_the_intervals_of_emmeans() -> None:
    variance, df, *_ = ask_emmeans()["error", "sigma2"]
    error = PooledError(variance, round(df))
    found = estimate_level_means(make_cells(one=True), factor=0, group_factor=None, fallback=(error,))
    for mean in found:
        estimate, _, _, low, high = ask_emmeans()["pooled", mean.level]
        assert [mean.value.estimate, mean.value.low, mean.value.high] == pytest.approx(
            [estimate, low, high], rel=1e-9
        )


def test_the_largest_change_has_the_bonferroni_interval_of_emmeans() -> None:
    (change,) = find_largest_changes(
        make_cells(), factor=0, group_factor=None, direction="lower", confidence=0.95, alpha=0.01
    )
    assert (change.pair.package, change.pair.baseline) == ("p", "r")
    estimate, _, _, low, high = ask_emmeans()["pairs", "p - r"]
    assert change.pair.difference.estimate == pytest.approx(estimate, rel=1e-9)
    assert change.pair.difference.low == pytest.approx(low, rel=1e-3)
    assert change.pair.difference.high == pytest.approx(high, rel=1e-3)


def test_adjusted_means_beside_a_covariate_are_those_of_emmeans() -> None:
    codes, values = list_observations()
    factors = [ModelFactor(name, levels) for name, levels in zip("ab", LEVELS, strict=True)]
    model = fit_linear_model(
        gather_cells(factors, codes, values),
        terms=list_formula_terms(factors, ["x"], [("a",), ("x",), ("a", "x"), ("b",)]),
        covariates=[Covariate("x", np.array(list_sizes()))],
    )
    found = {mean.levels[0]: mean.value for row in model.terms for mean in row.means}
    assert sorted(found) == ["p", "q", "r", "x", "y"]
    for level, value in found.items():
        estimate, _, _, low, high = ask_emmeans()["adjusted", level]
        assert [value.estimate, value.low, value.high] == pytest.approx([estimate, low, high], rel=1e-9)
