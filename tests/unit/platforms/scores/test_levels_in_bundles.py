"""Scores out of a tidy table: where levels of factors go, and what machines are called by."""

import polars as pl
import pytest

from datamill.platforms.scores.bundle_scores import gather_bundle_scores


def make_table(**columns: list) -> pl.DataFrame:
    usual = {
        "trial_id": ["t1", "t2", "t3", "t4"],
        "package": ["app"] * 4,
        "worker": ["id-1", "id-1", "id-2", "id-2"],
        "context.machine": ["m1", "m1", "m2", "m2"],
        "optimization": ["-O0", "-O2", "-O0", "-O2"],
        "purpose": ["question"] * 4,
        "response": ["wall_time"] * 4,
        "unit": ["ms"] * 4,
        "value": [1000.0, 500.0, 3000.0, 1500.0],
        "valid": [True] * 4,
    }
    return pl.DataFrame({**usual, **columns})


def gather(table: pl.DataFrame, **asked: str) -> list[tuple]:
    found = gather_bundle_scores(
        table,
        "wall_time",
        factors=["optimization"],
        higher=False,
        source="bundle",
        **asked,  # type: ignore[arg-type]
    )
    return found.select("machine", "benchmark", "replicate", "seconds").rows()


def test_each_combination_of_levels_is_a_machine() -> None:
    assert gather(make_table()) == [
        ("id-1 optimization=-O0", "app", 1, 1.0),
        ("id-1 optimization=-O2", "app", 1, 0.5),
        ("id-2 optimization=-O0", "app", 1, 3.0),
        ("id-2 optimization=-O2", "app", 1, 1.5),
    ]


def test_or_a_benchmark_where_machines_stay_what_they_are() -> None:
    assert gather(make_table(), levels_of="benchmark", place="context.machine") == [
        ("m1", "app optimization=-O0", 1, 1.0),
        ("m1", "app optimization=-O2", 1, 0.5),
        ("m2", "app optimization=-O0", 1, 3.0),
        ("m2", "app optimization=-O2", 1, 1.5),
    ]


@pytest.mark.parametrize("levels_of", ["machine", "benchmark"])
def test_a_factor_at_one_level_names_nothing_and_replicates_are_counted(levels_of: str) -> None:
    table = make_table(optimization=["-O2"] * 4, valid=[True, True, True, False])
    assert gather(table, levels_of=levels_of, place="worker") == [
        ("id-1", "app", 1, 1.0),
        ("id-1", "app", 2, 0.5),
        ("id-2", "app", 1, 3.0),
    ]
