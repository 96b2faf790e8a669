"""From the path that a user typed to an experiment with its packages."""

from __future__ import annotations

import platform
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from datamill.conduct.made_packages import MadePackages, WrittenFolder, make_packages
from datamill.conduct.needed_metrics import check_metrics_can_come
from datamill.design.design import DesignFactor
from datamill.design.fleet.eligibility import find_unmet_constraint
from datamill.design.fleet.fleet_records import Candidate
from datamill.design.points.factorial import choose_factors, count_trials
from datamill.design.points.points import count_points
from datamill.execution.seen_places import check_needed_folders
from datamill.execution.worker import read_offers
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Constraints, Experiment, FleetChoice, Limits, Package
from datamill.experiment.factors.offers import (
    Offers,
    check_offers,
    drop_unavailable_policy,
    list_asked_levels,
    withdraw_build_policy,
)
from datamill.experiment.file.packages.parse_packages import list_named_paths
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.file.source import Source
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.mistakes import Mistakes
from datamill.experiment.messages.numbers import format_count
from datamill.packing.packages import PackageFacts, inspect_package
from datamill.packing.user_factors import UserFactor, read_user_factor
from datamill.protocol.trial import HostFacts
from datamill.results.bundles.bundle_head import BundlePackage
from datamill.results.bundles.opening import open_bundle
from datamill.results.tables.factor_names import check_factor_names

EXPERIMENT_FILE = "experiment.toml"
#: Designs beyond this size must be confirmed.
MOST_UNCONFIRMED_TRIALS = 100_000


@dataclass(frozen=True, slots=True)
class ExperimentFile:
    """An experiment file as found on disk: its path, its text, what it says, and what it brings along.

    `offers` are what this host has of its factors; without any, nobody has asked it. `written` holds the
    packages that the file describes and no folder has; `notes` say what has no part in them.
    """

    path: Path
    text: str
    experiment: Experiment
    packages: tuple[PackageFacts, ...]
    loads: tuple[PackageFacts, ...] = ()
    user_factors: tuple[UserFactor, ...] = ()
    offers: Offers = field(default_factory=dict)
    written: WrittenFolder | None = None
    notes: tuple[str, ...] = ()


def read_experiment_file(given: Path) -> ExperimentFile:
    """Read an experiment file, or the one in a folder, and look at its packages, loads and factors.

    A bundle is such a folder too: its experiment is repeated with what the bundle holds.

    Raises:
        InputError: when the file, a package, a load or a factor cannot be used.
    """
    if (given / "bundle.json").is_file():
        return _read_bundled_experiment(given)
    path = given / EXPERIMENT_FILE if given.is_dir() else given
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            "there is no such file", where=str(path), remedy="datamill new NAME makes an experiment."
        ) from None
    except UnicodeDecodeError:
        raise InputError("the file is not UTF-8 text", where=str(path)) from None
    source = Source(str(path), text)
    mistakes = Mistakes()
    experiment = mistakes.attempt(lambda: parse_experiment(text, name=str(path)), None)

    def find(given_path: str, what: str, section: str, index: int, key: str = "path") -> Path:
        found = path.parent / Path(given_path).expanduser()
        if not found.exists():
            raise InputError(
                f"{what} is not there: {found}",
                where=source.locate(section, key, occurrence=index),
                remedy="Correct the path; it is relative to the experiment file.",
            )
        return found

    def inspect(kind: str, limits: Limits, index: int, package: Package) -> PackageFacts | None:
        folder = made.folders.get((kind, index))
        if folder is None and package.command is not None:
            return None
        if folder is None:
            folder = find(package.path, f'{kind} "{package.name}"', kind, index)
        return inspect_package(package.name, folder, limits, kind=kind)

    def inspect_all(kind: str, packages: tuple[Package, ...], limits: Limits) -> tuple[PackageFacts, ...]:
        found = [
            mistakes.attempt(partial(inspect, kind, limits, index, package), None)
            for index, package in enumerate(packages)
        ]
        return tuple(facts for facts in found if facts is not None)

    if experiment is None:
        # Which files are missing does not depend on what else is wrong.
        for section, name, index, key, given_path in list_named_paths(source):
            what = "the factor" if section == "factor" else f'{section} "{name}"'
            what = what if key == "path" else f"the {key} of {what}"
            mistakes.attempt(partial(find, given_path, what, section, index, key), None)
        mistakes.refuse()
    assert experiment is not None
    question = experiment
    unmade = MadePackages(question, text)
    made = mistakes.attempt(lambda: make_packages(question, source, path.parent), unmade)
    experiment, text = made.experiment, made.text
    packages = inspect_all("package", experiment.packages, experiment.limits)
    loads = inspect_all("load", experiment.loads, experiment.limits)
    brought = [
        mistakes.attempt(
            lambda index=index, given=given: read_user_factor(find(given, "the factor", "factor", index)),  # type: ignore[misc]
            None,
        )
        for index, given in enumerate(experiment.user_factors)
    ]
    brought += [read_user_factor(folder) for folder in made.factors]
    factors = tuple(factor for factor in brought if factor is not None)
    if len(factors) == len(brought):
        names = tuple(factor.name for factor in factors)
        mistakes.attempt(lambda: check_factor_names(experiment, names), None)
    silent = [package.name for package in packages if not package.has_collect]
    mistakes.attempt(lambda: check_metrics_can_come(experiment, silent, where=str(path)), None)
    mistakes.refuse()
    return ExperimentFile(
        path, text, experiment, packages, loads, factors, written=made.written, notes=made.notes
    )


def _read_bundled_experiment(folder: Path) -> ExperimentFile:
    bundle = open_bundle(folder)
    path = folder / EXPERIMENT_FILE

    def inspect(packages: tuple[BundlePackage, ...]) -> tuple[PackageFacts, ...]:
        return tuple(
            inspect_package(package.name, folder / package.file, bundle.experiment.limits)
            for package in packages
        )

    packages, loads = inspect(bundle.head.packages), inspect(bundle.head.loads)
    factors = tuple(read_user_factor(folder / factor.file) for factor in bundle.head.factors)
    text = path.read_text(encoding="utf-8")
    return ExperimentFile(path, text, bundle.experiment, packages, loads, factors)


def ask_host(file: ExperimentFile, binary: Path) -> ExperimentFile:
    """Return the experiment with what this host offers, less what only a policy names and is not here.

    Raises:
        InputError: when the experiment names a factor, level or folder that this host does not have.
        WorkerError: when the worker cannot tell.
    """
    brought = [factor.path for factor in file.user_factors]
    in_guest = file.experiment.isolation == "guest"
    offers = read_offers(binary, list_asked_levels(file.experiment), brought, in_guest=in_guest)
    if not any(package.has_setup for package in file.packages):
        offers = withdraw_build_policy(file.experiment, offers)
    check_offers(file.experiment, offers)
    check_needed_folders(file.experiment, binary, where=str(file.path), bundle=None)
    return replace(file, experiment=drop_unavailable_policy(file.experiment, offers), offers=offers)


def size_design(file: ExperimentFile) -> tuple[tuple[DesignFactor, ...], int]:
    """Return the factors of an experiment's design and the number of its trials.

    Raises:
        InputError: when there is no such design, naming the file.
    """
    try:
        factors = choose_factors(file.experiment, file.offers)
        return factors, count_trials(file.experiment, factors)
    except InputError as problem:
        # The design knows sections and keys, and nothing of files.
        if not problem.where.startswith("["):
            raise
        where = f"{file.path}: {problem.where}"
        raise problem.moved(where) from problem


def check_design_size(file: ExperimentFile, allowed_trials: int) -> None:
    """Refuse a design that nobody confirmed and that is too large to be meant.

    Raises:
        InputError: with the size and how it comes about.
    """
    factors, count = size_design(file)
    if count <= max(MOST_UNCONFIRMED_TRIALS, allowed_trials):
        return
    product = " x ".join(
        f"{len(factor.levels)} ({factor.name})" for factor in factors if factor.role == "factor"
    )
    if file.experiment.design.kind != "full":
        product = f"{format_count(count_points(file.experiment, factors))} points"
    raise InputError(
        f"the design has {format_count(count)} trials: {product} x {file.experiment.replicates} replicates",
        where=str(file.path),
        remedy="Name fewer levels, lower a coverage or the replicates; or confirm with "
        f"{argument('allow_trials', count, verb='run')}.",
    )


def check_constraints(constraints: Constraints, host: HostFacts, *, where: str) -> None:
    """Refuse to run on a machine that the experiment excludes, as far as that is known of it.

    Names of workers are of a fleet, of which this machine is none.

    Raises:
        InputError: with the constraint that this machine does not meet.
    """
    distribution, clock_khz = read_distribution(), read_clock_khz()
    here = Candidate(
        worker_id="",
        name="",
        hardware={"arch": host.arch, "cpu_model": host.cpu_model, "distribution": distribution},
        offers={},
        memory_bytes=host.memory_bytes,
        cores=host.cores,
        clock_khz=clock_khz,
    )
    known = replace(
        constraints,
        workers=(),
        counters=False,
        distribution=constraints.distribution if distribution else (),
        min_clock_khz=constraints.min_clock_khz if clock_khz else 0,
    )
    if problem := find_unmet_constraint(known, here):
        raise InputError(
            f"the experiment may not run here: {problem}",
            where=f"{where}: [constraints]",
            remedy="Run it on another machine, or relax the constraint.",
        )


def list_fleet_notes(experiment: Experiment) -> list[str]:
    """Return what an experiment says about a fleet and is not followed here, a sentence each."""
    constraints, notes = experiment.constraints, []
    named = {item.dimension: None for item in experiment.coverage}
    if named:
        notes.append(
            f"[coverage] ({', '.join(named)}) chooses among machines of a fleet, and here is one machine: "
            "datamill submit follows it."
        )
    if experiment.fleet != FleetChoice():
        notes.append("[fleet] says how the experiment runs on a fleet; here it is not followed.")
    unchecked = [
        *(["workers"] if constraints.workers else []),
        *(["counters"] if constraints.counters else []),
        *(["distribution"] if constraints.distribution and not read_distribution() else []),
        *(["min_clock"] if constraints.min_clock_khz and not read_clock_khz() else []),
    ]
    if unchecked:
        notes.append(f"[constraints] {', '.join(unchecked)}: not checked on this machine, only on a fleet.")
    return notes


def read_distribution() -> str:
    """Return this machine's distribution as a fleet names it, such as `debian 12`; empty when unknown."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ""
    return f"{release.get('ID', '')} {release.get('VERSION_ID', '')}".strip()


def read_clock_khz() -> int:
    """Return the highest clock of any processor here, in kHz; 0 when the kernel does not tell."""
    clocks = [0]
    for file in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/cpuinfo_max_freq"):
        with suppress(OSError, ValueError):
            clocks.append(int(file.read_text()))
    return max(clocks)
