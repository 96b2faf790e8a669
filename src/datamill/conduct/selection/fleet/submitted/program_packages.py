"""A program as a package: its binaries as they came home, its benchmarks executed or counted."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Collection
from pathlib import Path

from datamill.conduct.selection.collecting.commands import HERE
from datamill.conduct.selection.collecting.profile_program import SLOWER
from datamill.conduct.selection.fleet.submitted.written_experiment import BENCHMARK_VARIABLE
from datamill.conduct.selection.store.kept_binaries import list_library_folders
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import CommandSource
from datamill.packing.command_packages import spell_command, write_script
from datamill.selection.history.records import Program
from datamill.selection.history.settings import BenchmarkSetting, SelectionSettings

#: In the root of a private world a folder of ours is in nobody's way.
_PLACE = "selection"
#: What a command has in place of the folder of the settings, and the variable of scripts for it.
_HERE = (HERE, "here")
_SETUP = f"""\
#!/bin/sh
cd {_PLACE}/here || exit 125
exec /bin/sh -c {{setup}}
"""
_BEGIN = f"""\
#!/bin/sh
here=$PWD/{_PLACE}/here
program=$PWD/{_PLACE}/program
"""
_LIBRARIES = """\
LD_LIBRARY_PATH={folders}
export LD_LIBRARY_PATH
"""
_RUN = f"""\
cd "$program" || exit 125
case ${BENCHMARK_VARIABLE} in
{{cases}}*)
    echo "no benchmark ${BENCHMARK_VARIABLE}" >&2
    exit 125
    ;;
esac
"""
#: A benchmark that fails here does not keep others from being counted: its folder says how it ended.
_PROFILE = f"""\
made=$PWD/{_PLACE}/counts
if ! command -v valgrind >/dev/null; then
    echo "valgrind is not installed, which counts calls and instructions" >&2
    exit 1
fi
mkdir -p "$made" && cd "$program" || exit 125
pwd -P >"$made/place"
count() {{{{
    number=$1
    mkdir "$made/$number"
    printf '%s' "$2" >"$made/$number/benchmark"
    shift 2
    timeout -k 10 {{timeout}} valgrind --tool=callgrind --demangle=no --trace-children=yes \\
        --callgrind-out-file="$made/$number/counts.%p" -- "$@" </dev/null >"$made/said" 2>&1
    echo $? >"$made/$number/status"
    tail -c 4000 "$made/said" >"$made/$number/said"
    rm -f "$made/said"
}}}}
{{counts}}cd "$made" && tar -czf ../counts.tar.gz . || exit 125
echo {_PLACE}/counts.tar.gz
"""
_COUNT_ALONE = f"""\
#!/bin/sh
# Counts are all that is asked for: they do not depend on what else the machine does.
exec ./{_PLACE}/count
"""
_COLLECT = f"""\
#!/bin/sh
echo {_PLACE}/counts.tar.gz
"""


def write_program_package(
    folder: Path,
    program: Program,
    settings: SelectionSettings,
    store: SelectionStore,
    here: Path,
    *,
    counted: Collection[str],
    measure: bool,
) -> None:
    """Write the package of a program, whose `run.sh` executes the benchmark that the environment names.

    Its `profile.sh` counts what the benchmarks execute that `counted` names; where nothing is measured,
    `run.sh`.

    Args:
        folder: of the package, which does not exist yet.
        program: of the store, which keeps its binaries.
        settings: its benchmarks, and what they need of the folder `here`.
        store: holds the binaries.
        here: the folder of the settings file.
        counted: names of the benchmarks that it is profiled with; if empty, it is not.
        measure: whether it is measured.

    Raises:
        InputError: an input is not there, or a benchmark needs files of `here` that nothing names.
    """
    place = folder / _PLACE
    place.mkdir(parents=True)
    shutil.copytree(store.place_programs(program.name), place / "program", symlinks=True)
    copy_inputs(settings, here, place / "here")
    if settings.setup.strip():
        write_script(folder / "setup.sh", _SETUP.format(setup=shlex.quote(settings.setup)))
    begin = _BEGIN
    libraries = list_library_folders(program)
    if libraries:
        folders = ":".join(f'"$program"/{shlex.quote(item)}' for item in libraries)
        begin += _LIBRARIES.format(folders=folders)
    cases = (f"{shlex.quote(item.name)})\n    exec {_spell(item)}\n    ;;\n" for item in settings.benchmark)
    counts = (
        f"count {number} {shlex.quote(item.name)} {_spell(item)}\n"
        for number, item in enumerate(settings.benchmark)
        if item.name in counted
    )
    count = begin + _PROFILE.format(timeout=settings.timeout_s * SLOWER, counts="".join(counts))
    if measure:
        write_script(folder / "run.sh", begin + _RUN.format(cases="".join(cases)))
        if counted:
            write_script(folder / "profile.sh", count)
        return
    write_script(place / "count", count)
    write_script(folder / "run.sh", _COUNT_ALONE)
    write_script(folder / "collect.sh", _COLLECT)


def check_inputs_named(settings: SelectionSettings, where: str) -> None:
    """Refuse builds and benchmarks that need files of this machine which nothing names.

    Raises:
        InputError: the first of these.
    """
    if settings.inputs:
        return
    users = ["the build" for item in settings.build if HERE in item.command]
    # What a set-up makes is there for benchmarks, and not yet for builds.
    if not settings.setup.strip():
        users += [f"the benchmark {item.name}" for item in settings.benchmark if HERE in item.command]
    for user in users:
        raise InputError(
            f"{user} needs files of {HERE}, which a fleet does not have",
            where=where,
            remedy='Name those that it needs: inputs = ["PATH"], in the folder of this file.',
        )


def copy_inputs(settings: SelectionSettings, here: Path, to: Path) -> None:
    """Copy what benchmarks and builds need of the folder of the settings.

    Raises:
        InputError: an input is not there.
    """
    to.mkdir()
    # An empty folder would be none in an archive.
    (to / ".inputs").write_text("".join(f"{path}\n" for path in settings.inputs), encoding="utf-8")
    for path in settings.inputs:
        source, target = here / path, to / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        elif source.is_file():
            shutil.copy2(source, target)
        else:
            raise InputError("is not there", where=str(source), remedy="See what inputs the settings name.")


def _spell(benchmark: BenchmarkSetting) -> str:
    try:
        return spell_command(CommandSource(benchmark.command, arguments=(_HERE,)))
    except ValueError as error:
        raise InputError(f"cannot be split into words: {error}", where=benchmark.command) from None
