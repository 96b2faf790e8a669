"""Packages on disk: looking at one before anything runs, and packing it into the bundle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Limits
from datamill.experiment.quantities import format_size
from datamill.packing.members import MemberChecks, Packed, check_script, list_members, pack_members

#: Scripts in a package's root, and whether it must have them.
_SCRIPTS = {"run.sh": True, "collect.sh": False, "setup.sh": False, "profile.sh": False}


@dataclass(frozen=True, slots=True)
class PackageFacts:
    """What a package holds: size when unpacked, number of files, and which of the optional scripts it has."""

    name: str
    path: Path
    size_bytes: int
    files: int
    has_setup: bool
    has_collect: bool = True
    has_profile: bool = False


def inspect_package(name: str, path: Path, limits: Limits, *, kind: str = "package") -> PackageFacts:
    """Check a package folder or `.tar.gz` as far as that is possible without running it.

    `kind` is what messages call it: "package" or "load".

    Raises:
        InputError: when it is missing, lacks an executable `run.sh`, is too large, or has a member that is
            unsafe (absolute, `..`, a link that leads outside, a device) or cannot be unpacked.
    """
    if not path.is_dir() and not path.is_file():
        raise InputError(
            f'{kind} "{name}" is not there',
            where=str(path),
            remedy="Correct the path; it is relative to the experiment file.",
        )
    size = files = 0
    found: set[str] = set()
    checks = MemberChecks(path)
    for member in list_members(path, _SCRIPTS):
        checks.check(member)
        size += member.size_bytes
        files += 1
        if member.name in _SCRIPTS and not member.is_folder:
            found.add(member.name)
            check_script(member, path)
        if size > limits.package_bytes or files > limits.package_files:
            raise InputError(
                f'{kind} "{name}" is larger than allowed ({format_size(limits.package_bytes)}, '
                f"{limits.package_files} files)",
                where=str(path),
                remedy="Make it smaller, or raise [limits] package or package_files in the experiment file.",
            )
    for script, needed in _SCRIPTS.items():
        if needed and script not in found:
            raise InputError(
                f'{kind} "{name}" has no {script}',
                where=str(path),
                remedy=f"Put an executable {script} in the root of the package.",
            )
    return PackageFacts(
        name, path, size, files, "setup.sh" in found, "collect.sh" in found, "profile.sh" in found
    )


def pack_package(facts: PackageFacts, archive: Path) -> Packed:
    """Write a package as a `.tar.gz` whose bytes depend on its content alone; an archive is copied as it is.

    Raises:
        InputError: when a file cannot be read.
    """
    return pack_members(facts.path, archive)
