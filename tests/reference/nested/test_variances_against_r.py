"""Variance components against R: restricted maximum likelihood by lme4, mean squares by aov."""

import numpy as np
import polars as pl
import pytest
from reference.r_answers import ask_r

from datamill.analysis.random_effects.nested_data.execution_means import average_executions
from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.random_effects.nested_data.nesting import NestingColumns, gather_nested
from datamill.analysis.random_effects.reml import fit_reml
from datamill.analysis.random_effects.variance import estimate_variances

LMER = """
suppressMessages(library(lme4))
control <- lmerControl(optimizer = "bobyqa", calc.derivs = FALSE, check.conv.singular = "ignore",
  check.nobs.vs.nlev = "ignore", check.nobs.vs.nRE = "ignore",
  optCtrl = list(rhoend = 1e-11, maxfun = 1e5))
all <- read.csv(file("stdin"))
for (d in split(all, all$case)) {
  d$b <- factor(d$build); d$e <- interaction(d$build, d$execution, drop = TRUE)
  model <- if (nlevels(d$e) == nlevels(d$b)) value ~ 1 + (1 | b) else value ~ 1 + (1 | b) + (1 | e)
  m <- lmer(model, d, REML = TRUE, control = control)
  v <- as.data.frame(VarCorr(m)); w <- setNames(v$vcov, v$grp)
  cat(sprintf("%.17g", c(w["b"], w["e"], w["Residual"], fixef(m), as.matrix(vcov(m)), REMLcrit(m))),
    sep = ",", fill = 10000)
}
"""

AOV = """
d <- read.csv(file("stdin"))
d$b <- factor(d$build); d$e <- factor(d$execution)
s <- summary(aov(value ~ 1 + Error(b / e), d))
cat(sprintf("%.17g", sapply(s, function(x) x[[1]][["Mean Sq"]])), sep = ",")
"""


def fit_in_r(script: str, table: pl.DataFrame, *packages: str) -> list[list[float]]:
    """Numbers of each line that R prints."""
    answer = ask_r(script, text=table.write_csv(), packages=packages)
    return [
        [float(item) if item.strip() != "NA" else float("nan") for item in line.rstrip(",").split(",")]
        for line in answer.splitlines()
    ]


def make_table(
    seed: int, spread: tuple[float, float, float], *, builds: int = 8, keep: float = 1.0
) -> pl.DataFrame:
    """Planted three-level values; of unbalanced tables about the share `keep` of the rows."""
    rng = np.random.default_rng(seed)
    rows = []
    for build in range(builds):
        at_build = 100 + rng.normal(0, spread[0])
        for execution in range(5):
            at_execution = at_build + rng.normal(0, spread[1])
            for measurement in range(6):
                value = float(at_execution + rng.normal(0, spread[2]))
                rows.append((build, execution, measurement, value))
    table = pl.DataFrame(rows, schema=["build", "execution", "measurement", "value"], orient="row")
    return table.filter(pl.Series(rng.random(table.height) < keep))


def gather(table: pl.DataFrame) -> NestedValues:
    return gather_nested(table, NestingColumns()).versions[0]


INSIDE = [((3.0, 2.0, 1.0), 1.0), ((0.3, 2.0, 5.0), 1.0), ((2.0, 0.4, 0.1), 1.0)]
INSIDE += [(spread, 0.5) for spread, _ in INSIDE]
BOUNDARY = [(seed, keep) for keep in (1.0, 0.6) for seed in range(3)]


def make_cases() -> list[pl.DataFrame]:
    inside = [make_table(1, spread, keep=keep) for spread, keep in INSIDE]
    boundary = [make_table(seed, (0.0, 0.0, 1.0), keep=keep) for seed, keep in BOUNDARY]
    one_execution = make_table(5, (2.0, 0.0, 1.0), keep=0.8).filter(pl.col("execution") == 0)
    return [*inside, *boundary, one_execution, make_table(3, (2.0, 1.5, 1.0))]


@pytest.fixture(scope="module")
def answers() -> list[list[float]]:
    """What lme4 finds of each case: three variances, the mean and its variance, the criterion."""
    tables = [table.with_columns(case=pl.lit(case)) for case, table in enumerate(make_cases())]
    found = fit_in_r(LMER, pl.concat(tables), "lme4")
    assert len(found) == len(tables)
    return found


@pytest.mark.parametrize("case", range(len(INSIDE)))
def test_restricted_maximum_likelihood_agrees_with_lme4(case: int, answers: list[list[float]]) -> None:
    build, execution, residual, mean, variance, criterion = answers[case]
    nested = gather(make_cases()[case])
    fit = fit_reml(average_executions(nested))
    total = build + execution + residual
    # lme4 does not come closer to a small variance than the criterion's digits allow.
    assert fit.components["build"] == pytest.approx(build, rel=1e-5, abs=1e-6 * total)
    assert fit.components["execution"] == pytest.approx(execution, rel=1e-5, abs=1e-6 * total)
    assert fit.components["measurement"] == pytest.approx(residual, rel=1e-5)
    assert nested.values[0] + fit.mean == pytest.approx(mean, rel=1e-9)
    assert fit.mean_variance == pytest.approx(variance, rel=1e-5)
    assert fit.criterion == pytest.approx(criterion, abs=1e-5)


def test_variances_on_the_boundary_are_zero_as_in_lme4(answers: list[list[float]]) -> None:
    zeros = 0
    for case in range(len(INSIDE), len(INSIDE) + len(BOUNDARY)):
        build, execution, residual, *_ = answers[case]
        fit = fit_reml(average_executions(gather(make_cases()[case])))
        for level, expected in (("build", build), ("execution", execution)):
            zeros += fit.components[level] == 0
            assert fit.components[level] == pytest.approx(expected, rel=1e-4, abs=1e-7)
        assert fit.components["measurement"] == pytest.approx(residual, rel=1e-5)
    assert zeros >= 4


def test_two_levels_agree_with_lme4_when_each_build_has_one_execution(answers: list[list[float]]) -> None:
    build, _, residual, *_ = answers[-2]
    fit = fit_reml(average_executions(gather(make_cases()[-2])))
    assert fit.components["build"] == pytest.approx(build, rel=1e-5)
    assert fit.components["execution"] == 0
    assert fit.components["measurement"] == pytest.approx(residual, rel=1e-5)


def test_mean_squares_of_balanced_data_agree_with_aov() -> None:
    table = make_table(3, (2.0, 1.5, 1.0))
    ((builds, executions, measurements),) = fit_in_r(AOV, table)
    squares = estimate_variances(gather(table)).mean_squares
    # aov's mean squares count measurements: n times S²_B, and m n times S²_V.
    assert squares["build"] * 30 == pytest.approx(builds, rel=1e-10)
    assert squares["execution"] * 6 == pytest.approx(executions, rel=1e-10)
    assert squares["measurement"] == pytest.approx(measurements, rel=1e-10)


def test_balanced_variances_inside_the_boundary_are_the_same_by_mean_squares_and_by_lme4(
    answers: list[list[float]],
) -> None:
    build, execution, residual, mean, variance, _ = answers[-1]
    estimate = estimate_variances(gather(make_cases()[-1]))
    found = [estimate.components[level] for level in ("build", "execution", "measurement")]
    assert found == pytest.approx([build, execution, residual], rel=1e-5)
    assert estimate.mean.estimate == pytest.approx(mean, rel=1e-12)
    assert estimate.mean_squares["build"] / 8 == pytest.approx(variance, rel=1e-5)
