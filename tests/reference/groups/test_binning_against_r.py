"""Calls and their binning, as R compares and models them."""

from __future__ import annotations

import io
import json

import numpy as np
import polars as pl
import pytest
from reference.r_answers import ask_r

import datamill

SCRIPT = """
calls <- read.csv(file("stdin"))
ranks <- wilcox.test(latency ~ binned, calls, exact = FALSE)
fast <- calls$latency[calls$binned == 0]
slow <- calls$latency[calls$binned == 1]
parts <- c(var(fast) / length(fast), var(slow) / length(slow))
df <- sum(parts)^2 / (parts[1]^2 / (length(fast) - 1) + parts[2]^2 / (length(slow) - 1))
error <- sqrt(sum(parts) / 2)
difference <- mean(slow) - mean(fast)
reach <- qtukey(0.95, 2, df) * error
means <- c(difference, difference - reach, difference + reach, abs(difference) / error, df)
p <- ptukey(abs(difference) / error, 2, df, lower.tail = FALSE)
centred <- calls
centred$index <- calls$index - mean(calls$index)
library(quantreg)
quantiles <- rq(latency ~ binned + index, c(0.071, 0.533, 0.937), data = centred)
line <- lm(latency ~ binned + index, centred)
cat(sprintf("%.12g", c(ranks$statistic, ranks$p.value, means, p)), "\n")
cat(sprintf("%.12g", c(coef(quantiles))), "\n")
cat(sprintf("%.12g", c(coef(line), confint(line)[2, ])), "\n")
"""


def make_calls() -> str:
    """Latencies of 600 calls in nanoseconds, every 19th of them binned, and slower with each call."""
    index = np.arange(600)
    binned = index % 19 == 7
    # A fixed sequence without a generator, whose numbers may change with its version.
    spread = np.modf((index + 1) * 0.6180339887498949)[0]
    latency = np.round((40 + 30 * spread**3 + 0.02 * index) * np.where(binned, 3 + spread, 1), 3)
    table = pl.DataFrame({"index": index, "latency": latency, "binned": binned.astype(int)})
    return table.write_csv()


def test_groups_quantiles_and_the_line_are_those_of_r() -> None:
    text = make_calls()
    answer = ask_r(SCRIPT, text=text, packages=("quantreg",))
    groups, quantiles, line = ([float(word) for word in row.split()] for row in answer.splitlines())
    found = datamill.analyze_allocations(pl.read_csv(io.StringIO(text)), quantiles=[0.071, 0.533, 0.937])
    numbers = json.loads(found.json())
    ranks, means = numbers["mann_whitney"], numbers["games_howell"]
    assert [ranks["w"], ranks["p"]] == pytest.approx(groups[:2], rel=1e-9)
    told = [means[key] for key in ("estimate", "low", "high", "q", "df")]
    assert told == pytest.approx(groups[2:7], rel=1e-6)
    # R's tail of the studentized range ends where doubles near one do.
    assert means["p"] == pytest.approx(groups[7], abs=1e-10)
    changes = [row["estimate"] for fit in numbers["model"]["quantiles"] for row in fit["changes"]]
    assert changes == pytest.approx(quantiles, rel=1e-7)
    mean = numbers["model"]["mean"]["changes"]
    assert [row["estimate"] for row in mean] == pytest.approx(line[:3], rel=1e-9)
    assert [mean[1]["low"], mean[1]["high"]] == pytest.approx(line[3:], rel=1e-9)
