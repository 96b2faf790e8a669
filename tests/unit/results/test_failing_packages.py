"""When a package is stopped, and what a bundle says of it: the same here and on a fleet."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from made.synthetic import answer_spec, make_bundle_folder, make_failed_record, make_record

from datamill.execution.here import PendingTrial, build_trial_spec
from datamill.protocol.trial import Failure
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.trial_summary import list_problems, summarize_trials
from datamill.results.judgement.failing_packages import FirstTrials, judge_trial, list_varied_factors

BROKEN = Failure("run", "exit_status", "run.sh exited with status 3 after 17 ms", "See its output.")


def judge(*trials: tuple[Failure | None, dict[str, str]], varied: tuple[str, ...] = ()) -> FirstTrials:
    first = FirstTrials()
    for failure, levels in trials:
        first = judge_trial(first, failure, levels, varied)
    return first


def test_three_failures_alike_stop_a_package_and_two_do_not() -> None:
    assert judge((BROKEN, {}), (BROKEN, {})).verdict == "failing"
    assert judge((BROKEN, {}), (BROKEN, {}), (BROKEN, {})).verdict == "stopped"


def test_numbers_in_a_message_make_no_other_reason() -> None:
    other = msgspec.structs.replace(BROKEN, message="run.sh exited with status 3 after 4711 ms")
    assert judge((BROKEN, {}), (other, {}), (BROKEN, {})).verdict == "stopped"


@pytest.mark.parametrize("change", [{"phase": "collect"}, {"kind": "timeout"}, {"message": "no such file"}])
def test_an_unlike_failure_clears_a_package_for_good(change: dict[str, str]) -> None:
    other = msgspec.structs.replace(BROKEN, **change)
    assert judge(*[(BROKEN, {})] * 2, (other, {}), *[(BROKEN, {})] * 9).verdict == "unlike"


def test_a_completed_trial_clears_a_package_for_good() -> None:
    assert judge((BROKEN, {}), (None, {}), *[(BROKEN, {})] * 9).verdict == "sound"


def test_a_package_is_stopped_once_no_level_can_be_to_blame() -> None:
    o0, o2 = {"optimization": "-O0", "package": "xz"}, {"optimization": "-O2", "package": "xz"}
    varied = ("optimization",)
    assert judge(*[(BROKEN, o0)] * 7, varied=varied).verdict == "failing"
    assert judge(*[(BROKEN, o0)] * 7, (BROKEN, o2), varied=varied).verdict == "stopped"
    assert list_varied_factors([o0, o2]) == {"optimization"}


def fail_some(bundle: Bundle, package: str, most: int) -> None:
    """End all trials of a bundle but those of one package: its first ones fail, the others do not run."""
    failed = 0
    records = []
    for trial in bundle.design.trials:
        spec = build_trial_spec(bundle, PendingTrial(trial, 1))
        if trial.package != package:
            records.append(answer_spec(make_record(trial.trial_id, 1), spec))
        elif failed < most:
            failed += 1
            records.append(answer_spec(make_failed_record(trial.trial_id, 1, "exit_status"), spec))
    bundle.append_records(records)


def test_a_bundle_says_first_that_a_package_failed_from_its_first_trial_on(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    bad = bundle.head.packages[0].name
    planned = sum(trial.package == bad for trial in bundle.design.trials)
    fail_some(bundle, bad, planned - 3)
    records = bundle.read_records()
    summary = summarize_trials(bundle, records, bundle.write_table(records))
    assert (summary.stopped, summary.left_out) == ((bad,), 3)
    (warning,) = (text for text in summary.warnings if "failed alike" in text)
    assert f"trials of package {bad} failed alike (run.sh exited with status 3), and 3 of its" in warning
    problems = list_problems(summary, bundle.write_table(records), bundle)
    assert any(f"3 of {len(bundle.design.trials)} trials were left out, since package {bad}" in text
               for text in problems)  # fmt: skip
    assert not any("have not run" in text for text in problems)


def test_a_bundle_whose_trials_all_ran_says_nothing_of_stopping(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    fail_some(bundle, bundle.head.packages[0].name, 10**6)
    records = bundle.read_records()
    summary = summarize_trials(bundle, records, bundle.write_table(records))
    assert (summary.stopped, summary.left_out) == ((), 0)
    assert not any("failed alike" in text for text in summary.warnings)
