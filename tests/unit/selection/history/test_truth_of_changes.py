from __future__ import annotations

import msgspec
import pytest

from datamill.selection.history.records import COUNTED_WAY, Observation, WorkCount
from datamill.selection.history.settings import TruthSetting
from datamill.selection.history.truth import (
    UNKNOWN,
    Truth,
    find_threshold,
    judge_counts,
    judge_times,
    measure_spread,
)


def observe(program, values, session="one"):
    return [
        Observation(program, "bench", session, place, 0, wall_ns=value, user_ns=value, system_ns=0)
        for place, value in enumerate(values)
    ]


OLD = [1000, 1010, 990, 1005, 995]


@pytest.mark.parametrize("rule", ["mann-whitney", "relevant"])
def test_a_clear_slowdown_is_a_change_and_the_same_times_are_none(rule):
    setting = TruthSetting(rule)
    found = judge_times(observe("a", OLD), observe("b", [value + 200 for value in OLD]), setting)
    assert found.changed
    assert found.ratio == pytest.approx(1.2)
    assert judge_times(observe("a", OLD), observe("b", OLD), setting).changed is False


def test_a_detected_change_below_the_threshold_is_not_relevant():
    # 0.5% more, with a spread of 0.01%: any test detects it.
    old = [100000, 100010, 99990, 100005, 99995]
    new = [value + 500 for value in old]
    assert judge_times(observe("a", old), observe("b", new), TruthSetting("mann-whitney")).changed
    relevant = judge_times(observe("a", old), observe("b", new), TruthSetting("relevant"))
    assert relevant.changed is False
    assert relevant.is_sure


def test_noise_that_hides_a_change_is_not_called_sure():
    found = judge_times(
        observe("a", [900, 1100, 1000, 800, 1200]),
        observe("b", [1000, 1250, 1150, 850, 1100]),
        TruthSetting("relevant"),
    )
    assert found.changed is False
    assert not found.is_sure


def test_fewer_than_five_executions_say_nothing():
    assert judge_times(observe("a", OLD[:4]), observe("b", OLD), TruthSetting("relevant")).changed is None


def test_executions_of_a_common_session_are_compared():
    # Between the sessions the machine became twice as slow: only the second holds both programs.
    old = observe("a", OLD) + observe("a", [2 * value for value in OLD], "two")
    new = observe("b", [2 * value for value in OLD], "two")
    assert judge_times(old, new, TruthSetting("mann-whitney")).changed is False


def test_executions_of_different_machines_are_never_compared():
    # The second machine is twice as slow. One session has both programs, but on one machine each.
    slow = [2 * value for value in OLD]
    old = on("fast", observe("a", OLD))
    assert judge_times(old, on("slow", observe("b", slow)), TruthSetting("relevant")) == UNKNOWN
    # Both machines have one program, and the slow one the other as well.
    both = old + on("slow", observe("a", slow, "two"))
    found = judge_times(both, on("slow", observe("b", slow, "three")), TruthSetting("relevant"))
    assert (found.changed, found.ratio) == (False, 1.0)


def test_instructions_that_different_machines_counted_are_never_compared():
    old, new = WorkCount("a", "bench", 100, machine="one"), WorkCount("b", "bench", 200, machine="other")
    assert judge_counts(old, new, TruthSetting("instructions")) == UNKNOWN
    assert judge_counts(old, on("one", [new])[0], TruthSetting("instructions")).changed


def test_instructions_that_were_counted_in_another_way_are_never_compared():
    old, new = WorkCount("a", "bench", 100), WorkCount("b", "bench", 200, way=COUNTED_WAY)
    assert judge_counts(old, new, TruthSetting("instructions")) == UNKNOWN
    assert judge_counts(
        msgspec.structs.replace(old, way=COUNTED_WAY), new, TruthSetting("instructions")
    ).changed


def test_counts_that_differ_by_no_more_than_those_of_one_program_have_not_changed():
    setting = TruthSetting("instructions", threshold=0.005)
    old, noisy = WorkCount("a", "bench", 1000, again=1008), WorkCount("b", "bench", 1000, again=999)
    spread = measure_spread([old, noisy, WorkCount("c", "bench", 1000), WorkCount("d", "bench", None)])
    assert spread == 0.008
    count = lambda value: WorkCount("p", "bench", value)  # noqa: E731
    told = judge_counts(old, count(1008), setting, spread)
    assert (told.changed, told.is_sure) == (False, False)
    # Below the threshold a change of its size is not excluded either.
    assert judge_counts(old, count(1001), setting, spread).is_sure is False
    assert judge_counts(old, count(991), setting, spread) == Truth(True, 0.991)
    # A spread below the threshold leaves all as it is.
    assert judge_counts(old, count(1005), setting, 0.004) == Truth(True, 1.005)
    assert judge_counts(old, count(1004), setting, 0.004) == Truth(False, 1.004)


def on(machine, items):
    return [msgspec.structs.replace(item, machine=machine) for item in items]


def test_counted_instructions_change_from_the_threshold_on():
    setting = TruthSetting("instructions")
    count = lambda value: WorkCount("p", "bench", value)  # noqa: E731
    assert judge_counts(count(100_000), count(100_100), setting).changed
    assert judge_counts(count(100_000), count(100_099), setting).changed is False
    assert judge_counts(count(100_000), count(99_900), setting).changed
    assert judge_counts(count(100_000), None, setting).changed is None


def test_the_test_of_ranks_alone_has_no_least_change_unless_one_is_set():
    assert find_threshold(TruthSetting("mann-whitney")) == 0.0
    assert find_threshold(TruthSetting("mann-whitney", threshold=0.02)) == 0.02
    assert find_threshold(TruthSetting("relevant")) == 0.01
    assert find_threshold(TruthSetting("instructions")) == 0.001
