"""Factors on machines that are very unlike: what each does where, whether they agree, how often that errs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from made.fleet_study import SECONDS
from made.planted_study import Point, Study, plan_study

from datamill.analysis.answer.machines.factor_effects import FactorsByMachine
from datamill.analysis.answer.machines.machine_by_machine import compare_machine_by_machine

NONE: Mapping[str, float] = {}


def make_link_order_study(
    *,
    seed: int,
    packages: tuple[str, ...] = ("a",),
    link: Mapping[str, float] = NONE,
    aslr: float = 1.0,
    replicates: int = 5,
) -> Study:
    """Three link orders and ASLR on four machines: `link` is what the last order costs on a machine."""

    def observe(rng: np.random.Generator, point: Point) -> float:
        machine = point["machine"]
        seconds = SECONDS[machine] * (aslr if point["aslr"] == "off" else 1.0)
        if point["link_order"] == "reverse":
            seconds *= link.get(machine, 1.02)
        return float(seconds * rng.normal(1.0, 0.02 * (2 if machine == "atom" else 1)))

    levels = {
        "package": packages,
        "link_order": ("default", "alphabetical", "reverse"),
        "aslr": ("on", "off"),
        "machine": tuple(SECONDS),
    }
    return plan_study(levels, observe, replicates=replicates, seed=seed)


def judge(study: Study) -> FactorsByMachine:
    # At alpha 5% rather than 1%: rates show with fewer studies.
    experiment, design, table, _ = study
    found = compare_machine_by_machine(
        replace(experiment, alpha=0.05), design, table, experiment.responses[0]
    )
    assert found is not None
    return found.factors


def test_machines_alike_are_called_unlike_at_most_as_often_as_stated_and_intervals_hold() -> None:
    studies, alarms, held, asked = 60, 0, 0, 0
    for seed in range(studies):
        found = judge(make_link_order_study(seed=seed, aslr=1.05))
        assert [item.factor for item in found.agreements] == ["link_order", "aslr"]
        alarms += any(item.differ for item in found.agreements)
        for item in found.levels:
            if item.change is not None:
                truth = {"reverse": 2.0, "off": 5.0}.get(item.level, 0.0)
                held += item.change.low <= truth <= item.change.high
                asked += 1
    # Binomial: 5% of 60 is 3, three standard deviations 5.1.
    assert alarms <= 8
    assert asked == studies * 4 * 3
    # Binomial with 720 intervals, of which those of a machine share a reference: 95%, give or take 3%.
    assert 0.92 <= held / asked <= 0.98


def test_a_factor_that_acts_on_one_machine_alone_is_found_and_named() -> None:
    found = judge(make_link_order_study(seed=1, link={"atom": 1.0, "xeon": 1.0, "cortex": 1.15, "epyc": 1.0}))
    link, aslr = found.agreements
    assert (link.factor, link.level, link.base, link.differ) == ("link_order", "reverse", "default", True)
    assert link.highest is not None
    assert link.highest[0] == "cortex"
    assert not aslr.differ
    detected = {(item.machine, item.level) for item in found.levels if item.p is not None and item.p < 0.05}
    assert detected == {("cortex", "reverse")}


def test_packages_are_judged_each_by_itself_at_one_error_rate() -> None:
    alarms = 0
    for seed in range(12):
        found = judge(make_link_order_study(seed=500 + seed, packages=("a", "b"), replicates=4))
        assert len(found.agreements) == 4
        alarms += any(item.differ for item in found.agreements)
    # Binomial: 5% of 12 is 0.6; 4 is more than three standard deviations beyond.
    assert alarms <= 3
