"""The order of execution, seen through a stand-in for the worker."""

import dataclasses
from pathlib import Path

import msgspec
import pytest
from made.synthetic import (
    EXPERIMENT,
    answer_spec,
    make_bundle_folder,
    make_failed_record,
    make_phase,
    make_record,
)

from datamill.execution.errors import WorkerError, WorkerKilledError
from datamill.execution.here import (
    MOST_ATTEMPTS,
    list_pending_trials,
    list_shared_builds,
    make_shared_builds,
    run_pending_trials,
)
from datamill.experiment.errors import InputError
from datamill.protocol.trial import DisturbanceFacts, TrialRecord, TrialSpec
from datamill.results.bundles.bundle_head import BundleFactor, BundlePackage


class StandIn:
    """Ends every trial as told, and remembers what it was asked for."""

    def __init__(self, fail: tuple[str, ...] = (), kind: str = "exit_status") -> None:
        self.fail = fail
        self.kind = kind
        self.specs: list[TrialSpec] = []
        self.built: list[TrialSpec] = []

    def run_trial(self, spec: TrialSpec) -> TrialRecord:
        self.specs.append(spec)
        if spec.trial_id in self.fail or "all" in self.fail:
            return answer_spec(make_failed_record(spec.trial_id, spec.attempt, self.kind), spec)
        return answer_spec(make_record(spec.trial_id, spec.attempt), spec)

    def build_package(self, spec: TrialSpec) -> None:
        self.built.append(spec)
        if spec.levels["optimization"] == "-O0":
            raise WorkerError("setup.sh exited with status 1")

    def restore_host(self) -> list[str]:
        return []

    def stop(self) -> None:
        raise AssertionError("nothing was interrupted")


def run_all(bundle, runner, **options) -> None:
    pending = list_pending_trials(
        bundle, bundle.read_records(), retry_failed=options.pop("retry_failed", False)
    )
    for _ in run_pending_trials(bundle, pending, runner, **options):
        pass


def test_trials_run_in_the_designs_order_and_each_is_on_disk_before_the_next(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    runner = StandIn()
    pending = list_pending_trials(bundle, [])
    for number, (item, record) in enumerate(run_pending_trials(bundle, pending, runner)):
        assert len(bundle.read_records()) == (number + 1) // 2
        assert (record is None) == (number % 2 == 0)
        assert item.attempt == 1
    assert [spec.trial_id for spec in runner.specs] == [trial.trial_id for trial in bundle.design.trials]


def test_a_specification_holds_the_planned_levels_and_no_path_that_varies(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    runner = StandIn()
    run_all(bundle, runner)
    for spec, trial in zip(runner.specs, bundle.design.trials, strict=True):
        assert spec.levels == {name: trial.levels[name] for name in ("optimization", "aslr")}
        assert spec.package.name == trial.package
    assert len({spec.scratch_dir for spec in runner.specs}) == 1
    assert len({len(spec.output_dir) for spec in runner.specs}) == 1


def test_an_interrupted_experiment_continues_where_it_stopped(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    first, second = StandIn(), StandIn()
    for number, _ in enumerate(run_pending_trials(bundle, list_pending_trials(bundle, []), first)):
        if number == 9:
            break
    run_all(bundle, second)
    assert [spec.trial_id for spec in first.specs + second.specs] == [
        t.trial_id for t in bundle.design.trials
    ]


def test_a_package_that_fails_is_done_and_only_retried_when_asked(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    broken = bundle.design.trials[3].trial_id
    run_all(bundle, StandIn(fail=(broken,)))
    assert list_pending_trials(bundle, bundle.read_records()) == []
    again = StandIn()
    run_all(bundle, again, retry_failed=True)
    assert [(spec.trial_id, spec.attempt) for spec in again.specs] == [(broken, 2)]


def test_a_host_that_fails_is_given_a_limited_number_of_attempts(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    unlucky = bundle.design.trials[3].trial_id
    attempts = []
    for _ in range(MOST_ATTEMPTS + 2):
        runner = StandIn(fail=(unlucky,), kind="disk_full")
        run_all(bundle, runner)
        attempts += [spec.attempt for spec in runner.specs if spec.trial_id == unlucky]
    assert attempts == list(range(1, MOST_ATTEMPTS + 1))


def test_failures_in_a_row_stop_the_experiment_with_the_reason(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    runner = StandIn(fail=("all",))
    with pytest.raises(InputError, match="5 trials failed in a row; the last one: run"):
        run_all(bundle, runner)
    assert len(runner.specs) == len(bundle.read_records()) == 5
    run_all(bundle, runner, keep_going=True)
    assert len(bundle.read_records()) == len(bundle.design.trials)


class Broken(StandIn):
    """Fails all trials of one package, or those of them that have a level."""

    def __init__(self, package: str, **levels: str) -> None:
        super().__init__()
        self.package, self.levels = package, levels

    def run_trial(self, spec: TrialSpec) -> TrialRecord:
        wrong = spec.package.name == self.package and self.levels.items() <= spec.levels.items()
        self.fail = ("all",) if wrong else ()
        return super().run_trial(spec)


def test_a_package_whose_first_trials_failed_alike_is_stopped_and_the_others_go_on(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    bad, good = (package.name for package in bundle.head.packages)
    runner = Broken(bad)
    heard = []
    run_all(bundle, runner, on_stop=heard.append)
    tried = [spec.package.name for spec in runner.specs]
    assert [stopped.package for stopped in heard] == [bad]
    assert heard[0].failures == tried.count(bad) < tried.count(good)
    assert tried.count(good) == sum(trial.package == good for trial in bundle.design.trials)
    assert heard[0].message == "run.sh exited with status 3"

    # Whoever mended it goes on with what is left.
    left = list_pending_trials(bundle, bundle.read_records())
    assert {item.trial.package for item in left} == {bad}
    run_all(bundle, StandIn())
    assert list_pending_trials(bundle, bundle.read_records()) == []


def test_a_package_that_fails_at_one_level_alone_is_not_stopped(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    bad = bundle.head.packages[0].name
    heard: list = []
    runner = Broken(bad, optimization="-O0")
    run_all(bundle, runner, on_stop=heard.append)
    assert heard == []
    assert len(runner.specs) == len(bundle.design.trials)


def test_a_package_that_worked_before_it_was_resumed_is_not_stopped(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    bad = bundle.head.packages[0].name
    planned = [trial.trial_id for trial in bundle.design.trials if trial.package == bad]
    run_all(bundle, StandIn(fail=tuple(planned[1:5])), keep_going=True)
    heard: list = []
    run_all(bundle, Broken(bad), retry_failed=True, on_stop=heard.append)
    assert heard == []


def test_failures_for_unlike_reasons_stop_no_package(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    bad = bundle.head.packages[0].name
    reasons = iter("abcdefghijklmnopqrstuvwxyz" * 9)

    class Fickle(Broken):
        def run_trial(self, spec: TrialSpec) -> TrialRecord:
            record = super().run_trial(spec)
            if record.failure is None:
                return record
            failure = msgspec.structs.replace(record.failure, message=f"no {next(reasons)} here")
            return msgspec.structs.replace(record, failure=failure)

    heard: list = []
    run_all(bundle, Fickle(bad), on_stop=heard.append)
    assert heard == []


def test_a_stopped_package_goes_on_where_that_is_asked_for(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    runner = Broken(bundle.head.packages[0].name)
    run_all(bundle, runner, keep_going=True)
    assert len(runner.specs) == len(bundle.design.trials)


def test_a_name_that_the_package_does_not_report_stops_at_its_first_trial(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle", EXPERIMENT.replace("input_bytes", "input_byte"))
    runner = StandIn()
    with pytest.raises(InputError, match='Did you mean "input_bytes"') as caught:
        run_all(bundle, runner)
    assert '"input_byte"' in str(caught.value)
    assert len(runner.specs) == len(bundle.read_records()) == 1


def test_a_counter_that_the_machine_lacks_is_said_with_the_reason(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle", EXPERIMENT.replace("output_bytes", "cycles"))
    with pytest.raises(InputError, match="cannot count: this machine has no such counter"):
        run_all(bundle, StandIn())


def test_a_metric_may_not_take_the_name_of_a_built_in_response(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")

    class Liar(StandIn):
        def run_trial(self, spec: TrialSpec) -> TrialRecord:
            metrics = {"input_bytes": (1.0,), "output_bytes": (1.0,), "wall_time_s": (1e-9,)}
            return answer_spec(make_record(spec.trial_id, metrics=metrics, run=make_phase()), spec)

    with pytest.raises(InputError, match='"wall_time_s", which is built in'):
        run_all(bundle, Liar())


def test_shared_builds_are_made_once_for_each_combination_of_build_factors(tmp_path: Path) -> None:
    text = EXPERIMENT.replace("seed = 7", 'seed = 7\nbuild = "shared"')
    bundle = make_bundle_folder(tmp_path / "bundle", text)
    builds = list_shared_builds(bundle, list_pending_trials(bundle, []))
    assert len(builds) == 2 * 2
    runner = StandIn()
    heard: dict[str, str] = {}
    make_shared_builds(
        bundle, builds, runner, lambda item, problem: heard.update({item.trial.trial_id: problem})
    )
    assert len(runner.built) == len(heard) == 4
    assert len({spec.scratch_dir for spec in runner.built}) == 4, "builds run side by side"
    assert sorted(heard.values()) == [
        "",
        "",
        "setup.sh exited with status 1",
        "setup.sh exited with status 1",
    ]


def test_fresh_builds_are_left_to_the_trials(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    assert list_shared_builds(bundle, list_pending_trials(bundle, [])) == []


class Mortal(StandIn):
    """Is killed in the first attempts to run a trial, and remembers when the host was restored."""

    def __init__(self, deaths: int) -> None:
        super().__init__()
        self.deaths = deaths
        self.story: list[str] = []

    def run_trial(self, spec: TrialSpec) -> TrialRecord:
        self.story.append("run")
        if self.deaths:
            self.deaths -= 1
            raise WorkerKilledError("was killed by signal 9")
        return super().run_trial(spec)

    def restore_host(self) -> list[str]:
        self.story.append("restore")
        return []


def test_the_host_is_restored_after_a_worker_was_killed_and_the_trial_is_run_again(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    runner = Mortal(deaths=1)
    run_all(bundle, runner)
    assert runner.story[:4] == ["run", "restore", "run", "run"]
    assert len(bundle.read_records()) == len(bundle.design.trials)


def test_a_worker_that_is_killed_again_ends_the_experiment_with_the_host_restored(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    runner = Mortal(deaths=2)
    with pytest.raises(WorkerKilledError):
        run_all(bundle, runner)
    assert runner.story == ["run", "restore", "run", "restore"]
    assert bundle.read_records() == []


def test_a_specification_holds_drawn_levels_and_what_the_experiment_brings_along(tmp_path: Path) -> None:
    text = EXPERIMENT.replace(
        "[factors]",
        '[nuisance]\nenv_padding = { randomise = "0..4096" }\n[[load]]\nname = "busy"\npath = "b"\n'
        '[[factor]]\npath = "f"\n[factors]\nmine = ["1"]\nbackground_load = ["none", "busy"]',
    )
    bundle = make_bundle_folder(tmp_path / "bundle", text)
    head = msgspec.structs.replace(
        bundle.head,
        loads=(BundlePackage("busy", "loads/busy.tar.gz", "1" * 64, 0, 2, False),),
        factors=(BundleFactor("mine", "factors/mine.tar.gz", "2" * 64, 0, "of mine"),),
    )
    bundle = dataclasses.replace(bundle, head=head)
    runner = StandIn()
    run_all(bundle, runner)
    for spec, trial in zip(runner.specs, bundle.design.trials, strict=True):
        assert spec.levels == {name: level for name, level in trial.levels.items() if name != "package"}
        assert spec.levels["mine"] == "1"
        assert [factor.sha256 for factor in spec.user_factors] == ["2" * 64]
        assert (spec.background is not None) == (spec.levels["background_load"] == "busy")
        if spec.background is not None:
            assert spec.background.path == str((bundle.folder / "loads/busy.tar.gz").absolute())
    assert len({spec.levels["env_padding"] for spec in runner.specs}) > 10


def test_doubtful_trials_are_repeated_a_limited_number_of_times_and_only_when_asked(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    noisy = bundle.design.trials[3].trial_id

    class Noisy(StandIn):
        def run_trial(self, spec: TrialSpec) -> TrialRecord:
            record = super().run_trial(spec)
            swapped = 7 if spec.trial_id == noisy else 0
            return msgspec.structs.replace(record, disturbance=DisturbanceFacts(swapped_pages=swapped))

    run_all(bundle, Noisy())
    assert list_pending_trials(bundle, bundle.read_records()) == []
    attempts = []
    while pending := list_pending_trials(bundle, bundle.read_records(), repeat_doubtful=True):
        assert [item.trial.trial_id for item in pending] == [noisy]
        attempts += [item.attempt for item in pending]
        for _ in run_pending_trials(bundle, pending, Noisy()):
            pass
    assert attempts == list(range(2, MOST_ATTEMPTS + 1))
