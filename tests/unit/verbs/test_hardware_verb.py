"""What `hardware` says of a dimension, and what it refuses to say."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import datamill


def make_table(machines: dict[str, int], *, seed: int = 1) -> pl.DataFrame:
    """A tidy table of machines by architecture, with a factor; what is known of machines is context."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for arch, count in machines.items():
        for number in range(count):
            height = (1.0 if arch == "x86_64" else 4.0) * np.exp(rng.normal(0, 0.1))
            for aslr in ("on", "off"):
                for replicate in range(3):
                    name = f"{arch}-{number}"
                    rows.append(
                        {
                            "trial_id": f"{name}{aslr}{replicate}",
                            "machine": name,
                            "worker": name,
                            "aslr": aslr,
                            "context.arch": arch,
                            "response": "time",
                            "unit": "s",
                            "value": height * rng.normal(1, 0.01),
                            "valid": True,
                            "exclusion": None,
                        }
                    )
    return pl.DataFrame(rows, infer_schema_length=None)


def test_a_dimension_of_a_tidy_table_is_found_without_its_prefix() -> None:
    found = datamill.hardware(make_table({"x86_64": 3, "aarch64": 2}), dimension="arch").found
    assert found.dimension == "arch"
    assert [(item.level, item.machines) for item in found.main.levels] == [("aarch64", 2), ("x86_64", 3)]
    assert found.main.df == 3
    assert [item.factor for item in found.factors] == ["aslr"]
    assert found.n == 30


def test_where_each_level_has_one_machine_there_is_no_interval_and_no_comparison() -> None:
    result = datamill.hardware(make_table({"x86_64": 1, "aarch64": 1}), dimension="arch")
    assert not result.found.told_apart
    assert result.lead[0].startswith("The data cannot tell what arch does to time")
    numbers = json.loads(result.json())
    assert numbers["main"]["p"] is None
    assert all(pair["interval"] is None and pair["p"] is None for pair in numbers["main"]["pairs"])
    assert all(level["interval"] is None for level in numbers["main"]["levels"])
    assert "Comparisons" not in result.text()
    assert "against" not in result.text()
    assert result.figures()


def test_a_level_with_one_machine_borrows_its_spread_and_says_so() -> None:
    result = datamill.hardware(make_table({"x86_64": 3, "aarch64": 1}), dimension="arch")
    assert result.found.main.levels[0].interval is not None
    assert any("aarch64 has one machine" in warning for warning in result.warnings)


def test_more_trials_of_the_same_machines_make_no_more_evidence() -> None:
    table = make_table({"x86_64": 2, "aarch64": 2})
    again = table.with_columns(trial_id=pl.col("trial_id") + "again")
    once = datamill.hardware(table, dimension="arch").found.main
    twice = datamill.hardware(pl.concat([table, again]), dimension="arch").found.main
    assert once.df == twice.df == 2
    assert once.p == pytest.approx(twice.p)


@pytest.mark.parametrize("verb", ["anova", "tests", "quantiles", "variability", "predict"])
def test_verbs_that_take_trials_for_independent_refuse_a_dimension_as_a_factor(verb: str) -> None:
    more = {"at": {"aslr": "on"}} if verb == "predict" else {}
    with pytest.raises(datamill.InputError, match="arch is a dimension of hardware") as caught:
        getattr(datamill, verb)(make_table({"x86_64": 2, "aarch64": 2}), factors=["arch", "aslr"], **more)
    assert "hardware" in str(caught.value)


def test_a_dimension_can_be_described_chosen_and_split_by() -> None:
    table = make_table({"x86_64": 2, "aarch64": 2})
    assert len(datamill.summary(table, factors=["arch"]).summary.groups) == 2
    found = datamill.anova(table, factors=["aslr"], by="arch")
    assert list(found.results) == ["aarch64", "x86_64"]
    assert datamill.anova(table, factors=["aslr"], where={"arch": "x86_64"}).model.n == 12


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"dimension": "aslr"}, "changes on machine"),
        ({"dimension": ""}, "no dimension of hardware is named"),
        ({"dimension": "clock"}, 'there is no column "clock"'),
        ({"dimension": "arch", "where": {"arch": "x86_64"}}, "all machines have the same arch"),
        ({"dimension": "arch", "scale": "cubic"}, "which is not a choice"),
        ({"dimension": "arch", "formula": "time ~ aslr"}, "compares machines over factors"),
        ({"dimension": "arch", "machine": "host"}, 'there is no column "host"'),
    ],
)
def test_what_cannot_be_said_of_a_dimension_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(datamill.InputError) as caught:
        datamill.hardware(make_table({"x86_64": 2, "aarch64": 2}), **given)
    assert said in str(caught.value)


def test_values_below_zero_are_compared_by_differences() -> None:
    table = make_table({"x86_64": 2, "aarch64": 2}).with_columns(value=pl.col("value") - 3)
    assert datamill.hardware(table, dimension="arch").found.scale == "linear"
    with pytest.raises(datamill.InputError, match="have no ratios"):
        datamill.hardware(table, dimension="arch", scale="log")


def test_combinations_that_some_machine_lacks_do_not_count() -> None:
    table = make_table({"x86_64": 2, "aarch64": 2})
    few = table.filter(~((pl.col("machine") == "x86_64-0") & (pl.col("aslr") == "off")))
    found = datamill.hardware(few, dimension="arch")
    assert (found.found.combinations, found.found.possible) == (1, 2)
    assert any("1 of 2 combinations" in warning for warning in found.warnings)
    assert found.found.factors == ()


def test_rows_that_are_not_valid_are_left_out_and_counted() -> None:
    table = make_table({"x86_64": 2, "aarch64": 2})
    bad = table["trial_id"].is_in([table["trial_id"][0]])
    marked = table.with_columns(valid=~bad, exclusion=pl.when(bad).then(pl.lit("failed")))
    result = datamill.hardware(marked, dimension="arch")
    assert "Excluded: 1 invalid rows" in result.text()
    assert json.loads(result.json())["excluded"] == 1
    predicted = datamill.predict(marked, at={"aslr": "on", "machine": "x86_64-0"})
    assert "Excluded: 1 invalid rows" in predicted.text()


def test_a_dimension_is_split_by_a_factor_at_one_error_rate() -> None:
    table = make_table({"x86_64": 2, "aarch64": 2})
    found = datamill.hardware(table, dimension="arch", by="aslr")
    assert list(found.results) == ["off", "on"]
    alone = datamill.hardware(table, dimension="arch", where={"aslr": "on"}, confidence=0.975, alpha=0.005)
    assert found.results["on"].numbers() == alone.numbers()
    assert len(found.figures()[0].chart["concat"]) == 2
