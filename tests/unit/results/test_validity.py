"""Judgements on records."""

from made.synthetic import make_failed_record, make_phase, make_record

from datamill.protocol.trial import Accelerator, FactorFacts, Failure, GuestFacts, IsolationFacts
from datamill.results.judgement.validity import (
    count_trials_once,
    explain_exclusion,
    list_warnings,
    wants_another_attempt,
)


def test_a_factor_that_nothing_shows_to_be_set_is_reported_as_not_effective() -> None:
    facts = (FactorFacts("optimization", "-O2", None, "no compilation passed through the wrapper"),)
    records = [make_record("t1", factors=facts), make_record("t2")]
    warnings = list_warnings(records)
    assert len(warnings) == 1
    assert "factor optimization was not effective for package a" in warnings[0]
    assert "1 of 1 trials" in warnings[0]
    assert explain_exclusion(records[0], count_trials_once(records)) == ""


def test_an_observation_at_another_level_than_planned_is_excluded() -> None:
    facts = (FactorFacts("aslr", "off", "on", "two addresses differ"),)
    record = make_record("t1", factors=facts)
    assert explain_exclusion(record, count_trials_once([record])) == "aslr was on, not off as planned"
    assert "had another level than planned in 1 of 1 trials" in list_warnings([record])[0]


def test_a_clean_record_gives_no_warning() -> None:
    assert list_warnings([make_record("t1"), make_record("t2")]) == ()


def test_a_notice_is_counted_among_the_trials_of_its_package() -> None:
    told = "run.sh inherited niceness 10."
    records = [make_record(f"t{n}", package="gzip", notices=(told,)) for n in range(2)]
    records += [make_record("t3", package="bzip2", notices=(told,)), make_record("t4", package="bzip2")]
    warnings = list_warnings(records)
    assert f"all trials of package gzip: {told}" in warnings
    assert f"1 of 2 trials of package bzip2: {told}" in warnings


def test_processes_left_behind_are_reported() -> None:
    assert (
        "left processes behind in 1 trials"
        in list_warnings([make_record("t1", run=make_phase(left_processes=1))])[0]
    )


def test_a_trial_whose_time_ran_out_says_so_once() -> None:
    words = "run.sh exceeded its 1 s and was killed with everything it had started."
    record = make_record(
        "t1",
        outcome="timed_out",
        failure=Failure("run", "timeout", words, "Raise the limit."),
        run=make_phase(exit_code=None, signal=9, timed_out=True, left_processes=1),
        collect=None,
        metrics={},
    )
    assert explain_exclusion(record, count_trials_once([record])) == words
    assert list_warnings([record]) == (), "what was killed with it was not left behind"


def test_a_peak_that_the_launcher_may_have_left_is_said_to_be_a_bound() -> None:
    record = make_record("t1", run=make_phase(peak_memory_bytes=1 << 20))
    warnings = list_warnings([record], used_names={"peak_memory_bytes"})
    assert "the peak memory of package a is only an upper bound in 1 trials" in warnings[0]
    assert list_warnings([record], used_names={"wall_time_s"}) == ()


def test_only_failures_of_the_host_are_attempted_again() -> None:
    assert wants_another_attempt(make_failed_record("t1", kind="disk_full"))
    assert wants_another_attempt(make_record("t1", outcome="lost", run=None))
    assert not wants_another_attempt(make_failed_record("t1", kind="exit_status"))
    assert not wants_another_attempt(make_record("t1"))


def test_a_completed_attempt_counts_before_any_failed_one() -> None:
    records = [make_failed_record("t1", 1, "internal"), make_record("t1", 2), make_failed_record("t1", 3)]
    assert count_trials_once(records).counted == {"t1": 2}
    assert count_trials_once([records[0], records[2]]).counted == {"t1": 3}


def test_times_of_unlike_guests_are_warned_about() -> None:
    def isolate(accelerator: Accelerator) -> IsolationFacts:
        return IsolationFacts("guest", "", guest=GuestFacts(accelerator, "6.1", 1, 1 << 30))

    alike = [make_record(name, isolation=isolate("tcg")) for name in ("t1", "t2")]
    assert list_warnings(alike) == ()
    (warning,) = list_warnings([*alike, make_record("t3", isolation=isolate("kvm"))])
    assert "tcg with Linux 6.1 and 1 processors in 2, kvm" in warning
