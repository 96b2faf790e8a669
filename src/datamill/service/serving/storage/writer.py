"""The one thread that changes what the coordinator knows.

Its functions read, decide and write; two of them at once could both lease a worker. While `datamill serve`
runs, everything that changes experiments, trials, attempts and workers goes through `run_as_writer`, which
also wakes the loop that leases trials and sends orders. Elsewhere (tests, simulations) it calls the function
at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import connection

from datamill.service.serving.storage.database_lock import hold_database

P = ParamSpec("P")
T = TypeVar("T")


class Writer:
    """Runs functions one after the other in a thread with a database connection of its own.

    Args:
        on_change: called, in whatever thread, after a function that was not the loop's own.
    """

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="writer")
        self._on_change = on_change
        self._thread: threading.Thread | None = None

    def submit(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> Future[T]:
        """Have a function run in the thread, after those before it."""

        def call() -> T:
            self._thread = threading.current_thread()
            hold_database(connection)
            return function(*arguments, **options)

        return self._executor.submit(call)

    def close_connection(self) -> Future[None]:
        """Have the thread close its connection, so that what comes next opens another."""
        # In the thread: each has a connection of its own behind this name.
        return self._executor.submit(lambda: connection.close())

    def run(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Run a function in the thread, wait for what it returns, and wake the loop."""
        if threading.current_thread() is self._thread:
            return function(*arguments, **options)
        try:
            return self.submit(function, *arguments, **options).result()
        finally:
            self._on_change()

    def close(self) -> None:
        """Let the thread finish what it has begun, and end it with its connection."""
        self.close_connection()
        self._executor.shutdown(wait=True, cancel_futures=False)


_serving: Writer | None = None


def set_writer(writer: Writer | None) -> None:
    """Say which thread writes from now on; None: whoever calls."""
    global _serving
    _serving = writer


def run_as_writer(function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Call a function of the coordinator that changes something, and return what it returns.

    Raises:
        Exception: whatever the function raises.
    """
    if _serving is None:
        return function(*arguments, **options)
    return _serving.run(function, *arguments, **options)
