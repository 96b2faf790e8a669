"""The order of execution of a sequential experiment, seen through a stand-in for the worker."""

import json
from itertools import chain
from pathlib import Path

import msgspec
import numpy as np
import pytest
from made.synthetic import answer_spec, make_bundle_folder, make_failed_record, make_phase, make_record

from datamill.conduct.running.batches import Monitor
from datamill.design.batches import FEWEST_ROUNDS
from datamill.execution.here import (
    list_pending_trials,
    list_shared_builds,
    make_shared_builds,
    run_pending_trials,
)
from datamill.experiment.errors import InputError
from datamill.protocol.trial import TrialRecord, TrialSpec
from datamill.results.bundles.bundle import Bundle

TEXT = """
[experiment]
name = "synthetic"
seed = 7
[[package]]
name = "a"
path = "a"
[[package]]
name = "b"
path = "b"
[replication]
{replication}
until = {until}
"""
DETECT = '{ detect = "10%" }'


class StandIn:
    """Times packages as told, with noise, and notes in which order things happen."""

    def __init__(
        self, bundle: Bundle, times: dict[str, float], noise: float = 0.01, fail: tuple[str, ...] = ()
    ) -> None:
        self.bundle = bundle
        self.times = times
        self.noise = noise
        self.fail = fail
        self.story: list[str] = []

    def run_trial(self, spec: TrialSpec) -> TrialRecord:
        looks = len(self.bundle.read_decisions())
        self.story.append(f"trial of {spec.package.name} after {looks} looks")
        if spec.trial_id in self.fail:
            return answer_spec(make_failed_record(spec.trial_id, spec.attempt), spec)
        # The same trial takes the same time, whoever runs it and however often it was interrupted.
        noise = 1 + self.noise * np.random.default_rng(spec.seed).standard_normal()
        wall_time_ns = int(1e9 * self.times[spec.package.name] * noise)
        return answer_spec(make_record(spec.trial_id, spec.attempt, run=make_phase(wall_time_ns)), spec)

    def build_package(self, spec: TrialSpec) -> None:
        self.story.append(f"build of {spec.package.name}")

    def restore_host(self) -> list[str]:
        return []

    def stop(self) -> None:
        raise AssertionError("nothing was interrupted")


def make(
    folder: Path, replication: str = "builds = 2\nexecutions = 2\nmax_trials = 400", until: str = DETECT
) -> Bundle:
    return make_bundle_folder(folder, TEXT.format(replication=replication, until=until))


def run_all(bundle: Bundle, runner: StandIn, *, most: int = 10**9) -> list[str]:
    """Run what is pending and return the decisions; `most` records are let through."""
    records = bundle.read_records()
    monitor = Monitor(bundle, records)
    said: list[str] = []

    def prepare(items) -> None:
        make_shared_builds(bundle, list_shared_builds(bundle, items), runner, lambda *_: None)

    trials = monitor.feed_trials(
        list_pending_trials(bundle, records), prepare, lambda decision: said.append(decision.cause)
    )
    ended = 0
    for _, record in run_pending_trials(bundle, trials, runner):
        if record is not None:
            monitor.add_record(record)
            ended += 1
            if ended == most:
                break
    return said


def test_a_batch_is_built_and_measured_and_looked_at_before_the_next_is_built(tmp_path: Path) -> None:
    bundle = make(tmp_path / "bundle")
    runner = StandIn(bundle, {"a": 1.0, "b": 1.2})
    said = run_all(bundle, runner)
    assert said == ["not yet"] * (FEWEST_ROUNDS - 2) + ["changed"]
    stages = ["build" if step.startswith("build") else step.split()[-2] for step in runner.story]
    first = [*["build"] * 4, *["0"] * 8]
    later = [[*["build"] * 2, *[str(look)] * 4] for look in range(1, FEWEST_ROUNDS - 1)]
    assert stages == [*first, *chain.from_iterable(later)]


def test_values_that_a_coarse_clock_makes_equal_are_known_to_a_step_of_it(tmp_path: Path) -> None:
    rule = "executions = 15\nmax_trials = 34"
    fine = make(tmp_path / "fine", rule, until='{ half_width = "1%" }')
    assert run_all(fine, StandIn(fine, {"a": 1.23, "b": 1.24}, noise=0.0)) == ["precise"]
    coarse = make(tmp_path / "coarse", rule, until='{ half_width = "0.5%" }')
    said = run_all(coarse, StandIn(coarse, {"a": 1.23, "b": 1.24}, noise=0.0))
    assert said == ["not yet", "not yet", "max_trials"]
    last = coarse.read_decisions()[-1]
    assert last.intervals[0].half_width == pytest.approx(0.01 / 1.23)
    assert any("steps of 0.01, which hide how much they vary" in warning for warning in last.warnings)


def test_after_a_stop_nothing_is_pending_and_resuming_decides_nothing_more(tmp_path: Path) -> None:
    bundle = make(tmp_path / "bundle")
    run_all(bundle, StandIn(bundle, {"a": 1.0, "b": 1.2}))
    written = bundle.decisions_file.read_bytes()
    assert list_pending_trials(bundle, bundle.read_records()) == []
    assert len(bundle.list_needed_trials()) == 60 < len(bundle.design.trials)
    again = StandIn(bundle, {"a": 1.0, "b": 1.2})
    assert run_all(bundle, again) == []
    assert (again.story, bundle.decisions_file.read_bytes()) == ([], written)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """What was never interrupted; only to be read."""
    bundle = make(tmp_path_factory.mktemp("whole") / "bundle")
    run_all(bundle, StandIn(bundle, {"a": 1.0, "b": 1.2}))
    return bundle


@pytest.mark.parametrize("most", [*range(1, 13), 23, 24, 25, 59, 60])
def test_interrupted_anywhere_it_comes_to_the_same_decisions(
    whole: Bundle, tmp_path: Path, most: int
) -> None:
    broken = make(tmp_path / "broken")
    times = {"a": 1.0, "b": 1.2}
    run_all(broken, StandIn(broken, times), most=most)
    run_all(broken, StandIn(broken, times))
    assert broken.decisions_file.read_bytes() == whole.decisions_file.read_bytes()
    assert broken.log_file.read_bytes() == whole.log_file.read_bytes()


@pytest.mark.parametrize("lost", [1, 2, 4])
def test_decisions_that_were_lost_are_made_again_from_the_log(tmp_path: Path, lost: int) -> None:
    bundle = make(tmp_path / "bundle")
    run_all(bundle, StandIn(bundle, {"a": 1.0, "b": 1.2}))
    whole = bundle.decisions_file.read_bytes()
    lines = whole.splitlines(keepends=True)
    torn = lines[-lost][:20]
    bundle.decisions_file.write_bytes(b"".join(lines[:-lost]) + torn)
    runner = StandIn(bundle, {"a": 1.0, "b": 1.2})
    run_all(bundle, runner)
    assert bundle.decisions_file.read_bytes() == whole
    assert runner.story == []


def test_a_bound_on_trials_ends_it_with_all_that_was_planned(tmp_path: Path) -> None:
    bundle = make(tmp_path / "bundle", "executions = 3\nmax_trials = 30")
    runner = StandIn(bundle, {"a": 1.0, "b": 1.05}, noise=0.3)
    assert run_all(bundle, runner)[-1] == "max_trials"
    assert len(bundle.read_records()) == len(bundle.design.trials) == 30


def test_a_bound_on_time_counts_what_trials_took_and_begins_no_batch_beyond_it(tmp_path: Path) -> None:
    # Every made-up record says that its trial took one second.
    bundle = make(tmp_path / "bundle", 'executions = 5\nmax_time = "15 s"')
    runner = StandIn(bundle, {"a": 1.0, "b": 1.05}, noise=0.3)
    run_all(bundle, runner, most=7)
    assert run_all(bundle, runner)[-1] == "max_time"
    last = bundle.read_decisions()[-1]
    assert (last.trials, last.elapsed_s) == (14, 14.0)


def test_a_failed_trial_takes_its_round_out_and_the_decision_says_so(tmp_path: Path) -> None:
    bundle = make(tmp_path / "bundle", "max_trials = 400")
    failed = next(trial.trial_id for trial in bundle.design.trials if trial.replicate == 2)
    assert run_all(bundle, StandIn(bundle, {"a": 1.0, "b": 1.2}, fail=(failed,)))[-1] == "changed"
    last = bundle.read_decisions()[-1]
    assert last.intervals[0].rounds == last.trials // 2 - 1
    assert "1 of " in last.warnings[0]


def test_failures_in_a_row_stop_it_though_they_are_of_several_batches(tmp_path: Path) -> None:
    bundle = make(tmp_path / "bundle", "max_trials = 400")
    everything = tuple(trial.trial_id for trial in bundle.design.trials)

    class Fickle(StandIn):
        def run_trial(self, spec: TrialSpec) -> TrialRecord:
            record = super().run_trial(spec)
            assert record.failure is not None
            failure = msgspec.structs.replace(record.failure, message="no " + "x" * len(self.story))
            return msgspec.structs.replace(record, failure=failure)

    with pytest.raises(InputError, match="5 trials failed in a row"):
        run_all(bundle, Fickle(bundle, {"a": 1.0, "b": 1.2}, fail=everything))
    assert [decision.cause for decision in bundle.read_decisions()] == ["not yet"]


def test_damaged_decisions_are_refused_with_their_line(tmp_path: Path) -> None:
    bundle = make(tmp_path / "bundle")
    run_all(bundle, StandIn(bundle, {"a": 1.0, "b": 1.2}))
    lines = bundle.decisions_file.read_text().splitlines()
    bundle.decisions_file.write_text("\n".join([lines[0], "{}", *lines[2:]]) + "\n")
    with pytest.raises(InputError, match=r"decisions\.jsonl:2"):
        list_pending_trials(bundle, [])
    bundle.decisions_file.write_text("\n".join([lines[0], *lines[2:]]) + "\n")
    with pytest.raises(InputError, match="look 2 was to follow"):
        list_pending_trials(bundle, [])


def test_a_decision_holds_what_a_reader_needs_to_check_it(tmp_path: Path) -> None:
    bundle = make(tmp_path / "bundle")
    run_all(bundle, StandIn(bundle, {"a": 1.0, "b": 1.2}))
    last = json.loads(bundle.decisions_file.read_text().splitlines()[-1])
    assert last["look"] == 14
    assert last["trials"] == 60
    assert last["decision"] == "stop"
    assert last["rule"].startswith("until the packages differ (alpha 0.05)")
    assert last["intervals"][0]["rounds"] == 15
