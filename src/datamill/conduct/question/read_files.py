"""From the path that a user typed to an experiment with its packages."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from datamill.conduct.question.made_packages import MadePackages, WrittenFolder, make_packages
from datamill.conduct.question.needed_metrics import check_metrics_can_come
from datamill.design.fleet.profiles import check_profiles_can_come
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment, Limits, Package
from datamill.experiment.factors.offers import Offers
from datamill.experiment.file.packages.parse_packages import list_named_paths
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.file.source import Source
from datamill.experiment.messages.mistakes import Mistakes
from datamill.packing.packages import PackageFacts, inspect_package
from datamill.packing.user_factors import UserFactor, read_user_factor
from datamill.results.bundles.bundle_head import BundlePackage
from datamill.results.bundles.opening import open_bundle
from datamill.results.tables.factor_names import check_factor_names

EXPERIMENT_FILE = "experiment.toml"


@dataclass(frozen=True, slots=True)
class FoundExperiment:
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


def read_experiment_file(given: Path) -> FoundExperiment:
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
    profiled = [package.name for package in packages if package.has_profile]
    mistakes.attempt(lambda: check_profiles_can_come(experiment, profiled, where=str(path)), None)
    mistakes.refuse()
    return FoundExperiment(
        path, text, experiment, packages, loads, factors, written=made.written, notes=made.notes
    )


def _read_bundled_experiment(folder: Path) -> FoundExperiment:
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
    return FoundExperiment(path, text, bundle.experiment, packages, loads, factors)
