"""Trees of benchmarks and linear models of one application against R's `hclust`, `cutree` and `lm`."""

from __future__ import annotations

import io
from math import comb

import numpy as np
import pytest
from made.suites import make_suite
from reference.r_answers import ask_r

from datamill.platforms.clusters.benchmark_tree import build_tree, cut_tree
from datamill.platforms.strategies.linear.least_squares import adjust_r2, fit_many

TREE = """
x <- as.matrix(read.csv(file("stdin"), header = FALSE))
tree <- hclust(as.dist(1 - cor(x)), method = "complete")
cat(sprintf("%.12g", tree$height), "\\n")
for (k in c(2, 3, 5, 8)) cat(cutree(tree, k), "\\n")
"""
MODELS = """
x <- read.csv(file("stdin"), header = FALSE); n <- nrow(x)
subsets <- combn(ncol(x) - 1, 2)
for (s in seq_len(ncol(subsets))) {
  d <- data.frame(y = x[[1]], x[subsets[, s] + 1]); train <- seq_len(n - 3)
  fit <- lm(y ~ ., d[train, ])
  cat(sprintf("%.12g", c(predict(fit, d[-train, ]), summary(fit)$adj.r.squared)), "\\n")
}
"""
#: The fourth predictor is the sum of the first two, the fifth is constant where the model is fitted.
ALIASED = """
x <- read.csv(file("stdin"), header = FALSE); n <- nrow(x); train <- seq_len(n - 3)
fit <- lm(V1 ~ ., x[train, ])
cat(sprintf("%.12g", ifelse(is.na(coef(fit)), 0, coef(fit))), sprintf("%d", fit$rank))
"""


def write(table: np.ndarray) -> str:
    text = io.StringIO()
    np.savetxt(text, table, fmt="%.9g", delimiter=",")
    return text.getvalue()


def read(text: str) -> np.ndarray:
    return np.loadtxt(io.StringIO(text), delimiter=",")


@pytest.mark.parametrize(("machines", "benchmarks", "seed"), [(15, 27, 1), (8, 20, 2), (4, 12, 3)])
def test_the_tree_and_its_clusters_are_those_of_hclust(machines: int, benchmarks: int, seed: int) -> None:
    text = write(make_suite(machines, benchmarks, seed=seed).seconds)
    tree = build_tree(read(text))
    heights, *cuts = ask_r(TREE, text=text).strip().splitlines()
    assert tree.heights == pytest.approx([float(height) for height in heights.split()], rel=1e-8)
    for clusters, said in zip((2, 3, 5, 8), cuts, strict=True):
        # R numbers clusters by their first member, as they are ordered here.
        ours = np.zeros(benchmarks, dtype=int)
        for number, places in enumerate(cut_tree(tree, clusters), start=1):
            ours[places] = number
        assert ours.tolist() == [int(part) for part in said.split()]


def test_models_of_two_benchmarks_predict_and_fit_as_lm_does() -> None:
    text = write(make_suite(10, 6).seconds)
    table = read(text)
    members = np.array([(first, second) for first in range(5) for second in range(first + 1, 5)])
    assert len(members) == comb(5, 2)
    trained = np.tile(np.arange(7), (len(members), 1))
    fits = fit_many(table[:, 1:], trained, table[:, 0][trained], members)
    ours = np.column_stack([fits.predicted[:, 7:], adjust_r2(fits, 7)])
    said = [[float(part) for part in line.split()] for line in ask_r(MODELS, text=text).strip().splitlines()]
    assert ours == pytest.approx(np.array(said), rel=1e-8)


def test_predictors_that_depend_on_others_are_left_out_as_by_lm() -> None:
    table = read(write(make_suite(11, 6).seconds))
    table[:, 4] = table[:, 1] + table[:, 2]
    table[:8, 5] = 7.0
    text = write(table)
    table = read(text)
    fits = fit_many(table[:, 1:], np.arange(8)[None], table[None, :8, 0], np.arange(5)[None])
    slopes = np.zeros(5)
    for member, slope in zip(fits.members[0], fits.slopes[0], strict=True):
        if member >= 0:
            slopes[member] = slope
    *said, rank = (float(part) for part in ask_r(ALIASED, text=text).split())
    assert fits.size[0] + 1 == rank == 4
    assert slopes == pytest.approx(said[1:], rel=1e-6)
