"""Which trials may have been disturbed."""

from typing import Any

import pytest
from synthetic import make_phase, make_record

from datamill.results.doubts import RULES, judge_disturbances
from datamill.results.trial_record import DisturbanceFacts, TrialRecord

QUIET: dict[str, Any] = {
    "span_ns": 1_001_000_000,
    "steal_time_ns": 0,
    "busy_time_ns": 600_000_000,
    "other_time_ns": 10_000_000,
    "memory_stall_ns": 0,
    "io_stall_ns": 4_000_000,
    "swapped_pages": 0,
    "highest_frequency_khz": 3_000_000,
    "throttle_events": 0,
    "clock_jump_ns": 300,
    "suspended_ns": 400,
}


def make_trial(number: int, *, switches: int = 5, **changes: Any) -> TrialRecord:
    return make_record(
        f"t{number:02d}",
        run=make_phase(involuntary_switches=switches),
        disturbance=DisturbanceFacts(**(QUIET | changes)),
    )


def judge_among_quiet_trials(**changes: Any) -> list[str]:
    records = [make_trial(number) for number in range(9)] + [make_trial(99, **changes)]
    doubts = judge_disturbances(records)
    assert set(doubts) <= {("t99", 1)}
    return [doubt.rule for doubt in doubts.get(("t99", 1), ())]


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("steal", {"steal_time_ns": 20_000_000}),
        ("other processes", {"other_time_ns": 80_000_000}),
        ("preemption", {"switches": 60}),
        ("memory pressure", {"memory_stall_ns": 30_000_000}),
        ("i/o pressure", {"io_stall_ns": 60_000_000}),
        ("swapping", {"swapped_pages": 1}),
        ("throttling", {"throttle_events": 1}),
        ("frequency", {"highest_frequency_khz": 2_400_000}),
        ("clock", {"clock_jump_ns": -5_000_000}),
        ("suspension", {"suspended_ns": 2_000_000_000}),
        ("kernel log", {"kernel_lines": ("mce: hardware error",)}),
    ],
)
def test_one_disturbance_breaks_one_rule(rule: str, changes: dict[str, Any]) -> None:
    assert judge_among_quiet_trials(**changes) == [rule]


def test_every_rule_has_been_tried() -> None:
    tried = test_one_disturbance_breaks_one_rule.pytestmark[0].args[1]
    assert {rule for rule, _ in tried} == {rule.name for rule in RULES}


def test_quiet_trials_raise_no_doubt() -> None:
    assert judge_among_quiet_trials() == []


def test_a_tick_of_stolen_time_proves_nothing() -> None:
    assert judge_among_quiet_trials(steal_time_ns=10_000_000) == []


def test_messages_of_our_own_mounts_are_no_disturbance() -> None:
    assert judge_among_quiet_trials(kernel_lines=("overlayfs: falling back to uuid=null.",)) == []


def test_what_the_host_does_not_tell_raises_no_doubt() -> None:
    assert judge_disturbances([make_record("t1", disturbance=DisturbanceFacts())]) == {}


def test_records_from_before_disturbances_were_recorded_raise_no_doubt() -> None:
    assert judge_disturbances([make_record("t1")]) == {}


def test_a_package_that_always_waits_for_the_disk_is_not_disturbed_by_it() -> None:
    records = [make_trial(number, io_stall_ns=500_000_000) for number in range(10)]
    assert judge_disturbances(records) == {}
