"""What the report says of several machines: together, each by itself, and whether they agree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import polars as pl
import pytest
from made.answered_study import ReportPage, write_report
from made.fleet_study import SECONDS, make_fleet_study
from made.planted_study import Study

from datamill.analysis.answer.machines.machine_by_machine import (
    RELATIVE_UNIT,
    list_machines,
    relate_to_machines,
)


def report(study: Study) -> ReportPage:
    return write_report(*study)


def test_machines_that_agree_give_one_answer_and_each_its_own() -> None:
    page = report(make_fleet_study(1.05, seed=1, replicates=10, noise=0.01))
    answer = page.answer
    assert answer.headline.startswith("On the average of 4 machines, a is better: its time is 4.")
    assert answer.details[0].startswith("No disagreement between the machines was found on b against a (p = ")
    assert answer.details[1] == (
        "By itself, a is better on atom, xeon, cortex and epyc (adjusted for 4 machines)."
    )
    assert "machines are fixed effects, and values are relative to the level of their" in answer.method
    # In seconds of its own, machine by machine; nothing is a mean of seconds over machines.
    assert 'id="machines"' in page.html
    assert re.search(r">4\d\.\d+ s<", page.html)
    assert re.search(r">3\.\d+ s<", page.html)
    assert "of its machine" in page.html


def add_response(study: Study, ratios: Mapping[str, float], *, shift: float = 0.0) -> Study:
    """The study with a second response, in bytes: package b takes `ratios` times as many on each machine."""
    experiment, design, table, trials = study
    factor = pl.col("machine").cast(pl.String).replace_strict(ratios, return_dtype=pl.Float64)
    other = make_fleet_study(1.0, seed=99, replicates=6, noise=0.01)[2].with_columns(
        response=pl.lit("memory").cast(table.schema["response"]),
        unit=pl.lit("B").cast(table.schema["unit"]),
        value=pl.col("value") * 1000 * pl.when(pl.col("package") == "b").then(factor).otherwise(1.0) + shift,
    )
    first = experiment.responses[0]
    responses = (first, replace(first, name="memory", unit="B", formula="memory"))
    return replace(experiment, responses=responses), design, pl.concat([table, other]), trials


def find_part(html: str, number: int) -> str:
    """What the page says of a response behind the first, by its number, machine by machine."""
    return html.split(f'id="machines-{number}"')[1].split("<h2", 1)[0]


def test_a_second_response_has_its_own_machines_in_its_own_unit() -> None:
    study = make_fleet_study(1.05, seed=1, replicates=6, noise=0.01)
    ratios = {"atom": 0.8, "xeon": 1.2, "cortex": 1.2, "epyc": 1.2}
    page = report(add_response(study, ratios))
    part = find_part(page.html, 2)
    assert "The machines do not agree on b against a" in part
    assert "b is better on atom" in part
    assert "Means are in memory" in part
    rows = re.findall(r"<tr>(.*?)</tr>", part.split("What each factor")[0], re.DOTALL)
    shown = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in rows]
    machines = [row[0] for row in shown if len(row) == 7 and row[1] == "b"]
    assert machines == list(SECONDS)
    # The answer is that of the first response, on which machines agree.
    assert page.answer.headline.startswith("On the average of 4 machines, a is better: its time is")
    assert page.html.count('id="machines"') == 1
    assert "On the average of 4 machines: " in page.html


def test_a_second_response_with_values_below_zero_is_not_said_to_be_relative() -> None:
    study = make_fleet_study(1.05, seed=1, replicates=6, noise=0.01)
    page = report(add_response(study, dict.fromkeys(SECONDS, 1.1), shift=-20_000.0))
    assert "100% is its mean" not in find_part(page.html, 2)


def test_one_machine_has_no_table_of_machines_for_any_response() -> None:
    experiment, design, table, trials = add_response(
        make_fleet_study(1.05, seed=6), dict.fromkeys(SECONDS, 1.1)
    )
    page = report((experiment, design, table.filter(pl.col("machine") == "xeon"), trials))
    assert 'id="machines' not in page.html


def test_machines_that_show_the_opposite_get_no_common_winner() -> None:
    ratios = {"atom": 0.9, "xeon": 1.1, "cortex": 1.1, "epyc": 1.1}
    answer = report(make_fleet_study(ratios, seed=2, replicates=10, noise=0.01)).answer
    assert answer.headline == "Which is better depends on the machine: b on atom; a on xeon, cortex and epyc."
    assert answer.details[0].startswith("On the average of 4 machines, a is better")
    assert answer.details[1].startswith("The machines do not agree on b against a (p = ")
    assert "on atom to +" in answer.details[1]


def test_nothing_is_said_of_the_machine_being_undetectable() -> None:
    answer = report(make_fleet_study(1.0, seed=3, replicates=6)).answer
    assert answer.headline.startswith("On the average of 4 machines, the data do not tell b and a apart")
    assert not any("machine at most" in line for line in answer.mattered)


def test_values_that_may_be_zero_stay_as_they_are_and_the_answer_says_so() -> None:
    experiment, design, table, trials = make_fleet_study(1.05, seed=4)
    lowered = table.with_columns(value=pl.col("value") - 5)
    related = relate_to_machines(experiment, design, lowered)
    assert related.levels == {}
    assert related.table.equals(lowered)
    warnings = report((experiment, design, lowered, trials)).answer.warnings
    assert any("those with large values of time count most" in warning for warning in warnings)


def test_relative_values_have_the_mean_of_each_machine_at_100_percent() -> None:
    experiment, design, table, _ = make_fleet_study(1.2, seed=5)
    related = relate_to_machines(experiment, design, table)
    assert [response.unit for response in related.experiment.responses] == [RELATIVE_UNIT]
    means = related.table.group_by("machine").agg(pl.col("value").mean())
    assert means["value"].to_list() == pytest.approx([100.0] * 4, rel=2e-3)
    assert related.levels["time"]["atom"] == pytest.approx(1.1 * SECONDS["atom"], rel=0.03)


def test_one_machine_is_reported_as_ever() -> None:
    experiment, design, table, trials = make_fleet_study(1.05, seed=6)
    one = table.filter(pl.col("machine") == "xeon")
    assert list_machines(design, one) == ()
    page = report((experiment, design, one, trials))
    assert "machines" not in page.answer.headline
    assert 'id="machines"' not in page.html


def test_a_machine_without_one_of_the_packages_says_nothing_by_itself() -> None:
    experiment, design, table, trials = make_fleet_study(1.05, seed=7, noise=0.01)
    partial = table.filter((pl.col("machine") != "epyc") | (pl.col("package") == "a"))
    page = report((experiment, design, partial, trials))
    assert page.answer.headline.startswith("On the average of 4 machines, a is better")
    assert any("epyc does not tell them apart" in line for line in page.answer.details)


def test_workers_of_machines_are_no_factor_beside_them() -> None:
    study = make_fleet_study(1.05, seed=8)
    hosts = study[2].with_columns(worker=pl.col("machine") + ".example")
    page = report((study[0], study[1], hosts, study[3]))
    assert not any("worker" in line for line in page.answer.mattered)
