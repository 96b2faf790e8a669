"""Factors whose levels are versions of shared libraries, written as folders like those that people write."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import SYSTEM_LIBRARY, Sweep
from datamill.packing.command_packages import write_script
from datamill.packing.user_factors import FACTOR_FILE

#: Where an installed library has its files, below the folder that is given.
_PLACES = ("", "lib", "lib64")

_SET = """#!/bin/sh
here=${0%/*}
printf 'LD_LIBRARY_PATH=%s\\n' "$here/$(cat "$here/numbers/$1")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
"""
#: What the loader maps by a library's name in the environment of run.sh is looked up in the maps of a
#: process that has them all, and what it maps for the program of the experiment in the loader's own list.
_VERIFY = """#!/bin/sh
here=${0%/*}
program=@PROGRAM@
fail() { echo "$1" >&2; exit 1; }
set --
for name in $(cat "$here/common"); do
    mapped=$(LD_PRELOAD=$name${LD_PRELOAD:+:$LD_PRELOAD} cat /proc/self/maps 2>/dev/null) || mapped=
    set -- "$@" "$(printf '%s\\n' "$mapped" | grep -F "/$name" | head -n 1 | sed 's,^[^/]*,,')"
done
if [ -n "$program" ]; then
    at=
    # In a private world the package lies in the root, in a plain one in a folder called tree.
    for root in "$here/../../.." "$here/../../../tree"; do
        [ ! -e "$root/$program" ] || at=$root/$program
    done
    [ -n "$at" ] || fail "there is no $program when run.sh begins"
    list=$(ldd "$at" 2>&1) || fail "the loader lists nothing for $program: $list"
    for name in $(cat "$here/names"); do
        path=$(printf '%s\\n' "$list" | sed -n "s,^[[:space:]]*$name => \\(/.*\\) (0x.*,\\1,p")
        [ -z "$path" ] || used=1
        [ -z "$path" ] || set -- "$@" "$path"
    done
    [ -n "${used-}" ] || fail "$program maps none of these libraries"
fi
level=
for path in "$@"; do
    found=@SYSTEM@
    for number in "$here"/numbers/*; do
        case $path in "$here/$(cat "$number")"/*) found=${number##*/} ;; esac
    done
    case $level in '' | "$found") level=$found ;; *) level=mixed ;; esac
done
printf '%s\\n' "$level"
"""


def write_library_factor(folder: Path, sweep: Sweep, base: Path, where: str) -> None:
    """Write the folder of a factor whose level `run.sh` finds first on the run-time path of its programs.

    Files named `*.so*` of each level's folder, or of `lib` or `lib64` in it, are copied; links become files.

    Args:
        folder: is made.
        sweep: its `libraries` are folders, from `base`, one a level, or empty for what the system has.
        base: the folder of the experiment file.
        where: its place in the file, for messages.

    Raises:
        InputError: when a folder is not there, or holds no shared library, or nothing shows which is mapped.
    """
    folder.mkdir(parents=True)
    (folder / "numbers").mkdir()
    names: list[set[str]] = []
    for index, (level, given) in enumerate(zip(sweep.levels, sweep.libraries, strict=True)):
        # Equally long for all levels: the size of the environment moves the stack.
        place = f"lib/{index:03}"
        (folder / place).mkdir(parents=True)
        (folder / "numbers" / level).write_text(f"{place}\n", encoding="utf-8")
        # An empty folder would be none in an archive.
        (folder / place / "level").write_text(f"{level}\n", encoding="utf-8")
        if given:
            names.append(set(_copy_libraries(base / Path(given).expanduser(), folder / place, where)))
    common = set.intersection(*names) if names else set()
    if not common and not sweep.program:
        raise InputError(
            "these libraries have no file name in common, by which a program could ask for either",
            where=where,
            remedy='Name what maps one of them: program = "app".',
        )
    for file, listed in (("common", common), ("names", set().union(*names))):
        (folder / file).write_text("".join(f"{name}\n" for name in sorted(listed)), encoding="utf-8")
    summary = f"Libraries of programs that run.sh starts: {', '.join(sweep.levels)}."
    lines = (
        f"name = {json.dumps(sweep.name)}",
        f"summary = {json.dumps(summary)}",
        'scope = "environment"',
        "timeout_s = 60",
    )
    (folder / FACTOR_FILE).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    levels = " ".join(shlex.quote(level) for level in sweep.levels)
    write_script(folder / "levels", f"#!/bin/sh\nprintf '%s\\n' {levels}\n")
    write_script(folder / "set", _SET)
    verify = _VERIFY.replace("@PROGRAM@", shlex.quote(sweep.program))
    write_script(folder / "verify", verify.replace("@SYSTEM@", SYSTEM_LIBRARY))


def _copy_libraries(source: Path, target: Path, where: str) -> list[str]:
    """Copy the shared libraries of a folder; return the names under which programs ask for them."""
    if not source.is_dir():
        raise InputError(
            f"the folder of a library is not there: {source}",
            where=where,
            remedy="Correct the path; it is relative to the experiment file.",
        )
    places = (source / place for place in _PLACES)
    found = next((files for place in places if (files := _list_libraries(place))), [])
    if not found:
        raise InputError(
            f"there is no shared library (*.so, *.so.1 …) in {source}, nor in lib or lib64 there",
            where=where,
            remedy="Name the folder in which it was installed.",
        )
    for file in found:
        shutil.copy(file, target / file.name)
    return [file.name for file in found if not file.name.endswith(".so")] or [file.name for file in found]


def _list_libraries(place: Path) -> list[Path]:
    if not place.is_dir():
        return []
    named = (file for file in sorted(place.iterdir()) if ".so" in file.suffixes)
    return [file for file in named if file.is_file()]
