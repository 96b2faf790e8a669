"""What hardly varies has a small coefficient of variation, and none that reads as zero."""

import re

import numpy as np
import polars as pl

import datamill


def list_percents(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"(\d+\.\d+)%", text)]


def test_a_coefficient_without_an_upper_bound_shows_its_figures() -> None:
    y = 1e6 + np.random.default_rng(0).normal(0, 0.001, 40)
    y[3] += 30
    found = datamill.variability(pl.DataFrame({"y": y}), response="y")
    assert isinstance(found, datamill.verbs.variability.Variability)
    (point,) = found.points.points
    assert point.cv is not None
    assert np.isinf(point.cv.high)
    estimate, low = list_percents(found.lead[0].replace("95%", ""))
    assert abs(estimate / point.cv.estimate - 100) < 2
    assert low > 0
    row = next(line for line in found.text().splitlines() if line.startswith("40"))
    assert min(list_percents(row)) > 0


def test_levels_and_windows_that_vary_by_millionths_are_told_apart_in_text() -> None:
    rng = np.random.default_rng(1)
    mode = np.repeat(["p", "q", "r"], 120)
    spread = np.repeat([1.0, 2.0, 4.0], 120)
    table = pl.DataFrame(
        {
            "mode": mode,
            "input": np.tile(np.repeat(["i1", "i2", "i3", "i4", "i5", "i6"], 20), 3),
            "binned": rng.integers(0, 2, 360),
            "y": 1e6 + spread * rng.normal(size=360),
        }
    )
    by_level = datamill.variability(table, response="y", factors=["mode", "input"]).lead[0]
    assert "differs between the levels of mode" in by_level
    assert min(list_percents(by_level)) > 0
    windows = datamill.variability(table, response="y", window=20, against="binned").text()
    assert min(list_percents(windows.replace("95%", ""))) > 0
