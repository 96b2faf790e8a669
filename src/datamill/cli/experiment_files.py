"""From the path that a user typed to an experiment with its packages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from datamill.design.factorial import choose_factors, count_trials
from datamill.execution.packages import PackageFacts, inspect_package
from datamill.experiment.errors import InputError
from datamill.experiment.parse import parse_experiment
from datamill.experiment.quantities import format_size
from datamill.experiment.records import Constraints, Experiment
from datamill.results.bundle import open_bundle
from datamill.results.trial_record import HostFacts

EXPERIMENT_FILE = "experiment.toml"
#: Designs beyond this size must be confirmed.
MOST_UNCONFIRMED_TRIALS = 100_000


@dataclass(frozen=True, slots=True)
class ExperimentFile:
    """An experiment file as found on disk: its path, its text, what it says, and its packages."""

    path: Path
    text: str
    experiment: Experiment
    packages: tuple[PackageFacts, ...]


def read_experiment_file(given: Path) -> ExperimentFile:
    """Read an experiment file, or the one in a folder, and look at its packages.

    A bundle is such a folder too: its experiment is repeated with the packages that the bundle holds.

    Raises:
        InputError: when the file or a package cannot be used.
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
    experiment = parse_experiment(text, name=str(path))
    packages = tuple(
        inspect_package(package.name, path.parent / Path(package.path).expanduser(), experiment.limits)
        for package in experiment.packages
    )
    return ExperimentFile(path, text, experiment, packages)


def _read_bundled_experiment(folder: Path) -> ExperimentFile:
    bundle = open_bundle(folder)
    path = folder / EXPERIMENT_FILE
    packages = tuple(
        inspect_package(package.name, folder / package.file, bundle.experiment.limits)
        for package in bundle.head.packages
    )
    return ExperimentFile(path, path.read_text(encoding="utf-8"), bundle.experiment, packages)


def check_design_size(file: ExperimentFile, allowed_trials: int) -> None:
    """Refuse a design that nobody confirmed and that is too large to be meant.

    Raises:
        InputError: with the size and how it comes about.
    """
    count = count_trials(file.experiment)
    if count <= max(MOST_UNCONFIRMED_TRIALS, allowed_trials):
        return
    product = " x ".join(
        f"{len(factor.levels)} ({factor.name})" for factor in choose_factors(file.experiment)
    )
    raise InputError(
        f"the design has {count:,} trials: {product} x {file.experiment.replicates} replicates",
        where=str(file.path),
        remedy="Name fewer levels, lower a coverage or the replicates; or confirm with "
        f"--allow-trials {count}.",
    )


def check_constraints(constraints: Constraints, host: HostFacts, *, where: str) -> None:
    """Refuse to run on a machine that the experiment excludes.

    Raises:
        InputError: with the constraint that this machine does not meet.
    """
    problem = ""
    if constraints.arch and host.arch not in constraints.arch:
        problem = f"it needs one of {', '.join(constraints.arch)}, and this machine is {host.arch}"
    elif host.memory_bytes < constraints.min_memory_bytes:
        problem = (
            f"it needs {format_size(constraints.min_memory_bytes)} of memory, and this machine has "
            f"{format_size(host.memory_bytes)}"
        )
    elif host.cores < constraints.min_cores:
        problem = f"it needs {constraints.min_cores} processors, and this machine has {host.cores}"
    if problem:
        raise InputError(
            f"the experiment may not run here: {problem}",
            where=f"{where}: [constraints]",
            remedy="Run it on another machine, or relax the constraint.",
        )
