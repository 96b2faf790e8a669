"""From a planned trial to the specification that a worker gets: here or on a fleet."""

from __future__ import annotations

from collections.abc import Callable

from datamill.design.design import PlannedTrial
from datamill.design.machines import BUILD_FOR
from datamill.experiment.experiment import Experiment, Limits, QuietChoice
from datamill.experiment.factors.catalogue import BACKGROUND_LOAD, NO_LOAD
from datamill.protocol.quiet import QuietRule
from datamill.protocol.trial import (
    SCHEMA_VERSION,
    Needs,
    PackageSpec,
    TrialLimits,
    TrialSpec,
    UserFactorSpec,
)
from datamill.results.bundles.bundle_head import BundleFactor, BundleHead, BundlePackage
from datamill.results.trials.record_checks import list_set_levels


def specify_trial(
    experiment: Experiment,
    head: BundleHead,
    trial: PlannedTrial,
    attempt: int,
    *,
    locate: Callable[[BundlePackage | BundleFactor], str],
    scratch_dir: str = "",
    cache_dir: str = "",
    output_dir: str = "",
    covered: tuple[str, ...] = (),
    rebooted: bool = False,
) -> TrialSpec:
    """Return the specification of an attempt at a planned trial.

    `locate` gives the path of a package, load or factor. Paths and folders are empty for a worker of a fleet:
    it has its own folders and fetches files by their SHA-256. `rebooted` says that the machine comes up anew
    for it.
    """
    package = find_package(head, trial)
    load = find_load(head, trial)
    return TrialSpec(
        schema=SCHEMA_VERSION,
        experiment=experiment.name,
        trial_id=trial.trial_id,
        attempt=attempt,
        package=PackageSpec(package.name, locate(package), package.sha256),
        levels=list_set_levels(trial),
        isolation=experiment.isolation,
        build=experiment.build,
        seed=trial.seed,
        limits=_specify_limits(experiment.limits),
        scratch_dir=scratch_dir,
        cache_dir=cache_dir,
        output_dir=output_dir,
        user_factors=tuple(
            UserFactorSpec(factor.name, locate(factor), factor.sha256) for factor in head.factors
        ),
        background=PackageSpec(load.name, locate(load), load.sha256) if load is not None else None,
        build_seed=trial.build_seed,
        measurements=trial.measurements,
        warmup=trial.warmup,
        needs=list_needs(experiment, trial.package, load.name if load is not None else ""),
        covered=covered,
        quiet=_specify_quiet(experiment.quiet, rebooted=rebooted),
        build_for=trial.levels.get(BUILD_FOR),
    )


def list_needs(experiment: Experiment, package: str, load: str = "") -> Needs:
    """Return what a trial of a package needs of the host: its own needs and those of the load beside it."""
    needs = [item.needs for item in experiment.packages if item.name == package]
    needs += [item.needs for item in experiment.loads if item.name == load]
    return Needs(
        network=any(item.network for item in needs),
        devices=tuple(sorted({device for item in needs for device in item.devices})),
        kernel=tuple(sorted({interface for item in needs for interface in item.kernel})),
        privileged=any(item.privileged for item in needs),
        folders=tuple(sorted({folder for item in needs for folder in item.folders})),
    )


def find_package(head: BundleHead, trial: PlannedTrial) -> BundlePackage:
    """Return the package that a trial measures."""
    return next(item for item in head.packages if item.name == trial.package)


def find_load(head: BundleHead, trial: PlannedTrial) -> BundlePackage | None:
    """Return the load that runs beside a trial; None when none does."""
    wanted = trial.levels.get(BACKGROUND_LOAD, NO_LOAD)
    return next((item for item in head.loads if item.name == wanted), None)


def _specify_quiet(choice: QuietChoice, *, rebooted: bool) -> QuietRule | None:
    if choice.when == "never" or (choice.when == "after_reboot" and not rebooted):
        return None
    return QuietRule(choice.window_s, choice.limit_s, choice.processors, choice.pressure, choice.disk)


def _specify_limits(limits: Limits) -> TrialLimits:
    return TrialLimits(
        setup_timeout_s=limits.setup_timeout_s,
        run_timeout_s=limits.run_timeout_s,
        collect_timeout_s=limits.collect_timeout_s,
        output_bytes=limits.output_bytes,
        archive_bytes=limits.archive_bytes,
        package_bytes=limits.package_bytes,
        package_files=limits.package_files,
        world_bytes=limits.world_bytes,
        processes=limits.processes,
        memory_bytes=limits.memory_bytes,
        descriptors=limits.descriptors,
    )
