"""A settings file begun from what the files of a repository say."""

from __future__ import annotations

import filecmp
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from datamill.conduct.selection.collecting.crate_programs import list_crate_programs, makes_program
from datamill.conduct.selection.collecting.walked_history import GitHistory
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.packing.git.asked_git import ask_git
from datamill.selection.history.recognised_builds import RecognisedBuild, recognise_builds, write_settings
from datamill.selection.history.settings import SETTINGS_FILE

#: Most binaries that a first settings file names.
_MOST_BINARIES = 5


@dataclass(frozen=True, slots=True)
class BegunSettings:
    """A settings file that was written: its path, the build systems found, and binaries that are there.

    `missing` is the program that the build begins with, where it is not installed.
    """

    path: Path
    builds: tuple[RecognisedBuild, ...]
    binaries: tuple[str, ...]
    missing: str = ""


def begin_settings(folder: Path, *, overwrite: bool = False) -> BegunSettings:
    """Write `selection.toml` for a repository, by the files that it holds.

    Binaries are those programs that git does not know and that lie there from a build; libraries are named by
    a link without their version. Without one the file says where to name them.

    Raises:
        InputError: no build system is recognised, or the file is there already.
    """
    top = GitHistory(folder).top
    path = top / SETTINGS_FILE
    if path.exists() and not overwrite:
        raise InputError(
            "is there already",
            where=str(path),
            remedy=f"Edit it, or begin anew with {argument('overwrite', verb='selection init')}.",
        )
    names = _list_tracked(top)
    is_crate = makes_program(top)
    unlikely = {
        build
        for build in recognise_builds(names)
        if (build.tool and not shutil.which(build.tool)) or (build.system == "cargo" and not is_crate)
    }
    builds = recognise_builds(names, unlikely)
    if not builds:
        raise InputError(
            "has none of the files of make, autotools, cmake, meson or cargo in git at its top",
            where=str(top),
            remedy=f"Write {SETTINGS_FILE} yourself: docs/howto/selection.md has an example.",
        )
    binaries = tuple(_find_binaries(top, builds[0]))
    others = ", ".join(f"{build.system} ({build.command})" for build in builds[1:])
    path.write_text(write_settings(top.name, builds[0], binaries, others), encoding="utf-8")
    tool = builds[0].tool
    return BegunSettings(path, builds, binaries, "" if not tool or shutil.which(tool) else tool)


def _list_tracked(top: Path) -> set[str]:
    """Names at the top that git knows: what a build made there, such as configure, no checkout has."""
    told = ask_git(top, "ls-files", "-z").stdout.split(b"\0")
    return {os.fsdecode(name) for name in told if name and b"/" not in name}


def _find_binaries(top: Path, build: RecognisedBuild) -> list[str]:
    """Programs that a build left, each once: not known to git, executable, ELF and linked."""
    told = ask_git(top, "ls-files", "--others", "-z").stdout.split(b"\0")
    found: list[Path] = []
    for name in sorted(map(os.fsdecode, filter(None, told)), key=lambda item: (item.count("/"), item)):
        path = top / name
        if name.startswith(".datamill/") or "CMakeFiles" in name or not os.access(path, os.X_OK):
            continue
        if path.is_symlink() or not path.is_file() or not _is_linked(path):
            continue
        if build.system == "cargo" and not name.startswith("target/release/"):
            continue
        if "/deps/" in name or "/build/" in name.removeprefix("build/"):
            continue
        # Names of one program, such as those of git, and copies.
        if any(filecmp.cmp(path, other, shallow=False) for other in found):
            continue
        found.append(path)
        if len(found) == _MOST_BINARIES:
            break
    paths = [_drop_version(path).relative_to(top).as_posix() for path in found]
    if not paths and build.system == "cargo":
        paths = [f"target/release/{name}" for name in list_crate_programs(top)]
    return paths[:_MOST_BINARIES]


def _drop_version(path: Path) -> Path:
    """The link to a shared library whose name holds no version: versions of the project have others."""
    plain = path.with_name(path.name.partition(".so.")[0] + ".so")
    return plain if ".so." in path.name and plain.exists() and plain.samefile(path) else path


def _is_linked(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(18)
    return head[:4] == b"\x7fELF" and head[16:18] in (b"\2\0", b"\3\0")
