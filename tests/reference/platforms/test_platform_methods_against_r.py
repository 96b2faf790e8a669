"""Methods that predict platforms, in batches, against each written once more in R for one application."""

from __future__ import annotations

import numpy as np
import pytest
from made.suites import make_logs
from reference.r_answers import ask_r

from datamill.platforms.methods.centred import center_applications
from datamill.platforms.methods.gaussian_process import relate_benchmarks
from datamill.platforms.methods.shared_covariance import share_covariance
from datamill.platforms.methods.transposed_ridge import transpose_ridge

TRAINED = 6
SCRIPT = r"""
d <- as.matrix(read.csv(file("stdin"), header = FALSE))
k <- 6; p <- ncol(d) - 1
suite <- d[, 1:p]; own <- d[1:k, p + 1]
level <- rowMeans(suite)
pattern <- suite - level
pattern <- sweep(pattern, 2, colMeans(pattern[1:k, ]))
left <- own - level[1:k]
z <- left - mean(left)
base <- level[-(1:k)] + mean(left)
A <- pattern[1:k, ]; B <- pattern[-(1:k), ]
full <- function(x) cat(sprintf("%.12g", x), "\n")
# Ridge on benchmarks as rows: minimise |t - A'w|^2 + penalty |w|^2 for each target t.
penalty <- 0.5 * sum(diag(A %*% t(A))) / k
full(base + apply(B, 1, function(t) sum(z * solve(A %*% t(A) + penalty * diag(k), A %*% t))))
# A Gaussian process over benchmarks with the sum of a linear and a squared exponential covariance.
covariance <- function(a, b, s, l) sum(a * b) / s + exp(-sum((a - b)^2) / (2 * l^2 * s))
s <- mean(colSums(A^2))
K <- outer(1:p, 1:p, Vectorize(function(i, j) covariance(A[, i], A[, j], s, 0.5)))
kz <- sapply(1:p, function(i) covariance(A[, i], z, s, 0.5))
full(base + B %*% solve(K + 0.3 * diag(p), kz))
# Universal kriging with a constant trend; covariances of machines from the suite.
n <- nrow(d)
distance <- as.matrix(dist(pattern))^2 / p
middle <- median(distance[, 1:k]) + 1e-12
size <- mean(rowMeans(A^2))
apart <- colSums((A - z)^2)
w <- exp(-apart / (2 * (1 * median(apart) + 1e-12)))
w <- w / mean(w)
V <- pattern %*% diag(w) %*% t(A) / p + 0.9 * size * exp(-distance[, 1:k] / (2 * middle))
Vk <- V[1:k, ] + diag((0.1 + 1e-9) * size, k)
one <- rep(1, k)
mu <- sum(solve(Vk, z)) / sum(solve(Vk, one))
full(base + mu + V[-(1:k), ] %*% solve(Vk, z - mu))
"""


def test_methods_equal_their_formulas_in_r() -> None:
    logs = make_logs(14, 11, 2026)
    text = "\n".join(",".join(f"{value:.9g}" for value in row) for row in logs)
    rounded = np.array([[float(f"{value:.9g}") for value in row] for row in logs])
    answers = [
        np.array([float(part) for part in line.split()]) for line in ask_r(SCRIPT, text=text).splitlines()
    ]
    given = center_applications(rounded[None, :, :-1], rounded[None, :TRAINED, -1])
    methods = (
        transpose_ridge(0.5),
        relate_benchmarks(0.3, 0.5),
        share_covariance(1.0, 1.0, nearest=1.0),
    )
    for method, answer in zip(methods, answers, strict=True):
        assert method(given)[0] == pytest.approx(answer, rel=1e-8)
