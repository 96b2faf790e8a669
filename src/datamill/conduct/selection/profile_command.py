"""A command executed once to count what each function of a program does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.quantities import format_duration
from datamill.selection.profiles.callgrind import SymbolCounts, build_profile, read_callgrind, read_total
from datamill.selection.profiles.profile import Profile
from datamill.selection.tables.function_table import FunctionTable

#: How valgrind begins its lines: with the number of the process.
_OF_VALGRIND = re.compile(r"==\d+==|--\d+--")
_QUOTED_CHARACTERS = 300
#: Variables that a counted command gets, with what they are where the caller has none. Each costs a process
#: some 450 instructions as it starts, a tenth of a percent of a short one: with the caller's, counts of
#: one program in two terminals would differ by what counts as a change.
VARIABLES = {"PATH": os.defpath, "HOME": "/", "TMPDIR": tempfile.gettempdir(), "LANG": "C.UTF-8"}
#: What the caller has of these is passed on as well: without them a command, or valgrind, may not be found.
PASSED = ("LD_LIBRARY_PATH", "VALGRIND_LIB")


@dataclass(frozen=True, slots=True)
class CountedWork:
    """What the processes of a command executed: counts by symbol of each program.

    `instructions` are all those of processes that execute a program, in libraries too.
    """

    programs: Mapping[Path, dict[str, SymbolCounts]]
    instructions: int


def profile_command(
    command: Sequence[str], program: Path, table: FunctionTable, benchmark: str, timeout: float | None = None
) -> Profile:
    """Execute a command under callgrind and count calls and instructions of the functions of `program`.

    The counts depend on the program and its input alone, not on the machine's load. `timeout` is in seconds.

    Raises:
        InputError: valgrind is not installed, the command fails or takes longer, or it never reaches the
        program.
    """
    counted = count_command(command, [program], timeout=timeout)
    profile = build_profile(benchmark, table, counted.programs[program])
    if not profile.functions:
        raise InputError(
            f"never executes a function of {program}",
            where=command[0],
            remedy="Name the program that the command executes.",
        )
    return profile


def find_profiler() -> str:
    """Return the path of valgrind.

    Raises:
        InputError: it is not installed.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise InputError(
            "valgrind is not installed, which counts calls and instructions",
            remedy="Install it, on Debian with apt-get install valgrind.",
        )
    return valgrind


def count_command(
    command: Sequence[str],
    programs: Sequence[Path],
    *,
    timeout: float | None = None,
    directory: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> CountedWork:
    """Execute a command under callgrind, in `directory`, and count what the programs do in all processes.

    `variables` are set beside `VARIABLES`, which are all that the command gets of the caller's.

    Raises:
        InputError: valgrind is not installed, or the command fails or takes longer than `timeout` (seconds).
    """
    valgrind = find_profiler()
    with tempfile.TemporaryDirectory(prefix="datamill-profile-") as folder:
        pattern = Path(folder) / "counts.%p"
        started = [
            valgrind,
            "--tool=callgrind",
            "--demangle=no",
            "--trace-children=yes",
            f"--callgrind-out-file={pattern}",
            "--",
            *command,
        ]
        try:
            done = subprocess.run(
                started,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=timeout,
                cwd=directory,
                env=_choose_variables() | dict(variables or {}),
            )
        except subprocess.TimeoutExpired as error:
            raise InputError(
                f"takes longer than {format_duration(timeout or 0.0)} while it is counted",
                where=command[0],
                remedy=f"Give it less work, or more time: {argument('timeout', verb='selection profile')}.",
            ) from error
        if done.returncode != 0:
            said = quote_last(done.stderr) or quote_last(done.stdout)
            raise InputError(f"ends with status {done.returncode} under valgrind{said}", where=command[0])
        seen = {program: str(program.resolve()) for program in programs}
        return add_up_counts(sorted(Path(folder).glob("counts.*")), seen)


def _choose_variables() -> dict[str, str]:
    """The same number of variables wherever this is asked for."""
    chosen = {name: os.environ.get(name) or default for name, default in VARIABLES.items()}
    return chosen | {name: os.environ[name] for name in PASSED if name in os.environ}


def quote_last(written: bytes) -> str:
    """Return the last line of a command's own in quotes, without what valgrind writes beside it."""
    lines = written.decode(errors="replace").strip().splitlines()
    own = [line.strip() for line in lines if line.strip() and not _OF_VALGRIND.match(line)]
    return f'; it said: "{own[-1][-_QUOTED_CHARACTERS:]}"' if own else ""


def add_up_counts(files: Sequence[Path], programs: Mapping[Path, str]) -> CountedWork:
    """Return the counts of all processes together, a file each; `programs` have their names in these.

    A process that executes none of them adds nothing: what a load generator does, which waits for a server,
    hardly is the same twice, and is not what changed.
    """
    total: dict[Path, dict[str, SymbolCounts]] = {program: {} for program in programs}
    instructions = 0
    for file in files:
        lines = file.read_text(errors="replace").splitlines()
        found = {program: read_callgrind(lines, name) for program, name in programs.items()}
        if any(found.values()):
            instructions += read_total(lines)
        for program, symbols in found.items():
            for symbol, counts in symbols.items():
                kept = total[program].setdefault(symbol, SymbolCounts())
                kept.calls += counts.calls
                kept.instructions += counts.instructions
    return CountedWork(total, instructions)
