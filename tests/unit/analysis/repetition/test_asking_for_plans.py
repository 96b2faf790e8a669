"""What `plan` takes from Python, and what it says of a pilot that is small."""

import json
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import datamill
from datamill.analysis.versions.false_alarms import count_pairs
from datamill.experiment.errors import InputError
from datamill.verbs.inputs.plan_arguments import take_range


def make_pilot(builds: int, executions: int, measurements: int) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    rows = [
        {"version": "a", "build": b, "execution": e, "measurement": m, "value": 10 + rng.normal() + b}
        for b in range(builds)
        for e in range(executions)
        for m in range(measurements)
    ]
    return pl.DataFrame(rows)


def test_numbers_of_numpy_are_numbers() -> None:
    assert take_range("builds", np.int64(5), (1, 100)) == (5, 5)
    assert take_range("builds", (np.int32(3), 9), (1, 100)) == (3, 9)
    for given in (True, 5.0, np.bool_(True), (1, 2.5), (True, 3)):
        with pytest.raises(InputError, match="is not a range from 1 to 100"):
            take_range("builds", given, (1, 100))


def test_counts_of_a_balanced_pilot_are_whole_in_json() -> None:
    costs = {"build_time": 1, "execution_time": 1, "measurement_time": 1}
    planned = datamill.plan(make_pilot(11, 3, 10), half_width=3.0, **costs)
    assert planned.plan.basis.measurements != 10, "rounding, which this is about"
    assert json.loads(planned.json())["pilot"] == {"builds": 11, "executions": 3, "measurements": 10}


@pytest.mark.parametrize(("builds", "size"), [(2, 1), (4, 1), (4, 2), (7, 2), (7, 3)])
def test_distinct_pairs_of_groups_are_counted(builds: int, size: int) -> None:
    groups = [set(group) for group in combinations(range(builds), size)]
    apart = sum(not first & second for first, second in combinations(groups, 2))
    assert count_pairs(builds, size, disjoint=True) == apart


def test_few_distinct_pairs_of_groups_are_named_and_leave_wide_intervals() -> None:
    study = datamill.false_alarms(make_pilot(4, 2, 5))
    rate = study.alarms.rows[1].welch
    assert rate is not None
    assert rate.high - rate.low > 0.4
    assert "with 2 of each (only 3 distinct pairs)" in " ".join(str(study).split())
    assert any("4 builds make few distinct pairs" in warning for warning in study.warnings)


def test_a_table_of_several_versions_is_planned_for_all_their_comparisons() -> None:
    alone = make_pilot(6, 3, 5)
    three = pl.concat([alone.with_columns(version=pl.lit(name)) for name in "abc"])
    two = three.filter(pl.col("version") != "c")
    asked = {"detect": 1.5, "build_time": 1, "execution_time": 1, "measurement_time": 1}
    of_three, of_two = (datamill.plan(table, **asked).plan for table in (three, two))
    stricter = datamill.plan(two, **asked, alpha=0.025).plan
    assert of_three.best.builds == stricter.best.builds > of_two.best.builds
    assert of_three.versions == 2, "times are those of a difference of two"
    assert any("make 2 comparisons with one baseline" in note for note in of_three.notes)
