"""Trace a Python program that runs already, by what CPython 3.14 offers for it (`sys.remote_exec`)."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from mmap import mmap
from pathlib import Path

from datamill.allocators.ledger import plan_ledger, read_ledger, read_totals
from datamill.allocators.visibility import State
from datamill.conduct.tracing.trace_allocations import TracedProgram
from datamill.execution.tracing.traced_program import opening_ledger
from datamill.execution.tracing.tracer import LEDGER_VARIABLE, find_tracer
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_fixed

#: The program executes the script when it next comes to a safe point; one that waits in C does not.
_BEGINS_WITHIN_S = 10.0
_LOOK_EVERY_S = 0.1
_CAN_ATTACH = "import sys; print(hasattr(sys, 'remote_exec') and sys.is_remote_debug_enabled())"
_EXECUTE = "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])"
_BEGIN = """\
import ctypes, os
os.environ[{variable!r}] = {ledger!r}
_tracer = ctypes.PyDLL({tracer!r})
del os.environ[{variable!r}]
_tracer.datamill_trace_enable()
"""
_END = """\
import ctypes
ctypes.PyDLL({tracer!r}).datamill_trace_disable()
"""


def trace_running(
    pid: int,
    *,
    stacks: bool = False,
    seconds: float | None = None,
    look: Callable[[dict[str, int]], None] | None = None,
) -> TracedProgram:
    """Count the allocations of a program that runs already, until it ends or for so many seconds.

    An interrupt (Ctrl-C) ends the trace and leaves the program as it is.

    Args:
        pid: its process.
        stacks: whether whole stacks are kept.
        seconds: for how long; None for as long as it runs.
        look: called now and then with the totals so far.

    Raises:
        InputError: there is no such process, or it is not a CPython of 3.14 or later that lets itself be
        looked at.
    """
    program = _find_program(pid)
    tracer = find_tracer()
    plan = plan_ledger(stacks=stacks, regions=True)
    with opening_ledger(plan.header, plan.size) as (path, ledger):
        names = {"variable": LEDGER_VARIABLE, "ledger": str(path), "tracer": str(tracer)}
        _execute(program, pid, path.with_name("begin.py"), _BEGIN.format(**names))
        deadline = time.monotonic() + _BEGINS_WITHIN_S
        while not _has_begun(ledger):
            if time.monotonic() > deadline:
                raise InputError(
                    f"process {pid} reached no point at which it can be inspected in "
                    f"{format_fixed(_BEGINS_WITHIN_S, 0)} s",
                    where=argument("pid", verb="allocators trace"),
                    remedy="It may wait outside Python, as for input: try again while it works.",
                )
            time.sleep(_LOOK_EVERY_S)
        with suppress(KeyboardInterrupt):
            _wait(pid, seconds, lambda: look(read_totals(ledger)) if look is not None else None)
        if _runs(pid):
            _execute(program, pid, path.with_name("end.py"), _END.format(**names))
            # What is executed there reads the file when it comes to it.
            time.sleep(2 * _LOOK_EVERY_S)
        return TracedProgram(read_ledger(ledger), 0)


def _find_program(pid: int) -> str:
    """Return the path of a process's interpreter, which can execute a script in it."""
    try:
        program = str(Path(f"/proc/{pid}/exe").readlink())
    except OSError as error:
        reason = "is not here" if isinstance(error, FileNotFoundError) else "is another user's"
        raise InputError(
            f"process {pid} {reason}",
            where=argument("pid", verb="allocators trace"),
            remedy="ps lists processes.",
        ) from error
    try:
        asked = _run_like(program, pid, _CAN_ATTACH) if "python" in Path(program).name else None
    except (OSError, subprocess.TimeoutExpired):
        asked = None
    if asked is None or asked.stdout.strip() != "True":
        raise InputError(
            f"process {pid} already runs, and {program} is not a CPython of 3.14 or later that lets "
            "itself be "
            "looked at",
            where=argument("pid", verb="allocators trace"),
            remedy="Start it again as a program of which only regions are traced, and begin where it "
            "says datamill.allocators.enable(); nothing is counted, and nothing slower, before.",
        )
    return program


def _execute(program: str, pid: int, script: Path, text: str) -> None:
    script.write_text(text, encoding="utf-8")
    script.chmod(0o644)
    done = _run_like(program, pid, _EXECUTE, str(pid), str(script))
    if done.returncode != 0 and _runs(pid):
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise InputError(
            f"process {pid} cannot be inspected: {said}",
            where=argument("pid", verb="allocators trace"),
            remedy="That takes the rights of a debugger (ptrace): be root or its user, and see "
            "/proc/sys/kernel/yama/ptrace_scope.",
        )


def _run_like(program: str, pid: int, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Execute code by the interpreter of a process, which may find its libraries by its environment."""
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        words = []
    own = dict(word.split("=", 1) for word in words if word.startswith("LD_LIBRARY_PATH="))
    return subprocess.run(
        [program, "-I", "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
        env={**os.environ, **own},
    )


def _has_begun(ledger: mmap) -> bool:
    found = read_ledger(ledger)
    return any(interpreter.state & State.BEGAN for interpreter in found.interpreters)


def _wait(pid: int, seconds: float | None, look: Callable[[], object]) -> None:
    end = None if seconds is None else time.monotonic() + seconds
    while _runs(pid) and (end is None or time.monotonic() < end):
        time.sleep(_LOOK_EVERY_S)
        look()


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
