import math

import polars as pl
import pytest

from datamill import InputError
from datamill.platforms.scores.build_scores import build_scores
from datamill.platforms.scores.bundle_scores import gather_bundle_scores


def make_table(**columns: list) -> pl.DataFrame:
    """Six trials: two packages on two machines, one of them with two trials each."""
    table = {
        "worker": ["w1", "w1", "w2", "w2", "w2", "w2"],
        "machine": ["ant", "ant", "bee", "bee", "bee", "bee"],
        "flag": ["-O2"] * 6,
        "package": ["x", "y", "x", "y", "x", "y"],
        "trial_id": ["1", "2", "3", "4", "5", "6"],
        "purpose": ["question"] * 6,
        "response": ["wall_time"] * 6,
        "unit": ["s"] * 6,
        "value": [1.0, 2.0, 3.0, 5.0, 12.0, 5.0],
        "valid": [True] * 6,
    }
    return pl.DataFrame({**table, **columns})


def gather(
    table: pl.DataFrame, *, factors: tuple[str, ...] = ("machine", "package"), higher: bool = False
) -> pl.DataFrame:
    return gather_bundle_scores(table, "wall_time", factors=factors, higher=higher, source="bundle")


def test_packages_on_machines_of_a_fleet_are_scores() -> None:
    matrix = build_scores(gather(make_table())).matrix
    assert matrix.machines == ("ant", "bee")
    assert matrix.benchmarks == ("x", "y")
    assert matrix.seconds.ravel().tolist() == pytest.approx([1, 2, 6, 5])
    assert matrix.noise[1].tolist() == pytest.approx([math.log(4) / 2, 0])
    assert matrix.kind == "seconds"


def test_without_a_machine_in_the_design_the_worker_is_the_machine() -> None:
    assert build_scores(gather(make_table(), factors=("package",))).matrix.machines == ("w1", "w2")


def test_levels_of_factors_make_machines_and_a_single_level_does_not() -> None:
    table = make_table(flag=["-O0", "-O0", "-O2", "-O2", "-O0", "-O0"])
    found = build_scores(gather(table, factors=("flag", "package")))
    assert found.matrix.machines == ("w1 flag=-O0", "w2 flag=-O2", "w2 flag=-O0")
    assert build_scores(gather(make_table(), factors=("flag", "package"))).matrix.machines == ("w1", "w2")


def test_measurements_of_one_trial_are_one_replicate() -> None:
    table = make_table(trial_id=["1", "2", "3", "4", "3", "4"])
    scores = gather(table)
    assert scores["replicate"].to_list() == [1, 1, 1, 1]
    assert scores["seconds"].to_list() == pytest.approx([1, 2, 6, 5])


def test_rates_are_scores_and_other_costs_their_reciprocals() -> None:
    rates = gather(make_table(unit=["op/s"] * 6), higher=True)
    assert rates["score"].to_list() == [1.0, 2.0, 3.0, 5.0, 12.0, 5.0]
    assert rates["seconds"].null_count() == 6
    costs = gather(make_table(unit=["J"] * 6))
    assert costs["score"].to_list() == [1.0, 1 / 2, 1 / 3, 1 / 5, 1 / 12, 1 / 5]


def test_milliseconds_become_seconds() -> None:
    assert gather(make_table(unit=["ms"] * 6))["seconds"].to_list() == [
        0.001,
        0.002,
        0.003,
        0.005,
        0.012,
        0.005,
    ]


def test_invalid_rows_and_trials_of_another_purpose_take_no_part() -> None:
    table = make_table(valid=[True, True, True, True, False, True], purpose=["question"] * 5 + ["reference"])
    assert gather(table)["seconds"].to_list() == [1.0, 2.0, 3.0, 5.0]


def test_what_has_no_ratio_is_refused() -> None:
    with pytest.raises(InputError, match="wall_time is 0 in a trial of y"):
        gather(make_table(value=[1.0, 0.0, 3.0, 5.0, 12.0, 5.0]))
    with pytest.raises(InputError, match="no valid value of wall_time"):
        gather(make_table(valid=[False] * 6))
    with pytest.raises(InputError, match='no response "rate"'):
        gather_bundle_scores(make_table(), "rate", factors=(), higher=True, source="bundle")
