"""Where `anova` tells the changes of several packages."""

from __future__ import annotations

import numpy as np
import polars as pl

import datamill


def ask(effects: dict[str, float]) -> str:
    rng = np.random.default_rng(1)
    rows = [
        (package, level, 10 + effect * (level == "y") + rng.normal(0, 0.1))
        for package, effect in effects.items()
        for level in ("x", "y")
        for _ in range(10)
    ]
    table = pl.DataFrame(rows, schema=["package", "lv", "y"], orient="row")
    said = str(datamill.anova(table, response="y", factors=["package", "lv"]))
    told = " ".join(said.split("\n\n")[0].split())
    return next(part for part in told.split(". ") if "lv matters" in part)


def test_a_package_whose_levels_are_not_told_apart_is_told_no_change() -> None:
    said = ask({"A": 2.0, "B": 0.02})
    assert "for A; not told apart for B" in said
    assert said.count("interval") == 1


def test_changes_that_both_show_are_both_told() -> None:
    said = ask({"A": 2.0, "B": 3.0, "C": 0.0})
    assert "for B" in said
    assert said.rstrip(".").endswith("for A; not told apart for C")
