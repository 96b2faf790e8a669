"""Dimensions of hardware against R: strata of aov, and lme4 with Kenward and Roger's degrees of freedom."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from reference.r_answers import ask_r

import datamill
from datamill.analysis.hardware.dimension import DimensionAnalysis

SCRIPT = r"""
suppressMessages({library(lme4); library(emmeans)})
emm_options(msg.interaction = FALSE)
d <- read.csv(file("stdin"), stringsAsFactors = TRUE)
say <- function(...) cat(sprintf("%.12g", c(...)), "\n")
rows <- function(t) for (i in seq_len(nrow(t))) say(unlist(t[i, c("estimate", "lower.CL", "upper.CL")]))
s <- summary(aov(log(y) ~ arch * flag + Error(host/flag), d))
of <- function(stratum, row) s[[paste0("Error: ", stratum)]][[1]][row, c("F value", "Pr(>F)")]
say(unlist(of("host", 1)))
say(unlist(of("host:flag", 1)))
say(unlist(of("host:flag", 2)))
m <- lmer(log(y) ~ arch * flag + (1 | host) + (1 | host:flag), d, control = lmerControl(calc.derivs = FALSE))
level <- function(spec, ...) suppressMessages(emmeans(m, spec, lmer.df = "kenward-roger"))
a <- as.data.frame(confint(level(~ arch)))
for (i in seq_len(nrow(a))) say(unlist(a[i, c("emmean", "lower.CL", "upper.CL")]))
rows(as.data.frame(confint(pairs(level(~ arch), reverse = TRUE, adjust = "bonferroni"))))
rows(as.data.frame(confint(pairs(level(~ flag), reverse = TRUE))))
"""
ARCHS = ("arm", "power", "x86")


def make_table() -> pl.DataFrame:
    """Three machines of each of three architectures; a flag acts on one of these."""
    rng = np.random.default_rng(17)
    rows = []
    for index, arch in enumerate(ARCHS):
        for number in range(3):
            height, slope = rng.normal(0, 0.3), rng.normal(0, 0.08)
            for at, flag in enumerate(("a", "b")):
                for _ in range(4):
                    log = index * 0.4 + height + at * (slope + 0.2 * (arch == "x86")) + rng.normal(0, 0.05)
                    rows.append((arch, f"{arch}{number}", flag, round(float(np.exp(log)), 8)))
    return pl.DataFrame(rows, schema=["arch", "host", "flag", "y"], orient="row")


def analyze(table: pl.DataFrame) -> DimensionAnalysis:
    return datamill.hardware(table, response="y", factors=["flag"], dimension="arch", machine="host").found


def test_nested_effects_are_those_of_r() -> None:
    table = make_table()
    answer = ask_r(SCRIPT, text=table.write_csv(), packages=("lme4", "emmeans", "pbkrtest"), tolerance=1e-4)
    lines = [[float(number) for number in line.split()] for line in answer.splitlines()]
    found = analyze(table)
    (flag,) = found.factors
    # Exact: mean squares of the strata.
    for (f, p), own in zip(
        lines[:3],
        ((found.main.f, found.main.p), (None, flag.effect.average_p), (flag.effect.f, flag.effect.p)),
        strict=True,
    ):
        assert own[1] == pytest.approx(p, rel=1e-8)
        assert own[0] is None or own[0] == pytest.approx(f, rel=1e-8)
    # Restricted maximum likelihood finds the same where data are balanced, as far as its search goes.
    levels = [item.interval for item in found.main.levels]
    pairs = {(pair.level, pair.against): pair.interval for pair in found.main.pairs}
    in_order = [pairs["power", "arm"], pairs["x86", "arm"], pairs["x86", "power"]]
    ours = [*levels, *in_order, flag.effect.average_interval]
    assert len(lines) == 3 + len(ours)
    for line, interval in zip(lines[3:], ours, strict=True):
        assert interval is not None
        assert [interval.estimate, interval.low, interval.high] == pytest.approx(line, rel=2e-4, abs=2e-5)
