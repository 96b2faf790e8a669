"""Best subsets, Cp and adjusted R² against R's leaps, also with more predictors than machines."""

from itertools import combinations

import numpy as np
import pytest
from reference.r_answers import ask_r

from datamill.platforms.subsets.best_subsets import best_by_criterion, best_subsets
from datamill.platforms.subsets.criteria import find_adjusted_r2, find_cp, find_variances

SCRIPT = """
suppressPackageStartupMessages(library(leaps))
a <- as.integer(commandArgs(TRUE))
d <- as.matrix(read.csv(file("stdin"), header = FALSE))
x <- d[, -1, drop = FALSE]
f <- regsubsets(x, d[, 1], nvmax = a[1], method = "exhaustive", really.big = TRUE)
s <- summary(f)
for (k in seq_len(nrow(s$which)))
    cat(sprintf("%.12g %.12g %.12g", s$rss[k], s$adjr2[k], s$cp[k]), which(s$which[k, -1]) - 1, "\\n")
"""


def make_table(rows, columns, seed):
    """Times like a suite's: a factor that all share, and some of their own; to six digits."""
    rng = np.random.default_rng(seed)
    table = np.exp(rng.normal(0, 0.6, (rows, 1)) + rng.normal(0, 0.15, (rows, columns + 1)))
    return np.round(1000 * table, 3)


def ask_leaps(table, largest):
    text = "\n".join(",".join(f"{value:.3f}" for value in row) for row in table)
    answer = ask_r(SCRIPT, str(largest), text=text, packages=("leaps",))
    lines = [line.split() for line in answer.splitlines()]
    return [([float(part) for part in line[:3]], [int(part) for part in line[3:]]) for line in lines]


@pytest.mark.parametrize(("rows", "columns", "seed"), [(40, 12, 1), (25, 20, 2), (14, 6, 3)])
def test_subsets_of_each_size_are_those_of_leaps(rows, columns, seed):
    table = make_table(rows, columns, seed)
    predictors, response = table[:, 1:], table[:, 0]
    best = best_subsets(predictors, response, largest=columns)
    variance = find_variances(predictors, response)[0]
    answers = ask_leaps(table, columns)
    assert len(answers) == columns
    for size, ((rss, adjusted, cp), members) in enumerate(answers, start=1):
        assert best.rss[0, size - 1] == pytest.approx(rss, rel=1e-8)
        assert best.members[0, size - 1, :size].tolist() == members
        of_size = (best.rss[0, size - 1], np.array(rows), np.array(size))
        assert find_adjusted_r2(of_size[0], best.total[0], *of_size[1:]) == pytest.approx(adjusted, rel=1e-9)
        assert find_cp(of_size[0], variance, *of_size[1:]) == pytest.approx(cp, rel=1e-6, abs=1e-8)
    by_r2 = best_by_criterion(predictors, response, None, "adjusted-r2")
    by_cp = best_by_criterion(predictors, response, None, "cp")
    of_leaps = max(answers, key=lambda answer: answer[0][1])
    assert by_r2.members[0, : by_r2.size[0]].tolist() == of_leaps[1]
    assert by_r2.value[0] == pytest.approx(of_leaps[0][1], rel=1e-9)
    of_leaps = min(answers, key=lambda answer: answer[0][2])
    assert by_cp.members[0, : by_cp.size[0]].tolist() == of_leaps[1]
    assert by_cp.value[0] == pytest.approx(of_leaps[0][2], rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(
    ("rows", "columns", "largest", "seed"), [(15, 27, 5, 4), (10, 18, 6, 5), (8, 12, 6, 6)]
)
def test_more_predictors_than_machines_have_the_subsets_of_leaps(rows, columns, largest, seed):
    table = make_table(rows, columns, seed)
    best = best_subsets(table[:, 1:], table[:, 0], largest=largest)
    for size, ((rss, adjusted, cp), members) in enumerate(ask_leaps(table, largest), start=1):
        # leaps knows a nearly exact fit to fewer digits.
        assert best.rss[0, size - 1] == pytest.approx(rss, rel=1e-6)
        assert best.members[0, size - 1, :size].tolist() == members
        found = find_adjusted_r2(best.rss[0, size - 1], best.total[0], np.array(rows), np.array(size))
        assert found == pytest.approx(adjusted, rel=1e-9)
        # The model with all predictors leaves no variance: no Cp that could be compared.
        assert not np.isfinite(cp) or abs(cp) > 1e6


def test_the_best_model_by_adjusted_r2_is_the_best_of_all_that_there_are():
    table = make_table(8, 9, 7)
    predictors, response = table[:, 1:], table[:, 0]
    best = best_by_criterion(predictors, response, None, "adjusted-r2")
    values = []
    for size in range(1, 7):
        for members in combinations(range(9), size):
            design = np.column_stack([np.ones(8), predictors[:, members]])
            residual = response - design @ np.linalg.lstsq(design, response, rcond=None)[0]
            adjusted = find_adjusted_r2(residual @ residual, best.total[0], np.array(8), np.array(size))
            values.append((float(adjusted), members))
    assert max(values)[1] == tuple(best.members[0, : best.size[0]])
    assert max(values)[0] == pytest.approx(best.value[0], abs=1e-12)
