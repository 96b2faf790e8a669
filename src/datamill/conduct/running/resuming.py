"""A bundle whose experiment goes on on this machine."""

from __future__ import annotations

from pathlib import Path

from datamill.conduct.question.host import check_constraints
from datamill.execution.state_folder import check_state_folder
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import command
from datamill.packing.packages import inspect_package
from datamill.packing.user_factors import read_user_factor
from datamill.protocol.trial import HostFacts
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.opening import open_bundle


def open_resumable(folder: Path, host: HostFacts) -> Bundle:
    """Open a bundle that can go on here; a fleet's cannot: the machine is a factor of its design.

    Raises:
        InputError: when the bundle was fetched from a coordinator, is unsound, or may not run on this host.
    """
    bundle = open_bundle(folder)
    if bundle.of_fleet:
        raise InputError(
            "a fleet runs this experiment, and this bundle is a copy",
            where=str(bundle.folder),
            remedy=f"Fetch it again when there is more: {command('fetch')}. To repeat it on this machine: "
            f"{command('run', bundle.folder)}.",
        )
    check_packages(bundle)
    check_state_folder(factor.name for factor in bundle.design.factors)
    where = str(bundle.folder / "experiment.toml")
    check_constraints(bundle.experiment.constraints, host, where=where)
    return bundle


def check_packages(bundle: Bundle) -> None:
    """Refuse to go on with packages, loads or factors that changed inside the bundle.

    Raises:
        InputError: when one is missing or unsound.
    """
    for factor in bundle.head.factors:
        read_user_factor(bundle.folder / factor.file)
    for package in (*bundle.head.packages, *bundle.head.loads):
        inspect_package(package.name, bundle.folder / package.file, bundle.experiment.limits)
