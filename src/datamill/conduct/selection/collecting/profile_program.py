"""The profiles of a program's benchmarks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec.structs import replace

from datamill.conduct.selection.collecting.commands import HERE, fill_command, hide_folders
from datamill.conduct.selection.profile_command import CountedWork, count_command
from datamill.conduct.selection.store.kept_binaries import list_variables
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.experiment.errors import InputError
from datamill.selection.history.joined_tables import join_tables, label_programs
from datamill.selection.history.records import COUNTED_WAY, Program, WorkCount
from datamill.selection.history.settings import SelectionSettings
from datamill.selection.profiles.callgrind import METHOD, build_profile
from datamill.selection.profiles.profile import FunctionCounts, Profile

#: How much longer a benchmark may take while it is counted.
SLOWER = 60.0
NO_SYMBOLS = "none: the program has no symbols, and every function counts as reached"


def profile_program(
    program: Program,
    settings: SelectionSettings,
    store: SelectionStore,
    here: Path,
    *,
    only: Collection[str],
    twice: bool = False,
) -> list[WorkCount]:
    """Count what benchmarks execute of a program, and keep the profiles; return all instructions.

    `only` names the benchmarks that are counted: what is kept of the others stays. `twice`: count again, to
    see by how much the counts of one program differ.

    The profiler knows no functions of programs without symbols: then all of them count as reached, which
    misses no change. A benchmark that fails, or never reaches the program, has no profile, and its count says
    why.

    Raises:
        InputError: valgrind is not installed.
    """
    folder = store.place_programs(program.name)
    paths = {path: folder / path for path in program.tables}
    profiles: list[Profile] = []
    counts: list[WorkCount] = []
    for benchmark in settings.benchmark:
        if benchmark.name not in only:
            continue

        def count(text: str = benchmark.command) -> CountedWork:
            return count_command(
                fill_command(text, here),
                list(paths.values()),
                timeout=settings.timeout_s * SLOWER,
                directory=folder,
                variables=list_variables(program, folder),
            )

        try:
            counted = count()
            again = count().instructions if twice else None
        except InputError as error:
            why = " ".join(f"{error.where}: {error.message}".split())
            why = hide_folders(why, {folder: "", here: HERE})
            counts.append(WorkCount(program.name, benchmark.name, None, why, way=COUNTED_WAY))
            continue
        profile, told = read_counted(program, benchmark.name, counted, paths, store)
        counts.append(replace(told, again=again) if told.instructions is not None else told)
        if profile is not None:
            profiles.append(profile)
    store.write_profiles(program.name, profiles, only=only)
    return counts


def read_counted(
    program: Program, benchmark: str, counted: CountedWork, paths: Mapping[str, Path], store: SelectionStore
) -> tuple[Profile | None, WorkCount]:
    """Return the profile of a benchmark and all its instructions; `paths` are where its binaries were."""
    labels = label_programs(paths)
    functions: dict[str, FunctionCounts] = {}
    for path, place in paths.items():
        table = store.read_one_table(program.tables[path])
        found = build_profile(benchmark, table, counted.programs[place])
        begin = f"{labels[path]}: " if len(paths) > 1 else ""
        functions |= {f"{begin}{name}": item for name, item in found.functions.items()}
    if not functions and not (counted.instructions and _are_nameless(program, store)):
        return None, WorkCount(program.name, benchmark, None, "never executes the programs", way=COUNTED_WAY)
    profile = (
        Profile(benchmark, METHOD, functions)
        if functions
        else _count_all_as_reached(benchmark, program, store)
    )
    return profile, WorkCount(program.name, benchmark, counted.instructions, way=COUNTED_WAY)


def _are_nameless(program: Program, store: SelectionStore) -> bool:
    return any(store.read_one_table(name).source != "symbols" for name in program.tables.values())


def _count_all_as_reached(benchmark: str, program: Program, store: SelectionStore) -> Profile:
    # Labelled as profiles are kept: with several binaries alone.
    table = join_tables({path: store.read_one_table(name) for path, name in program.tables.items()})
    functions = {item.name: FunctionCounts(1, item.instructions) for item in table.functions}
    return Profile(benchmark, NO_SYMBOLS, functions)
