"""Making the bundle of a new experiment."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from datamill.design.design import Design
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.bundle_files import (
    BundleFile,
    check_bundle_place,
    list_fixed_files,
    make_file,
    write_folder,
)
from datamill.results.bundles.bundle_head import BundleHead
from datamill.results.bundles.opening import open_bundle


def create_bundle(
    folder: Path,
    *,
    text: str,
    design: Design,
    head: BundleHead,
    archives: Mapping[str, Path],
    also: Mapping[str, bytes] = MappingProxyType({}),
) -> Bundle:
    """Make a bundle; `archives` maps a file of the bundle, as its head names it, to what is put there.

    `also` are further files by their names.

    It is made beside its place and moved there whole: a crash leaves no half of a bundle in the way.

    Raises:
        InputError: when the folder exists and is not empty, or cannot be made.
    """
    check_bundle_place(folder, resumes=True)
    draft = folder.with_name(f".{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    plan = make_file("design.json", msgspec.json.encode(design))
    write_folder(list_fixed_files(head, text, plan, lambda item: _find(item.file, archives)), draft)
    write_folder((make_file(name, content) for name, content in also.items()), draft)
    draft.rename(folder)
    return open_bundle(folder)


def _find(name: str, archives: Mapping[str, Path]) -> BundleFile:
    path = archives[name]
    return BundleFile(name, path.stat().st_size, path)
