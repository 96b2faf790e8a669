"""A turn on this machine for tests that set it: nobody measures meanwhile, and no other such test runs."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from datamill.execution import host_lock


@contextmanager
def having_the_machine() -> Iterator[None]:
    """Hold the lock that `datamill run` and all workers of this machine take, once it is free."""
    with pytest.MonkeyPatch.context() as patch:
        # Tests play many machines on this one and do not wait for one another; this one must.
        patch.delenv(host_lock.LOCK_VARIABLE, raising=False)
        opened = host_lock._open_machine_lock()
    if opened is None:
        yield
        return
    with os.fdopen(opened, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting until nobody measures on this machine", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
