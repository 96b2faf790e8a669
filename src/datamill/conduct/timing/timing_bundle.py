"""The bundle of commands that are timed: an experiment like any other, with commands for packages."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from datamill.conduct.question.read_files import FoundExperiment
from datamill.conduct.running.make_bundle import make_bundle
from datamill.conduct.timing.question import LINK_ORDER, PADDING, TimingQuestion, write_experiment_text
from datamill.execution.worker import read_offers
from datamill.experiment.command_lines import CommandLine
from datamill.experiment.experiment import CommandSource, Limits
from datamill.experiment.factors.offers import list_asked_levels
from datamill.experiment.file.parse import parse_experiment
from datamill.packing.command_packages import write_command_package
from datamill.packing.packages import PackageFacts, inspect_package
from datamill.results.bundles.bundle import Bundle


@dataclass(frozen=True, slots=True)
class PackageOrigin:
    """Where the package of a command is from: its keys in the experiment file, and what writes its folder."""

    table: Mapping[str, object]
    write: Callable[[Path, Limits], PackageFacts]


def make_timing_bundle(
    question: TimingQuestion,
    binary: Path,
    folder: Path,
    origins: Mapping[str, PackageOrigin] | None = None,
) -> Bundle:
    """Make the bundle that a question's executions go into, with all that may be executed planned.

    Args:
        question: what is timed.
        binary: the worker.
        folder: where the bundle goes.
        origins: where the package of each command is from, by its name; None for commands alone.

    Raises:
        InputError: when the folder exists and is not empty.
        WorkerError: when the worker cannot say what this host offers.
    """
    tables = {name: origin.table for name, origin in origins.items()} if origins else None
    text = write_experiment_text(question, tables)
    experiment = parse_experiment(text, name=str(folder / "experiment.toml"))
    offers = read_offers(binary, list_asked_levels(experiment))
    with tempfile.TemporaryDirectory(prefix="datamill-time-") as scratch:
        packages = []
        for command in question.commands:
            place = Path(scratch) / command.name
            if origins:
                packages.append(origins[command.name].write(place, experiment.limits))
            else:
                packages.append(write_plain_package(question, command, place, experiment.limits))
        file = FoundExperiment(
            path=folder / "experiment.toml",
            text=text,
            experiment=experiment,
            packages=tuple(packages),
            offers={name: offers[name] for name in (PADDING, LINK_ORDER) if name in offers},
        )
        return make_bundle(file, folder)


def write_plain_package(
    question: TimingQuestion, command: CommandLine, place: Path, limits: Limits
) -> PackageFacts:
    """Write the package of a command that runs where the user is."""
    source = CommandSource(command.text, shell=command.in_shell)
    write_command_package(place, source, question.find_folder(command), changes_allowed=True)
    return inspect_package(command.name, place, limits)
