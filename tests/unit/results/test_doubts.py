"""Which trials may have been disturbed."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from made.synthetic import make_phase, make_record

from datamill.protocol.quiet import ProcessUse, QuietFacts, QuietRule, QuietWindow
from datamill.protocol.trial import DisturbanceFacts, TrialRecord
from datamill.results.judgement.doubts import RULES, judge_disturbances

QUIET: dict[str, Any] = {
    "span_ns": 1_001_000_000,
    "steal_time_ns": 0,
    "busy_time_ns": 600_000_000,
    "other_time_ns": 10_000_000,
    "interrupt_time_ns": 0,
    "memory_stall_ns": 0,
    "io_stall_ns": 4_000_000,
    "disk_bytes": 1_000_000,
    "swapped_pages": 0,
    "highest_frequency_khz": 3_000_000,
    "throttle_events": 0,
    "clock_jump_ns": 300,
    "suspended_ns": 400,
}


#: A trial that waited in vain: the second processor was busy to the end.
NOT_QUIET = QuietFacts(
    rule=QuietRule(),
    waited_ns=60_000_000_000,
    windows=30,
    quiet=False,
    last=QuietWindow(1.02, 0.01, 0.0, 0.0, 0.0),
    busiest=(ProcessUse("cron; job", 7, 59_000_000_000),),
    untold=(),
)


def make_trial(
    number: int, *, switches: int = 5, quiet: QuietFacts | None = None, **changes: Any
) -> TrialRecord:
    return make_record(
        f"t{number:02d}",
        run=make_phase(involuntary_switches=switches),
        quiet=quiet,
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
        ("not quiet", {"quiet": NOT_QUIET}),
        ("steal", {"steal_time_ns": 20_000_000}),
        ("other processes", {"other_time_ns": 80_000_000}),
        ("interrupts", {"interrupt_time_ns": 90_000_000, "other_time_ns": 100_000_000}),
        ("preemption", {"switches": 60}),
        ("memory pressure", {"memory_stall_ns": 30_000_000}),
        ("i/o pressure", {"io_stall_ns": 60_000_000}),
        ("disk traffic", {"disk_bytes": 40_000_000}),
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


def test_a_doubt_names_what_kept_the_machine_busy_in_one_piece() -> None:
    (doubt,) = judge_disturbances([make_trial(1, quiet=NOT_QUIET)])["t01", 1]
    assert doubt.seen == ("the machine was not quiet after 60 s, 1.02 processors busy (cron? job 59.00 s)")
    busy = (ProcessUse("stress", 9, 70_000_000),)
    (doubt,) = judge_disturbances([make_trial(1, other_time_ns=80_000_000, busiest=busy)])["t01", 1]
    assert doubt.seen.endswith("80 ms of processor time (stress 0.07 s)")


def test_a_trial_that_found_its_machine_quiet_is_not_doubted() -> None:
    found = msgspec.structs.replace(NOT_QUIET, quiet=True)
    assert judge_disturbances([make_trial(1, quiet=found)]) == {}


def test_every_rule_has_been_tried() -> None:
    tried = test_one_disturbance_breaks_one_rule.pytestmark[0].args[1]
    assert {rule for rule, _ in tried} == {rule.name for rule in RULES}


def test_quiet_trials_raise_no_doubt() -> None:
    assert judge_among_quiet_trials() == []


def test_a_tick_of_stolen_time_proves_nothing() -> None:
    assert judge_among_quiet_trials(steal_time_ns=10_000_000) == []


def test_messages_of_our_own_mounts_are_no_disturbance() -> None:
    assert judge_among_quiet_trials(kernel_lines=("overlayfs: falling back to uuid=null.",)) == []
    # What setting huge pages brings about.
    line = "min_free_kbytes is not updated to 19826 because user defined value 67584 is preferred"
    assert judge_among_quiet_trials(kernel_lines=(line,)) == []


def test_what_the_host_does_not_tell_raises_no_doubt() -> None:
    assert judge_disturbances([make_record("t1", disturbance=DisturbanceFacts())]) == {}


def test_records_from_before_disturbances_were_recorded_raise_no_doubt() -> None:
    assert judge_disturbances([make_record("t1")]) == {}


def test_a_package_that_always_waits_for_the_disk_is_not_disturbed_by_it() -> None:
    records = [make_trial(number, io_stall_ns=500_000_000) for number in range(10)]
    assert judge_disturbances(records) == {}


def test_a_trial_that_computed_all_the_time_waited_for_no_disk() -> None:
    def make(number: int, stall: int, computed: int) -> TrialRecord:
        trial = make_trial(number, io_stall_ns=stall)
        assert trial.run is not None
        run = msgspec.structs.replace(trial.run, wall_time_ns=10**9, user_time_ns=computed, system_time_ns=0)
        return msgspec.structs.replace(trial, run=run)

    quiet = [make(number, 0, 990_000_000) for number in range(9)]
    assert judge_disturbances([*quiet, make(9, 800_000_000, 995_000_000)]) == {}
    (doubt,) = judge_disturbances([*quiet, make(9, 800_000_000, 500_000_000)])["t09", 1]
    assert (doubt.rule, doubt.seen) == ("i/o pressure", "500 ms of waiting for input and output")
    # Of several threads one may have waited while the others computed.
    assert judge_disturbances([*quiet, make(9, 800_000_000, 1_500_000_000)]) != {}


def test_a_package_that_swaps_in_every_trial_is_not_disturbed_by_it() -> None:
    records = [make_trial(number, swapped_pages=1000 + number) for number in range(10)]
    assert judge_disturbances(records) == {}


def make_slow_and_fast_trials(paddings: Sequence[int], **odd: Any) -> list[TrialRecord]:
    """Trials whose slow third is switched out ten times as often; `odd` changes the last, a slow one."""
    records = []
    for number, padding in enumerate(paddings):
        slow = number % 3 == 2
        last = number == len(paddings) - 1
        facts = {"switches": 500 if slow else 50, "io_stall_ns": 400_000_000 if slow else 0}
        trial = make_trial(number, **(facts | (odd if last else {})))
        levels = {"optimization": "-O0" if slow else "-O2", "env_padding": str(padding)}
        records.append(msgspec.structs.replace(trial, levels=levels))
    return records


def test_a_slow_level_is_no_disturbance_where_each_trial_has_drawn_levels_of_its_own() -> None:
    assert judge_disturbances(make_slow_and_fast_trials(range(21))) == {}


def test_a_slow_level_is_no_disturbance_in_a_design_of_few_replicates() -> None:
    assert judge_disturbances(make_slow_and_fast_trials([n // 3 % 2 for n in range(15)])) == {}


def test_a_disturbed_trial_among_drawn_levels_is_found() -> None:
    doubts = judge_disturbances(make_slow_and_fast_trials(range(21), switches=5000))
    assert {trial: [doubt.rule for doubt in found] for trial, found in doubts.items()} == {
        ("t20", 1): ["preemption"]
    }


def test_processors_held_at_two_frequencies_by_a_factor_are_no_disturbance() -> None:
    records = []
    for number in range(12):
        level = "max" if number % 2 else "min"
        trial = make_trial(number, highest_frequency_khz=3_000_000 if number % 2 else 1_200_000)
        levels = {"cpu_frequency": level, "env_padding": str(number)}
        records.append(msgspec.structs.replace(trial, levels=levels))
    assert judge_disturbances(records) == {}


def test_a_semicolon_in_the_kernels_words_does_not_make_two_doubts_of_one() -> None:
    records = [make_trial(1, kernel_lines=("perf: too long; lowering: 100",))]
    (doubt,) = judge_disturbances(records)["t01", 1]
    assert "; " not in doubt.seen


def test_a_package_whose_network_traffic_is_served_in_interrupts_is_not_disturbed_by_it() -> None:
    served = {"interrupt_time_ns": 300_000_000, "other_time_ns": 310_000_000}
    assert judge_disturbances([make_trial(number, **served) for number in range(10)]) == {}
