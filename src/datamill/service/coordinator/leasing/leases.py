"""What all trials of a stored experiment share, read once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

import msgspec

from datamill.design.design import PlannedTrial
from datamill.experiment.experiment import Experiment
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.fleet import FileNeed, Lease, LeaseTask, Policy
from datamill.results.bundles.bundle_head import BundleHead, BundlePackage
from datamill.results.bundles.trial_spec import find_load, find_package, specify_trial
from datamill.service.coordinator.state.rows import select_rows
from datamill.service.states import TrialPurpose

_PLANNED = msgspec.json.Decoder(PlannedTrial)
_POLICY = msgspec.json.Decoder(Policy)
#: Time that a machine may take to come up again.
REBOOT_ALLOWANCE_S = 600.0
#: Time for what no limit of the experiment speaks of: packing, uploading a report, a lost connection.
MARGIN_S = 120.0
#: Slowest link over which files are expected in time.
SLOWEST_LINK_BYTES_S = 500_000.0


@dataclass(frozen=True, slots=True)
class StoredExperiment:
    """A stored experiment, parsed: `user` owns it."""

    user: str
    experiment: Experiment
    head: BundleHead


@lru_cache(maxsize=128)
def _read_stored_experiment(user: str, text: str, head: bytes) -> StoredExperiment:
    return StoredExperiment(
        user, parse_experiment(text, name="experiment.toml"), msgspec.json.decode(head, type=BundleHead)
    )


def load_stored_experiments(experiment_ids: Iterable[int]) -> dict[int, StoredExperiment]:
    """Return stored experiments by their numbers."""
    rows = select_rows(
        "SELECT e.id, u.username, e.text, e.head FROM datamill_experiment e "
        "JOIN auth_user u ON u.id = e.owner_id WHERE e.id IN {list}",
        sorted(set(experiment_ids)),
    )
    return {number: _read_stored_experiment(user, text, bytes(head)) for number, user, text, head in rows}


def has_collect(experiment_id: int, package_sha256: str) -> bool:
    """Tell whether a package of a stored experiment has a `collect.sh`."""
    packages = load_stored_experiments([experiment_id])[experiment_id].head.packages
    return all(package.has_collect for package in packages if package.sha256 == package_sha256)


def decode_planned_trial(plan: bytes) -> PlannedTrial:
    """Return the planned trial that a row of trials holds."""
    return _PLANNED.decode(plan)


@dataclass(frozen=True, slots=True)
class LeasedTrial:
    """What a lease says of a trial: a row of trials with the number of the attempt.

    `may_boot` tells that experiments may boot its machine: it may be in the boot of another one's trial, or
    of a trial of its own, when it takes one for which no reboot is asked.
    """

    key: str
    number: int
    purpose: str
    reboot: bool
    trial: PlannedTrial
    prebuilt: FileNeed | None = None
    may_boot: bool = False


def estimate_lease_s(question: StoredExperiment, leased: LeasedTrial) -> float:
    """Return the time from a lease to the deadline of its report, in seconds.

    The experiment's limits on each script and on the wait for a quiet machine, a reboot where there is one or
    may have to be, files over a slow link, and a margin.
    """
    limits = question.experiment.limits
    warmups = leased.trial.levels.get("warmups", "0")
    runs = 1 + (int(warmups) if warmups.isdigit() else 0)
    run_s = runs * limits.run_timeout_s
    if leased.purpose == TrialPurpose.PROFILE:
        run_s = limits.profile_timeout_s
    transferred = sum(file.bytes for file in list_files(question, leased)) + limits.output_bytes
    return (
        limits.setup_timeout_s
        + run_s
        + limits.collect_timeout_s
        + (REBOOT_ALLOWANCE_S if leased.reboot or leased.may_boot else 0.0)
        + (0.0 if question.experiment.quiet.when == "never" else question.experiment.quiet.limit_s)
        + transferred / SLOWEST_LINK_BYTES_S
        + MARGIN_S
    )


def lets_boot(policy: bytes) -> bool:
    """Tell whether the owner of a machine lets experiments boot it; `policy` is as it is stored."""
    allowed = _POLICY.decode(policy)
    return allowed.kernels or bool(allowed.boot_parameters)


def list_files(question: StoredExperiment, leased: LeasedTrial) -> list[FileNeed]:
    """Return the files that an attempt needs: package, load, factors, and the build made elsewhere."""
    load = find_load(question.head, leased.trial)
    packages: list[BundlePackage] = [find_package(question.head, leased.trial)]
    if load is not None:
        packages.append(load)
    files = {item.sha256: item.bytes for item in packages}
    files.update((item.sha256, item.bytes) for item in question.head.factors)
    if leased.prebuilt is not None:
        files[leased.prebuilt.sha256] = leased.prebuilt.bytes
    return [FileNeed(sha256, size) for sha256, size in files.items()]


def build_lease(question: StoredExperiment, leased: LeasedTrial) -> Lease:
    """Return the lease of an attempt, as its worker gets it."""
    tasks: dict[str, LeaseTask] = {TrialPurpose.BUILD: "build", TrialPurpose.PROFILE: "profile"}
    asked = question.experiment
    if leased.purpose == TrialPurpose.PROFILE:
        # Its script stands in the place of run.sh, and has a limit of its own.
        limits = replace(asked.limits, run_timeout_s=asked.limits.profile_timeout_s)
        asked = replace(asked, limits=limits)
    return Lease(
        attempt=leased.key,
        user=question.user,
        spec=specify_trial(
            asked,
            question.head,
            leased.trial,
            leased.number,
            locate=lambda _: "",
            rebooted=leased.reboot,
        ),
        files=tuple(list_files(question, leased)),
        reboot=leased.reboot,
        expected_s=estimate_lease_s(question, leased),
        live_output=leased.purpose == TrialPurpose.DEBUG,
        task=tasks.get(leased.purpose, "trial"),
        prebuilt=leased.prebuilt,
    )
