"""Whether a lease is what was planned: levels, seed, reboot, build, files, limits, for whom and how long."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from simulation.evidence.plans import ExpectedTrial, Plan
from simulation.users.experiments import BACKGROUND_LOAD, NO_LOAD

from datamill.protocol.fleet import ArtifactFile, Lease
from datamill.protocol.trial import SCHEMA_VERSION

#: The file of a build that was made elsewhere.
BUILD_FILE = "build.tar.gz"
#: Time that a machine may take to come up again before a trial, in seconds.
REBOOT_S = 600.0
#: Factors that a trial has by where and of what it is.
GIVEN = ("package", "machine")


class LeaseJudge:
    """Compares leases with plans.

    Args:
        read: reads tables past Django.
        object_to: takes what is wrong, as a sentence.
    """

    def __init__(self, read: Callable[..., list[tuple[Any, ...]]], object_to: Callable[[str], None]) -> None:
        self._read = read
        self._object = object_to
        self.plans: dict[int, Plan] = {}
        #: Files that each attempt truly produced.
        self.produced: dict[str, list[ArtifactFile]] = defaultdict(list)
        #: Trials that went to another worker, by experiment and name.
        self.moved: set[tuple[int, str]] = set()

    def judge(self, worker_id: str, lease: Lease, *, saw_moves: bool) -> None:
        """Check a lease that went out to a worker; without `saw_moves` its trial may have moved unseen."""
        experiment, trial_id, number = lease.attempt.split(".")
        plan = self.plans.get(int(experiment))
        expected = plan.trials.get(trial_id) if plan else None
        if plan is None or expected is None:
            self._object(f"{lease.attempt} was leased and never planned")
            return
        told = _list_told(lease)
        planned = _list_planned(plan, expected, int(number))
        if lease.prebuilt is not None:
            planned["files"] = sorted([*planned["files"], (lease.prebuilt.sha256, lease.prebuilt.bytes)])
        for name, value in planned.items():
            if told[name] != value:
                self._object(f"the lease of {lease.attempt} has {name} {told[name]!r}, planned {value!r}")
        if saw_moves or plan.experiment.fleet.reboot != "block":
            self._judge_reboot(worker_id, lease, plan, expected, int(experiment))
        self._judge_build(lease, expected, int(experiment))
        self._judge_time(worker_id, lease)

    def _judge_reboot(
        self, worker_id: str, lease: Lease, plan: Plan, expected: ExpectedTrial, experiment: int
    ) -> None:
        name = (experiment, expected.trial.trial_id)
        is_in_block = plan.experiment.fleet.reboot == "block" and expected.purpose == "design"
        # Who takes over a trial of a block has not rebooted for it, and others may have between two.
        if is_in_block and self._follows_another(worker_id, lease.attempt, experiment):
            self.moved.add(name)
        wanted = expected.reboot or (name in self.moved and plan.experiment.fleet.reboot == "block")
        if lease.reboot != wanted:
            self._object(f"the lease of {lease.attempt} says reboot {lease.reboot}, planned {wanted}")

    def _follows_another(self, worker_id: str, attempt: str, experiment: int) -> bool:
        """Tell whether a worker's attempt before this one was another experiment's."""
        rows = self._read(
            "SELECT t.experiment_id FROM datamill_attempt a JOIN datamill_trial t ON t.id = a.trial_id"
            " WHERE a.worker_id = ? AND a.id < (SELECT l.id FROM datamill_attempt l WHERE l.key = ?)"
            " ORDER BY a.id DESC LIMIT 1",
            (worker_id, attempt),
        )
        return bool(rows) and rows[0][0] != experiment

    def _judge_build(self, lease: Lease, expected: ExpectedTrial, experiment: int) -> None:
        if not expected.build:
            if lease.prebuilt is not None:
                self._object(f"{lease.attempt} was given a build and is to build itself")
            return
        counted = self._read(
            "SELECT a.key, a.outcome FROM datamill_attempt a JOIN datamill_trial t ON t.id = a.trial_id"
            " WHERE t.experiment_id = ? AND t.trial_id = ? AND a.state = 'counted'",
            (experiment, expected.build),
        )
        builds = {
            (item.sha256, item.bytes)
            for key, outcome in counted
            for item in self.produced[key]
            if outcome == "completed" and item.name == BUILD_FILE
        }
        given = (lease.prebuilt.sha256, lease.prebuilt.bytes) if lease.prebuilt else None
        if given in builds or (given is None and not builds and not counted):
            return
        # A build that was given up may still come in; by then its trials build themselves.
        ended = self._read(
            "SELECT 1 FROM datamill_event WHERE experiment_id = ? AND kind IN ('trial given up',"
            " 'build missing') AND (attempt LIKE ? OR detail LIKE ?)",
            (experiment, f"{experiment}.{expected.build}.%", f"{expected.build} %"),
        )
        if given is not None or not ended:
            self._object(f"{lease.attempt} was given the build {given} and needs one of {sorted(builds)}")

    def _judge_time(self, worker_id: str, lease: Lease) -> None:
        limits = lease.spec.limits
        least_s = limits.setup_timeout_s + limits.run_timeout_s + limits.collect_timeout_s
        if lease.expected_s < least_s + (REBOOT_S if lease.reboot else 0.0):
            self._object(f"{lease.attempt} has {lease.expected_s} s, its scripts alone may take {least_s}")
        for holder, state, leased_s, deadline_s in self._read(
            "SELECT worker_id, state, leased_unix_s, deadline_unix_s FROM datamill_attempt WHERE key = ?",
            (lease.attempt,),
        ):
            if holder != worker_id:
                self._object(f"{lease.attempt} of {holder} was sent to {worker_id}")
            if state == "leased" and abs(deadline_s - leased_s - lease.expected_s) > 1.0:
                self._object(
                    f"{lease.attempt} was given {lease.expected_s} s and is overdue after "
                    f"{deadline_s - leased_s} s"
                )


def _list_told(lease: Lease) -> dict[str, Any]:
    """What a lease says, under the names of what is planned."""
    spec = lease.spec
    background = spec.background
    return {
        "schema": spec.schema,
        "user": lease.user,
        "experiment": spec.experiment,
        "trial": spec.trial_id,
        "attempt": spec.attempt,
        "package": (spec.package.name, spec.package.path, spec.package.sha256),
        "levels": spec.levels,
        "isolation": spec.isolation,
        "build": spec.build,
        "seed": spec.seed,
        "build seed": spec.build_seed,
        "measurements": (spec.measurements, spec.warmup),
        "limits": {name: getattr(spec.limits, name) for name in LIMITS},
        "needs": (spec.needs.network, spec.needs.privileged, spec.needs.devices, spec.needs.kernel),
        "covered": spec.covered,
        "folders": (spec.scratch_dir, spec.cache_dir, spec.output_dir),
        "load": (background.name, background.path, background.sha256) if background else None,
        "factors": [(item.name, item.path, item.sha256) for item in spec.user_factors],
        "files": sorted((need.sha256, need.bytes) for need in lease.files),
        "live output": lease.live_output,
        "task": lease.task,
    }


LIMITS = (
    "setup_timeout_s", "run_timeout_s", "collect_timeout_s", "output_bytes", "archive_bytes",
    "package_bytes", "package_files", "world_bytes", "processes", "memory_bytes", "descriptors",
)  # fmt: skip


def _list_planned(plan: Plan, expected: ExpectedTrial, number: int) -> dict[str, Any]:
    """What the lease of an attempt has to say."""
    experiment, head, trial = plan.experiment, plan.submitted.head, expected.trial
    package = next(item for item in head.packages if item.name == trial.package)
    wanted = trial.levels.get(BACKGROUND_LOAD, NO_LOAD)
    load = next((item for item in head.loads if item.name == wanted), None)
    needs = [item.needs for item in experiment.packages if item.name == trial.package]
    needs += [item.needs for item in experiment.loads if item.name == wanted]
    limits = experiment.limits
    if expected.purpose == "profile":
        limits = replace(limits, run_timeout_s=limits.profile_timeout_s)
    return {
        "schema": SCHEMA_VERSION,
        "user": plan.submitted.owner,
        "experiment": experiment.name,
        "trial": trial.trial_id,
        "attempt": number,
        "package": (package.name, "", package.sha256),
        "levels": {name: level for name, level in trial.levels.items() if name not in GIVEN},
        "isolation": experiment.isolation,
        "build": experiment.build,
        "seed": trial.seed,
        "build seed": trial.build_seed,
        "measurements": (trial.measurements, trial.warmup),
        "limits": {name: getattr(limits, name) for name in LIMITS},
        "needs": (
            any(item.network for item in needs),
            any(item.privileged for item in needs),
            tuple(sorted({device for item in needs for device in item.devices})),
            tuple(sorted({interface for item in needs for interface in item.kernel})),
        ),
        "covered": (),
        "folders": ("", "", ""),
        "load": (load.name, "", load.sha256) if load else None,
        "factors": [(item.name, "", item.sha256) for item in head.factors],
        "files": sorted(plan.list_files(trial.trial_id).items()),
        "live output": expected.purpose == "debug",
        "task": expected.purpose if expected.purpose in ("build", "profile") else "trial",
    }
