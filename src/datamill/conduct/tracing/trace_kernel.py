"""Trace what the kernel does for a program: its system calls, and block requests while it runs."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from datamill.allocators.kernel.block_requests import BlockRequests, collect_block_requests
from datamill.allocators.kernel.events import EventReader
from datamill.allocators.kernel.formats import EventFormat, parse_event_format, parse_page_size
from datamill.allocators.kernel.probes import (
    CALL_PROBES,
    ENTER,
    EXIT,
    REFILLS,
    REQUEST_PROBES,
    SLAB_PAGES,
    list_missing,
)
from datamill.allocators.kernel.system_calls import IDLE_CALL, SlabCode, SystemCalls, collect_system_calls
from datamill.conduct.tracing.kernel_symbols import find_code
from datamill.execution.tracing.trace_buffer import TraceBuffer, opening_buffer
from datamill.execution.tracing.traced_program import run_watched
from datamill.execution.tracing.tracefs import opening_tracefs
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.suggestions import suggest_name

_LOOK_EVERY_S = 0.05
#: Calls that do nothing, to know what being recorded costs.
_IDLE_CALLS = 1000
#: Bytes of a call in the buffers: its beginning, its end, and an event with its stack now and then.
_BYTES_A_CALL = 256
_VERB = "allocators kernel"
#: Columns that are empty without an event.
_COLUMNS_OF = {
    "kmem/mm_page_alloc": ("pages",),
    "sched/sched_switch": ("switches", "off_cpu_ns"),
    "exceptions/page_fault_kernel": ("page_faults",),
    "block/block_bio_queue": ("requests",),
    "block/block_bio_backmerge": ("merged",),
    "block/block_split": ("split",),
}


@dataclass(frozen=True, slots=True)
class KernelTrace:
    """What the kernel did for a program, and how that ended: its status, or minus the number of a signal.

    Args:
        calls: its system calls.
        requests: block requests of the machine while it ran; None where they were not asked for.
        status: how it ended.
        lost: events that found no room in the kernel's buffers.
        not_visible: what this kernel does not show, a clause each.
    """

    calls: SystemCalls
    requests: BlockRequests | None
    status: int
    lost: int
    not_visible: tuple[str, ...]


def trace_kernel(
    command: Sequence[str], *, only: Sequence[str] = (), limit: int, requests: bool = False
) -> KernelTrace:
    """Run a program and record its system calls, and those of its children, by the kernel's tracepoints.

    Args:
        command: the program and its arguments.
        only: names of the system calls that are recorded; all without any.
        limit: calls that are kept, and block requests.
        requests: whether block requests are recorded too: those of the whole machine.

    Raises:
        InputError: there is no such program or system call, or the kernel's tracepoints are not there, or not
            open to
        us.
    """
    with opening_tracefs() as tracefs, ExitStack() as buffers:
        events = tracefs / "events"
        offered = {path.name.removeprefix(ENTER) for path in (events / "syscalls").glob(f"{ENTER}*")}
        if not offered:
            raise InputError(
                "this kernel has no tracepoints of system calls",
                remedy="Use a kernel with CONFIG_FTRACE_SYSCALLS, as distributions build theirs.",
            )
        _check_names(only, offered)
        page_size = parse_page_size((events / "header_page").read_text(encoding="ascii"))
        calls = _Recording(buffers.enter_context(opening_buffer(tracefs, "calls", page_size)), events)
        calls.ask_for_calls(only)
        recordings = [calls]
        if requests:
            every = _Recording(buffers.enter_context(opening_buffer(tracefs, "requests", page_size)), events)
            every.ask_for_requests()
            recordings.append(every)
        status = _run(command, recordings, limit)
        found = calls.collect_calls(only, limit)
        if found.idle_ns is None:
            raise InputError(
                "the kernel recorded nothing of the program",
                remedy="Trace it on the machine itself: in a container its processes have other numbers "
                "than the kernel's.",
            )
        return KernelTrace(
            found,
            recordings[1].collect_requests(limit, found.threads) if requests else None,
            status,
            sum(recording.buffer.count_lost() for recording in recordings),
            tuple(dict.fromkeys(clause for recording in recordings for clause in recording.not_visible)),
        )


def _check_names(only: Sequence[str], offered: Collection[str]) -> None:
    for name in only:
        if name not in offered:
            raise InputError(
                f"this kernel traces no system call {name}",
                where=argument("only", verb=_VERB),
                remedy=f"{suggest_name(name, offered)} Some have another name in the kernel: newfstat "
                "for fstat.",
            )


def _run(command: Sequence[str], recordings: Sequence[_Recording], limit: int) -> int:
    room = [max(limit * _BYTES_A_CALL, 1 << 20) for _ in recordings]
    calls, *others = recordings
    folder = calls.buffer.folder
    filter_file = os.open(folder / "set_event_pid", os.O_WRONLY)
    switch_file = os.open(folder / "tracing_on", os.O_WRONLY)

    def begin() -> None:
        # In the new process: with an empty filter, everybody's events would be recorded.
        os.write(filter_file, str(os.getpid()).encode())
        os.write(switch_file, b"1")
        for _ in range(_IDLE_CALLS):
            os.getppid()

    def look() -> None:
        for at, recording in enumerate(recordings):
            room[at] -= recording.buffer.take_pages(most=room[at])
            if room[at] <= 0:
                recording.buffer.put("tracing_on", "0")

    try:
        for recording in others:
            recording.buffer.put("tracing_on", "1")
        status = run_watched(
            command, environment=os.environ, look=look, every_s=_LOOK_EVERY_S, prepare=begin, verb=_VERB
        )
    finally:
        os.close(filter_file)
        os.close(switch_file)
        for recording in recordings:
            recording.buffer.put("tracing_on", "0")
    look()
    return status


class _Recording:
    """A buffer with the events that were asked for in it."""

    def __init__(self, buffer: TraceBuffer, events: Path) -> None:
        self.buffer, self._events = buffer, events
        self._formats: dict[int, EventFormat] = {}
        self._hidden: list[str] = []
        self._code = SlabCode()
        self.not_visible: list[str] = []

    def ask_for_calls(self, only: Sequence[str]) -> None:
        """Ask for system calls, of the program alone, and what happens in them.

        Raises:
            InputError: the kernel does not follow processes.
        """
        # The program adds itself to the filter; an empty one lets everything through.
        if not self.buffer.put("set_event_pid", "") or not self.buffer.put("options/event-fork", "1"):
            raise InputError(
                "this kernel cannot record the events of one program and its children",
                remedy="Use Linux 5.2 or later.",
            )
        # All at once where all are wanted: the kernel takes its time over each.
        at_once = not only and self.buffer.enable("syscalls")
        for name in {*only, IDLE_CALL, "execve", "execveat"} if only else {"*"}:
            for kind in (ENTER, EXIT):
                for folder in (self._events / "syscalls").glob(kind + name):
                    path = f"syscalls/{folder.name}"
                    if at_once or self.buffer.enable(path):
                        self._read_format(path)
        asked = [probe.path for probe in CALL_PROBES if self._ask(probe.path)]
        self.not_visible += list_missing(CALL_PROBES, asked)
        self._hidden += [
            column for path, columns in _COLUMNS_OF.items() if path not in asked for column in columns
        ]
        self._ask_for_slabs()

    def _ask_for_slabs(self) -> None:
        code = find_code({"pages": SLAB_PAGES, "refills": REFILLS})
        # The condition holds always; with one, the kernel asks first whether the thread is ours.
        pages_trigger = "events/kmem/mm_page_alloc/trigger"
        if code["pages"] and self.buffer.put(pages_trigger, "stacktrace if order >= 0"):
            self._read_format("ftrace/kernel_stack")
        else:
            self._hidden.append("slab_pages")
            self.not_visible.append(
                "pages that were allocated for slabs: this kernel does not say where pages are asked for"
            )
        if code["refills"] and self._ask_for_functions():
            self._read_format("ftrace/function")
        else:
            self._hidden.append("slab_refills")
            self.not_visible.append(
                "refills of a processor's cache from slabs that were there (their functions are not open to "
                "tracing on this kernel): a call is binned where pages were allocated for a slab"
            )
        self._code = SlabCode(pages=code["pages"], refills=code["refills"])

    def _ask_for_functions(self) -> bool:
        put = self.buffer.put
        taken = [name for name in REFILLS if put("set_ftrace_filter", name, add=True)]
        # A number first: with none, functions of all processes would be recorded.
        return (
            bool(taken)
            and put("set_ftrace_pid", str(os.getpid()))
            and put("options/function-fork", "1")
            and put("current_tracer", "function")
        )

    def ask_for_requests(self) -> None:
        """Ask for block requests, of all processes."""
        asked = [probe.path for probe in REQUEST_PROBES if self._ask(probe.path)]
        self.not_visible += list_missing(REQUEST_PROBES, asked)

    def _ask(self, path: str) -> bool:
        return self.buffer.enable(path) and self._read_format(path)

    def _read_format(self, path: str) -> bool:
        try:
            form = parse_event_format((self._events / path / "format").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return False
        self._formats[form.number] = form
        return True

    def collect_calls(self, only: Sequence[str], limit: int) -> SystemCalls:
        """Pair what was recorded of calls."""
        return collect_system_calls(
            EventReader(self._formats).list_events(self.buffer.pages),
            self._formats.values(),
            limit=limit,
            only=only,
            hidden=self._hidden,
            code=self._code,
        )

    def collect_requests(self, limit: int, own: Collection[int]) -> BlockRequests:
        """Follow what was recorded of block requests."""
        return collect_block_requests(
            EventReader(self._formats).list_events(self.buffer.pages),
            self._formats.values(),
            limit=limit,
            own=own,
        )
