"""The programs that cargo makes of the crates of a repository."""

from __future__ import annotations

import tomllib
from pathlib import Path, PurePosixPath

import msgspec

#: The source of a package's main program.
_MAIN = "src/main.rs"


class CrateTable(msgspec.Struct, frozen=True):
    """A table that is there, whatever it holds."""


class CratePackage(msgspec.Struct, frozen=True):
    """The package of a crate; what it takes from its workspace is a table."""

    name: str
    edition: str | CrateTable | None = None
    autobins: bool | None = None


class CrateProgram(msgspec.Struct, frozen=True):
    """A program that has a table; without a path cargo finds its source by its name."""

    name: str
    path: str = ""


class CrateWorkspace(msgspec.Struct, frozen=True):
    """Several packages: where they are, as patterns of folders, and which of them are built by default."""

    members: tuple[str, ...] = ()
    default: tuple[str, ...] = msgspec.field(default=(), name="default-members")
    exclude: tuple[str, ...] = ()


class Crate(msgspec.Struct, frozen=True):
    """What is read of `Cargo.toml`."""

    package: CratePackage | None = None
    workspace: CrateWorkspace | None = None
    bin: tuple[CrateProgram, ...] = ()


def makes_program(top: Path) -> bool:
    """Return whether cargo makes a program or several packages here, not only a library for another build."""
    return bool(list_crate_programs(top)) or _read_crate(top).workspace is not None


def list_crate_programs(top: Path) -> list[str]:
    """Return the names of the programs that a build makes; of a workspace those of its packages.

    As cargo does, a workspace with a package at its top builds that one, unless it names others.
    """
    crate = _read_crate(top)
    space = crate.workspace
    if space is None or (crate.package is not None and not space.default):
        return _list_package_programs(top, crate)
    wanted = space.default or space.members
    folders = [folder for pattern in wanted for folder in _find_members(top, pattern)]
    left_out = {folder for pattern in space.exclude for folder in _find_members(top, pattern)}
    names = [
        name
        for folder in dict.fromkeys(folders)
        if folder not in left_out
        for name in _list_package_programs(folder, _read_crate(folder))
    ]
    return list(dict.fromkeys(names))


def _find_members(top: Path, pattern: str) -> list[Path]:
    if pattern == ".":
        return [top]
    if ".." in PurePosixPath(pattern).parts:
        # As for cargo: packages of a workspace lie below it.
        return []
    try:
        return sorted(folder for folder in top.glob(pattern) if (folder / "Cargo.toml").is_file())
    except (ValueError, NotImplementedError):
        # From the root of all files, or nothing that is a pattern.
        return []


def _list_package_programs(top: Path, crate: Crate) -> list[str]:
    """Programs of one package: its main one, those that have a table, then the others."""
    names = [item.name for item in crate.bin]
    if crate.package is not None and _looks_for_programs(crate.package, crate):
        named = {PurePosixPath(item.path) for item in crate.bin}
        others = {PurePosixPath("src/bin", item.name): item.stem for item in top.glob("src/bin/*.rs")}
        for item in top.glob("src/bin/*/main.rs"):
            others[PurePosixPath("src/bin", item.parent.name, item.name)] = item.parent.name
        if PurePosixPath(_MAIN) not in named and (top / _MAIN).exists():
            names.insert(0, crate.package.name)
        names += sorted(name for path, name in others.items() if path not in named)
    return list(dict.fromkeys(names))


def _looks_for_programs(package: CratePackage, crate: Crate) -> bool:
    """Without an edition cargo looks for programs only where no table names one."""
    if package.autobins is not None:
        return package.autobins
    return not crate.bin or package.edition is not None


def _read_crate(top: Path) -> Crate:
    """What the file says; nothing where it is not there or cargo could not read it either."""
    try:
        text = (top / "Cargo.toml").read_text(encoding="utf-8", errors="replace")
        return msgspec.convert(tomllib.loads(text), Crate)
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError):
        return Crate()
