"""A command executed once to count what each function of a program does."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.quantities import format_duration
from datamill.selection.profiles.callgrind import SymbolCounts, build_profile, read_callgrind
from datamill.selection.profiles.profile import Profile
from datamill.selection.tables.function_table import FunctionTable


def profile_command(
    command: Sequence[str], program: Path, table: FunctionTable, benchmark: str, timeout: float | None = None
) -> Profile:
    """Execute a command under callgrind and count calls and instructions of the functions of `program`.

    The counts depend on the program and its input alone, not on the machine's load. `timeout` is in seconds.

    Raises:
        InputError: valgrind is not installed, the command fails or takes longer, or it never reaches the
        program.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise InputError(
            "valgrind is not installed, which counts calls and instructions",
            remedy="Install it, on Debian with apt-get install valgrind.",
        )
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
            done = subprocess.run(started, capture_output=True, check=False, timeout=timeout)
        except subprocess.TimeoutExpired as error:
            raise InputError(
                f"takes longer than {format_duration(timeout or 0.0)} while it is counted",
                where=command[0],
                remedy=f"Give it less work, or more time: {argument('timeout', verb='selection profile')}.",
            ) from error
        if done.returncode != 0:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise InputError(
                f"ends with status {done.returncode} under valgrind: {''.join(last)}", where=command[0]
            )
        counts = _add_up(sorted(Path(folder).glob("counts.*")), program)
    profile = build_profile(benchmark, table, counts)
    if not profile.functions:
        raise InputError(
            f"never executes a function of {program}",
            where=command[0],
            remedy="Name the program that the command executes.",
        )
    return profile


def _add_up(files: Sequence[Path], program: Path) -> dict[str, SymbolCounts]:
    """The counts of all processes together."""
    total: dict[str, SymbolCounts] = {}
    for file in files:
        with file.open(errors="replace") as lines:
            found = read_callgrind(lines, str(program.resolve()))
        for symbol, counts in found.items():
            kept = total.setdefault(symbol, SymbolCounts())
            kept.calls += counts.calls
            kept.instructions += counts.instructions
    return total
