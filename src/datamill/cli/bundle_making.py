"""From an experiment file to a new bundle."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from datamill import __version__
from datamill.cli.experiment_files import ExperimentFile
from datamill.design.factorial import build_design
from datamill.execution.packages import PackedPackage, pack_package
from datamill.experiment.errors import InputError
from datamill.results.bundle import BUNDLE_FORMAT, Bundle, BundleHead, BundlePackage, create_bundle


def make_bundle(file: ExperimentFile, folder: Path) -> Bundle:
    """Pack the packages and make the bundle of a new experiment.

    Raises:
        InputError: when the folder exists and is not empty or lies in a package, or a package cannot
            be packed.
    """
    for facts in file.packages:
        if facts.path.is_dir() and folder.resolve().is_relative_to(facts.path.resolve()):
            raise InputError(
                f'the bundle would lie inside package "{facts.name}" and become part of it',
                where=str(folder),
                remedy="Name a folder elsewhere with --out.",
            )
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        packed: dict[str, PackedPackage] = {}
        for facts in file.packages:
            packed[facts.name] = pack_package(facts, staging / f"{facts.name}.tar.gz")
        head = BundleHead(
            format=BUNDLE_FORMAT,
            datamill=__version__,
            created_unix_ns=time.time_ns(),
            experiment_file=str(file.path),
            packages=tuple(
                BundlePackage(
                    name=facts.name,
                    file=f"packages/{facts.name}.tar.gz",
                    sha256=packed[facts.name].sha256,
                    bytes=packed[facts.name].size_bytes,
                    files=facts.files,
                    has_setup=facts.has_setup,
                )
                for facts in file.packages
            ),
        )
        return create_bundle(
            folder,
            text=file.text,
            experiment=file.experiment,
            design=build_design(file.experiment),
            head=head,
            archives={name: package.archive for name, package in packed.items()},
        )
    finally:
        shutil.rmtree(staging, ignore_errors=True)
