"""What the report says of each factor on each machine, in words, tables and pictures."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
from made.answered_study import write_report
from made.fleet_study import SECONDS, make_fleet_study
from made.planted_study import Point, Study, plan_study

from datamill.analysis.answer.experiment_analysis import analyze_experiment
from datamill.analysis.answer.machines.factor_effects import FactorAgreement, FactorsByMachine
from datamill.analysis.answer.machines.machine_by_machine import MachineByMachine
from datamill.experiment.experiment import StoppingRule
from datamill.report.experiment.by_machine import view_machines
from datamill.report.experiment.experiment_answer import phrase_experiment
from datamill.report.experiment.json import format_experiment_json
from datamill.report.machines.factors import name_machines, phrase_factors, tabulate_factor
from datamill.report.machines.figures import draw_effect_boxes, draw_factor_lines
from datamill.results.bundles.decisions import Decision, LookInterval


@cache
def make_link_order_study(packages: tuple[str, ...] = ("perl",)) -> Study:
    """Link order matters on one machine only, ASLR nowhere (ICPE 2013, section 5.2)."""

    def observe(rng: np.random.Generator, point: Point) -> float:
        slow = point["link_order"] == "reverse" and point["machine"] == "atom"
        return float(SECONDS[point["machine"]] * (1.08 if slow else 1.0) * rng.normal(1, 0.005))

    levels = {
        "package": packages,
        "link_order": ("default", "reverse"),
        "aslr": ("on", "off"),
        "machine": tuple(SECONDS),
    }
    experiment, design, table, trials = plan_study(levels, observe, replicates=5, seed=4)
    models = {name: f"Model {name}" for name in SECONDS}
    return (
        experiment,
        design,
        table.with_columns(
            worker=pl.col("machine"), **{"context.cpu_model": pl.col("machine").replace_strict(models)}
        ),
        trials,
    )


@cache
def find_machines(packages: tuple[str, ...] = ("perl",)) -> MachineByMachine:
    experiment, design, table, _ = make_link_order_study(packages)
    answering = analyze_experiment(experiment, design, table).answering
    assert answering is not None
    assert answering.machines is not None
    return answering.machines


def test_an_experiment_with_one_package_says_where_a_factor_depends_on_the_machine() -> None:
    page = write_report(*make_link_order_study())
    said = page.answer.headline
    assert said.startswith("What link_order does depends on the machine (p = ")
    assert "from default to reverse the change goes from" in said
    (most,) = re.findall(r"to \+([\d.]+)% \(95% interval \+([\d.]+)% to \+([\d.]+)%\) on atom\.$", said)
    change, low, high = map(float, most)
    assert low < change < high
    assert low < 8 < high
    assert page.answer.details[0].startswith("On the average of 4 machines, link_order matters: at default ")
    assert not any(text.startswith("What link_order does depends") for text in page.answer.details)
    assert any(
        "No disagreement between the machines was found on what aslr does" in t for t in page.answer.details
    )
    assert "What each factor does on each machine" in page.html
    assert "A is atom, B is xeon, C is cortex, D is epyc." in page.html
    assert "no comparison" not in page.html
    assert "A: Model atom" in page.html


def test_where_machines_agree_the_answer_is_the_factors_and_no_mean_that_is_100_percent_by_itself() -> None:
    def observe(rng: np.random.Generator, point: Point) -> float:
        longer = 1.5 if point["size"] == "large" and grows else 1.0
        return float(SECONDS[point["machine"]] * longer * rng.normal(1, 0.005))

    levels = {
        "package": ("perl",),
        "size": ("small", "large"),
        "aslr": ("on", "off"),
        "machine": tuple(SECONDS),
    }
    grows = True
    answer = write_report(*plan_study(levels, observe, replicates=5, seed=4)).answer
    assert answer.headline.startswith("On the average of 4 machines, size matters: at small time is 33.")
    assert not any("of perl: 100" in text for text in answer.details)
    grows = False
    answer = write_report(*plan_study(levels, observe, replicates=5, seed=4)).answer
    assert answer.headline.startswith("Mean time by machine: ")
    assert any("of perl: 100" in text for text in answer.details)


def test_an_experiment_that_stops_by_its_mean_on_machines_answers_with_the_factor() -> None:
    def observe(rng: np.random.Generator, point: Point) -> float:
        longer = 1.5 if point["size"] == "large" else 1.0
        return float(SECONDS[point["machine"]] * longer * rng.normal(1, 0.005))

    levels = {"package": ("perl",), "size": ("small", "large"), "machine": tuple(SECONDS)}
    experiment, design, table, trials = plan_study(levels, observe, replicates=5, seed=4)
    rule = StoppingRule(half_width=0.05)
    mean = LookInterval("perl", 5, 100.0, 97.0, 103.0, 0.95)
    look = Decision(1, 1, 40, 60.0, "time", "until it is known", (mean,), "stop", "precise", "it is known")
    answer = write_report(
        replace(experiment, until=rule), design, table, replace(trials, decisions=(look,))
    ).answer
    assert answer.headline.startswith("On the average of 4 machines, size matters: at small time is 33.")
    assert any("(95% sequential interval 97.0 to 103.0)" in t for t in answer.details)


def test_a_package_that_is_alone_has_its_own_mean_on_each_machine_with_its_interval() -> None:
    page = write_report(*make_link_order_study())
    (said,) = [text for text in page.answer.details if text.startswith("Mean time by machine: ")]
    assert re.findall(r"interval [\d.]+ to [\d.]+\) on (\w+)", said) == list(SECONDS)
    response = make_link_order_study()[0].responses[0]
    table = view_machines(find_machines(), response, None).table
    assert table.headers == ("machine", "package", "n", "mean", "98.75% interval")
    for row in table.rows:
        mean, (low, high) = float(row[3].split(" ")[0]), map(float, row[4].split(" to "))
        assert low < mean < high
    assert not any(
        "by machine" in text for text in write_report(*make_fleet_study(1.05, seed=7)).answer.details
    )


def test_the_table_has_each_machines_change_with_its_interval() -> None:
    found = find_machines()
    names = name_machines(found.labels)
    table = tabulate_factor(found.factors, "link_order", "default", names, 0.95)
    assert table.headers == ("machine", "link_order", "n", "change from default", "95% interval", "p")
    assert [row[0] for row in table.rows] == [
        f"{letter}: Model {name}" for letter, name in zip("ABCD", SECONDS, strict=True)
    ]
    change = float(table.rows[0][3].rstrip("%"))
    low, high = map(float, table.rows[0][4].split(" to "))
    assert low < change < high
    assert low < 8 < high
    assert [row[5].startswith(("1", "0.")) for row in table.rows][1:] == [True] * 3


def test_a_line_for_each_machine_and_a_panel_for_each_package() -> None:
    one, two = find_machines(), find_machines(("perl", "gcc", "astar"))
    figure = draw_factor_lines(one.factors, "aslr", "time", name_machines(one.labels), 0.95)
    values = figure.chart["data"]["values"]
    assert {value["machine"] for value in values} == set(name_machines(one.labels).values())
    assert all(value["low"] < value["estimate"] < value["high"] for value in values)
    faceted = draw_factor_lines(two.factors, "aslr", "time", name_machines(two.labels), 0.95)
    assert faceted.chart["facet"]["sort"] == ["perl", "gcc", "astar"]


def test_boxes_hold_effects_over_machines_and_over_packages() -> None:
    one, three = find_machines(), find_machines(("perl", "gcc", "astar"))
    assert [f.name for f in draw_effect_boxes(one.spread, "time", name_machines(one.labels))] == [
        "effects-time-over-machines"
    ]
    boxes = {(box.panel, box.factor): box for box in one.spread.over_machines}
    # Of two levels the second's, half of what lies between: 8% on one machine, nothing on three.
    box = boxes["all", "link_order"]
    assert box.summary.n == 4
    assert len(box.summary.beyond) == 1
    assert 3.3 < box.summary.beyond[0] < 4.3
    assert abs(box.mean - 1.0) < 0.3
    drawn = draw_effect_boxes(three.spread, "time", name_machines(three.labels))
    assert [figure.name for figure in drawn] == ["effects-time-over-machines", "effects-time-over-packages"]
    assert {box.summary.n for box in three.spread.over_packages} == {3}


def test_json_has_every_effect_and_every_verdict() -> None:
    experiment, design, table, trials = make_link_order_study()
    found = analyze_experiment(experiment, design, table)
    (response,) = json.loads(format_experiment_json(found, phrase_experiment(found, trials), trials))[
        "responses"
    ]
    assert len(response["factor_effects"]) == 4 * 4
    verdicts = {item["factor"]: item["differ"] for item in response["factor_agreement"]}
    assert verdicts == {"link_order": True, "aslr": False}
    assert response["machines"][0]["label"] == "A: Model atom"


def test_too_few_trials_to_tell_say_so() -> None:
    experiment, design, table, _ = make_fleet_study(1.0, seed=3, replicates=1, noise=0.01)
    answering = analyze_experiment(experiment, design, table).answering
    assert answering is not None
    assert answering.machines is not None
    said = phrase_factors(answering.machines.factors, 0.95)
    assert said
    assert all(re.search(r"No disagreement|cannot tell whether|depends on", sentence) for sentence in said)


def test_many_effects_are_named_in_part_and_counted() -> None:
    agreements = tuple(
        FactorAgreement(f"f{number}", "all", "low", "high", 0.5, ("x", 0.9), ("y", 1.1), differ=number < 8)
        for number in range(17)
    )
    said = phrase_factors(FactorsByMachine((), (), agreements), 0.95)
    assert [sentence.split()[1] for sentence in said[:6]] == [f"f{number}" for number in range(6)]
    assert said[6] == "2 more effects depend on the machine: the table has them."
    assert (
        "on what f8, f9, f10, f11, f12 and 4 more effects do (smallest p = 0.50, adjusted for 17" in said[7]
    )
