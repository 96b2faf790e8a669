"""What runs in a process of its own: one function, within bounds of memory and time."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import gc
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import speak_command_line, speaking

_PR_SET_PDEATHSIG = 1
#: How readily the kernel ends it rather than the coordinator when memory is short.
_OOM_SCORE = "800"
#: How far a session stands back: it gets a ninth of what another gets, so that something comes of it.
NICENESS_OF_SESSION = 10


@dataclass(frozen=True, slots=True)
class Budget:
    """What a function may take: memory beyond that of a fresh process, processor time, time, bytes of a file.

    `remedy` says what to do where that is not enough. With `draws` addresses that nothing is kept at do not
    count: what draws figures reserves 60 GB of them. What `takes_turns` is worked on by at most half of the
    processors; the others wait.
    """

    memory_bytes: int
    cpu_s: int
    elapsed_s: float
    file_bytes: int = 0
    remedy: str = ""
    draws: bool = False
    takes_turns: bool = False


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """What became of a function: `value` is what it returned, the error of the input, or a traceback."""

    kind: Literal["returned", "refused", "memory", "disk", "deep", "defect"]
    value: Any = None


def answer_call(
    connection: Connection, budget: Budget, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    """Call a function within its budget and send its `CallAnswer`; the kernel ends what takes too long."""
    _confine(budget)
    try:
        # What it says of itself is read on pages and by commands; errors are spelled where they are shown.
        with speaking(speak_command_line):
            answer = CallAnswer("returned", function(*arguments))
    except InputError as problem:
        answer = CallAnswer("refused", problem)
    except MemoryError:
        answer = CallAnswer("memory")
    except RecursionError:
        answer = CallAnswer("deep")
    except OSError as problem:
        full = problem.errno in (errno.EFBIG, errno.ENOSPC)
        answer = CallAnswer("disk") if full else CallAnswer("defect", traceback.format_exc())
    except Exception:  # whatever it is, the coordinator's log should have it
        answer = CallAnswer("defect", traceback.format_exc())
    try:
        connection.send(answer)
    except MemoryError:
        connection.send(CallAnswer("memory"))
    connection.close()
    # There is nothing to tidy up, and a large heap takes long.
    os._exit(0)


def _confine(budget: Budget) -> None:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)
        sizes = Path("/proc/self/statm").read_text().split()
        # Of all addresses, or of what is kept in memory that is the process's alone.
        kind, place = (resource.RLIMIT_DATA, 5) if budget.draws else (resource.RLIMIT_AS, 0)
        has = int(sizes[place]) * resource.getpagesize()
        resource.setrlimit(kind, (has + budget.memory_bytes,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (budget.cpu_s, budget.cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (budget.file_bytes,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    stand_back()
    # What there was before the fork is shared with it as long as nobody touches it.
    gc.freeze()


def stand_back() -> None:
    """Have this process, and those that it starts, take only the processor time that nobody else wants.

    Trials are leased and reports taken by a process beside it, which must not wait for what users ask.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except (AttributeError, OSError):
        os.nice(19)


def hurry(process: int) -> None:
    """Have a process that stands back do so no more: it is to end, which takes the processor as well."""
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setscheduler(process, os.SCHED_OTHER, os.sched_param(0))


def leave_session() -> None:
    """Start a session of its own, which stands back for others.

    Where the kernel shares processors out among sessions, what stands back would take the time of ours from
    the broker, which is in one of its own.
    """
    with contextlib.suppress(OSError):
        os.setsid()
        Path("/proc/self/autogroup").write_text(str(NICENESS_OF_SESSION), encoding="ascii")
