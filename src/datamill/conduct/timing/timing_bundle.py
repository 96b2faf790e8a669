"""The bundle of commands that are timed: an experiment like any other, with commands for packages."""

from __future__ import annotations

import tempfile
from pathlib import Path

from datamill.conduct.question.read_files import ExperimentFile
from datamill.conduct.running.make_bundle import make_bundle
from datamill.conduct.timing.question import PADDING, TimingQuestion, write_experiment_text
from datamill.execution.worker import read_offers
from datamill.experiment.factors.offers import list_asked_levels
from datamill.experiment.file.parse import parse_experiment
from datamill.packing.command_packages import write_command_package
from datamill.packing.packages import inspect_package
from datamill.results.bundles.bundle import Bundle


def make_timing_bundle(question: TimingQuestion, binary: Path, folder: Path) -> Bundle:
    """Make the bundle that a question's executions go into, with all that may be executed planned.

    Raises:
        InputError: when the folder exists and is not empty.
        WorkerError: when the worker cannot say what this host offers.
    """
    text = write_experiment_text(question)
    experiment = parse_experiment(text, name=str(folder / "experiment.toml"))
    offers = read_offers(binary, list_asked_levels(experiment))
    with tempfile.TemporaryDirectory(prefix="datamill-time-") as scratch:
        packages = []
        for package in experiment.packages:
            place = Path(scratch) / package.name
            assert package.command is not None
            write_command_package(place, package.command, question.directory, changes_allowed=True)
            packages.append(inspect_package(package.name, place, experiment.limits))
        file = ExperimentFile(
            path=folder / "experiment.toml",
            text=text,
            experiment=experiment,
            packages=tuple(packages),
            offers={PADDING: offers[PADDING]},
        )
        return make_bundle(file, folder)
