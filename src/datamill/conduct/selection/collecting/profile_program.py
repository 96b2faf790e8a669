"""The profiles of a program's benchmarks."""

from __future__ import annotations

from pathlib import Path

from datamill.conduct.selection.collecting.commands import fill_command
from datamill.conduct.selection.profile_command import count_command
from datamill.conduct.selection.store.kept_binaries import list_variables
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.experiment.errors import InputError
from datamill.selection.history.joined_tables import join_tables, label_programs
from datamill.selection.history.records import Program, WorkCount
from datamill.selection.history.settings import SelectionSettings
from datamill.selection.profiles.callgrind import METHOD, build_profile
from datamill.selection.profiles.profile import FunctionCounts, Profile

#: How much longer a benchmark may take while it is counted.
_SLOWER = 60.0
NO_SYMBOLS = "none: the program has no symbols, and every function counts as reached"


def profile_program(
    program: Program, settings: SelectionSettings, store: SelectionStore, here: Path
) -> list[WorkCount]:
    """Count what each benchmark executes of a program, and keep the profiles; return all instructions.

    The profiler knows no functions of programs without symbols: then all of them count as reached, which
    misses no change. A benchmark that fails, or never reaches the program, has no profile, and its count says
    why.

    Raises:
        InputError: valgrind is not installed.
    """
    folder = store.place_programs(program.name)
    paths = {path: folder / path for path in program.tables}
    labels = label_programs(paths)
    profiles: list[Profile] = []
    counts: list[WorkCount] = []
    for benchmark in settings.benchmark:
        try:
            command = fill_command(benchmark.command, here)
            counted = count_command(
                command,
                list(paths.values()),
                timeout=settings.timeout_s * _SLOWER,
                directory=folder,
                variables=list_variables(program, folder),
            )
        except InputError as error:
            told = " ".join(f"{error.where}: {error.message}".split())
            counts.append(WorkCount(program.name, benchmark.name, None, told))
            continue
        functions: dict[str, FunctionCounts] = {}
        for path, place in paths.items():
            table = store.read_one_table(program.tables[path])
            found = build_profile(benchmark.name, table, counted.programs[place])
            begin = f"{labels[path]}: " if len(paths) > 1 else ""
            functions |= {f"{begin}{name}": item for name, item in found.functions.items()}
        if not functions and counted.instructions and _are_nameless(program, store):
            profiles.append(_count_all_as_reached(benchmark.name, program, store))
        elif not functions:
            counts.append(WorkCount(program.name, benchmark.name, None, "never executes the programs"))
            continue
        else:
            profiles.append(Profile(benchmark.name, METHOD, functions))
        counts.append(WorkCount(program.name, benchmark.name, counted.instructions))
    store.write_profiles(program.name, profiles)
    return counts


def _are_nameless(program: Program, store: SelectionStore) -> bool:
    return any(store.read_one_table(name).source != "symbols" for name in program.tables.values())


def _count_all_as_reached(benchmark: str, program: Program, store: SelectionStore) -> Profile:
    # Labelled as profiles are kept: with several binaries alone.
    table = join_tables({path: store.read_one_table(name) for path, name in program.tables.items()})
    functions = {item.name: FunctionCounts(1, item.instructions) for item in table.functions}
    return Profile(benchmark, NO_SYMBOLS, functions)
