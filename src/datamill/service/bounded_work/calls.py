"""Calls that users' input makes large: each in a process that ends with it, or with its client."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import Any, TypeVar

from datamill.experiment.errors import InputError
from datamill.experiment.quantities import format_duration, format_size
from datamill.service.bounded_work.child import Budget, CallAnswer, answer_call, hurry
from datamill.service.bounded_work.departures import Departure, find_departure
from datamill.service.bounded_work.turns import BusyError, GoneError

log = logging.getLogger("datamill.serve")

T = TypeVar("T")

#: Loaded once, in the process from which all others are forked.
_PRELOADED = ["datamill.service.bounded_work.preloaded"]
#: From one look to the next whether a client has left; an answer is taken as soon as it is there.
_LOOK_EVERY_S = 0.2


class BudgetError(InputError):
    """A function takes more than its budget."""


class Calls:
    """Runs functions in processes of their own; whatever they took is the machine's again when they end."""

    def __init__(self) -> None:
        self._context: ForkServerContext = get_context("forkserver")
        self._context.set_forkserver_preload(_PRELOADED)
        self._lock = threading.Lock()
        # Even what stands back takes caches and memory from what leases trials, on the processor beside it.
        self._turns = threading.Semaphore(max(1, len(os.sched_getaffinity(0)) // 2))

    def start(self) -> None:
        """Have the process made from which others are forked, beside all else: loading it takes seconds."""
        # Threads of a numeric library would not outlive the fork.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        threading.Thread(target=self._make_first_call, name="first call", daemon=True).start()

    def _make_first_call(self) -> None:
        try:
            self.run(Budget(1 << 30, 60, 180.0), Departure(), int)
        except (InputError, OSError, RuntimeError):
            log.exception("no process for what users ask could be started")

    def run(
        self,
        budget: Budget,
        departure: Departure,
        function: Callable[..., T],
        *arguments: Any,
    ) -> T:
        """Return what a function returns.

        Raises:
            InputError: what it raises; `BudgetError`, that it takes more than its budget.
            BusyError: when it takes turns, and had none for as long as it might take.
            GoneError: when the client leaves.
            RuntimeError: when it fails otherwise.
        """
        with self._taking_turn(budget, departure):
            return self._run(budget, departure, function, arguments)

    @contextmanager
    def _taking_turn(self, budget: Budget, departure: Departure) -> Iterator[None]:
        if not budget.takes_turns:
            yield
            return
        ends_s = time.monotonic() + budget.elapsed_s
        while not self._turns.acquire(timeout=_LOOK_EVERY_S):
            if departure.has_left:
                raise GoneError
            if time.monotonic() > ends_s:
                raise BusyError("answers for others are worked out", remedy="Try again in some minutes.")
        try:
            yield
        finally:
            self._turns.release()

    def _run(
        self, budget: Budget, departure: Departure, function: Callable[..., T], arguments: tuple[Any, ...]
    ) -> T:
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=answer_call, args=(theirs, budget, function, arguments), daemon=True
        )
        try:
            with self._lock:
                process.start()
            theirs.close()
            answer = _await_answer(ours, process, budget, departure)
        finally:
            ours.close()
            status = self._end(process)
        if answer is None:
            raise _refuse_time(budget) if status == -signal.SIGXCPU else _refuse_memory(budget)
        if answer.kind == "refused":
            raise answer.value
        if answer.kind == "memory":
            raise _refuse_memory(budget)
        if answer.kind == "disk":
            raise BudgetError(
                f"this takes more than {format_size(budget.file_bytes)} on disk", remedy=budget.remedy
            )
        if answer.kind == "deep":
            raise BudgetError("this is nested too deep to be worked on", remedy=budget.remedy)
        if answer.kind == "defect":
            raise RuntimeError(f"a function failed in its own process:\n{answer.value}")
        value: T = answer.value
        return value

    def _end(self, process: ForkServerProcess) -> int | None:
        """End a process and return its status, None when it never began."""
        if process.pid is None:
            return None
        hurry(process.pid)
        process.kill()
        process.join()
        status = process.exitcode
        # A start in another thread looks at all processes that are not closed.
        with self._lock:
            process.close()
        return status


def _await_answer(
    ours: Connection, process: ForkServerProcess, budget: Budget, departure: Departure
) -> CallAnswer | None:
    """Return the answer, None when there comes none.

    Raises:
        InputError: it takes too long.
        GoneError: when the client leaves.
    """
    ends_s = time.monotonic() + budget.elapsed_s
    while not ours.poll(_LOOK_EVERY_S):
        if departure.has_left:
            raise GoneError
        if time.monotonic() > ends_s:
            raise _refuse_time(budget)
        # It may have answered just before it ended.
        if not process.is_alive() and not ours.poll(0):
            return None
    try:
        answer: CallAnswer = ours.recv()
    except (EOFError, OSError):
        process.join(1)
        return None
    return answer


def _refuse_time(budget: Budget) -> InputError:
    return BudgetError(
        f"this takes more than {format_duration(budget.cpu_s)} to work out", remedy=budget.remedy
    )


def _refuse_memory(budget: Budget) -> InputError:
    return BudgetError(
        f"this takes more than {format_size(budget.memory_bytes)} of memory to work out", remedy=budget.remedy
    )


_serving: Calls | None = None


def set_calls(calls: Calls | None) -> None:
    """Say what runs calls from now on; None: the calling process, without bounds."""
    global _serving
    _serving = calls


def call_bounded(budget: Budget, function: Callable[..., T], *arguments: Any) -> T:
    """Return what a function of a user's input returns, in `datamill serve` from a process of its own.

    Raises:
        InputError: what it raises, or that it takes more than its budget, or that the client left.
    """
    if _serving is None:
        return function(*arguments)
    return _serving.run(budget, find_departure(), function, *arguments)
