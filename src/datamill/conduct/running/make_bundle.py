"""From an experiment file to a new bundle."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from datamill import __version__
from datamill.conduct.question.read_files import FoundExperiment
from datamill.design.trials import build_design
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.packing.members import Packed, pack_members
from datamill.packing.packages import PackageFacts
from datamill.packing.user_factors import UserFactor
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.bundle_head import BUNDLE_FORMAT, BundleFactor, BundleHead, BundlePackage
from datamill.results.bundles.creating import create_bundle

NOTHING_ELSE: Mapping[str, bytes] = MappingProxyType({})


def make_bundle(file: FoundExperiment, folder: Path, also: Mapping[str, bytes] = NOTHING_ELSE) -> Bundle:
    """Pack packages, loads and factors, and make the bundle of a new experiment; `also` are further files.

    Raises:
        InputError: when the folder exists and is not empty or lies in what is packed, or something cannot
            be packed.
    """
    packed = [(facts.name, facts.path) for facts in (*file.packages, *file.loads)]
    for name, path in (*packed, *((factor.name, factor.path) for factor in file.user_factors)):
        if path.is_dir() and folder.resolve().is_relative_to(path.resolve()):
            raise InputError(
                f'the bundle would lie inside package "{name}" and become part of it',
                where=str(folder),
                remedy=f"Name a folder elsewhere with {argument('out', verb='run')}.",
            )
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    archives: dict[str, Path] = {}

    def pack(path: Path, name: str) -> Packed:
        archives[name] = staging / f"{len(archives)}.tar.gz"
        return pack_members(path, archives[name])

    try:
        head = BundleHead(
            format=BUNDLE_FORMAT,
            datamill=__version__,
            created_unix_ns=time.time_ns(),
            experiment_file=str(file.path),
            packages=tuple(_pack_package(facts, "packages", pack) for facts in file.packages),
            loads=tuple(_pack_package(facts, "loads", pack) for facts in file.loads),
            factors=tuple(_pack_factor(factor, pack) for factor in file.user_factors),
        )
        return create_bundle(
            folder,
            text=file.text,
            design=build_design(file.experiment, file.offers),
            head=head,
            archives=archives,
            also=also,
        )
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _pack_package(facts: PackageFacts, folder: str, pack: Callable[[Path, str], Packed]) -> BundlePackage:
    name = f"{folder}/{facts.name}.tar.gz"
    packed = pack(facts.path, name)
    return BundlePackage(
        name=facts.name,
        file=name,
        sha256=packed.sha256,
        bytes=packed.size_bytes,
        files=facts.files,
        has_setup=facts.has_setup,
        has_collect=facts.has_collect,
        has_profile=facts.has_profile,
    )


def _pack_factor(factor: UserFactor, pack: Callable[[Path, str], Packed]) -> BundleFactor:
    name = f"factors/{factor.name}.tar.gz"
    packed = pack(factor.path, name)
    return BundleFactor(factor.name, name, packed.sha256, packed.size_bytes, factor.summary)
