"""The line of boxes of a summary: named, explained, and within a terminal's width."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

import datamill


def summarize(levels: dict[str, tuple[str, ...]]) -> list[str]:
    rng = np.random.default_rng(3)
    rows = [
        {**dict(zip(levels, point, strict=True)), "seconds": 1e3 * (2 + index + rng.random())}
        for index, point in enumerate(product(*levels.values()))
        for _ in range(9)
    ]
    result = datamill.summary(pl.DataFrame(rows), response="seconds", factors=list(levels))
    return result.text().splitlines()


@pytest.mark.parametrize(
    "levels",
    [
        {"tool": ("xz", "bzip2")},
        {"compiler": ("gcc", "clang"), "opt": ("-O0", "-O2"), "machine": ("alpha", "beta")},
        {"compiler": ("gcc-14.2.0-experimental", "clang"), "optimization": ("-O0", "-O2")},
    ],
)
def test_boxes_have_a_name_and_a_meaning_and_stay_within_the_terminal(
    levels: dict[str, tuple[str, ...]],
) -> None:
    lines = summarize(levels)
    assert max(map(len, lines)) <= 100
    drawn = any("█" in line for line in lines)
    assert drawn == any(line.rstrip().endswith(" boxes") for line in lines)
    assert drawn == any(line.startswith("Boxes: █ the middle half") for line in lines)


def test_a_table_that_leaves_no_room_comes_without_boxes() -> None:
    lines = summarize({"a" * 30: ("x" * 40, "y"), "b": ("u", "v")})
    assert not any("█" in line or "boxes" in line for line in lines)
    assert any("median" in line for line in lines)


def test_two_groups_usually_have_boxes() -> None:
    assert any("█" in line for line in summarize({"tool": ("xz", "bzip2")})[3:])


def test_the_mean_of_a_box_is_a_saltire_at_its_height() -> None:
    figure = datamill.summary({"y": [1.0, 2.0, 6.0, 11.0]}, response="y").figure("box")
    means = [layer for layer in figure.chart["layer"] if layer["encoding"]["y"]["field"] == "mean"]
    assert [layer["mark"]["shape"] for layer in means] == ["M-1,-1L1,1M-1,1L1,-1"]
    assert figure.chart["data"]["values"][0]["mean"] == 5.0
    assert "a × their mean" in figure.caption
