"""The kernel's trace file system (tracefs): where it is mounted, or a mount that only we see."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from datamill.experiment.errors import InputError

_MOUNTED = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
#: System calls have the same numbers on all processors since these three (Linux 5.2).
_FSOPEN, _FSCONFIG, _FSMOUNT = 430, 431, 432
_CLOSE_ON_EXEC, _CREATE = 1, 6


@contextmanager
def opening_tracefs() -> Iterator[Path]:
    """Give the folder of tracefs.

    Where it is not mounted it is mounted for us alone, and gone when we end, however that is.

    Raises:
        InputError: this kernel has none, or we may not use it.
    """
    for folder in _MOUNTED:
        if (folder / "events").is_dir() and os.access(folder / "instances", os.W_OK):
            yield folder
            return
    if not _is_known():
        raise InputError(
            "this kernel has no tracefs, so that none of its tracepoints can be read",
            remedy="Use a kernel with CONFIG_TRACING and CONFIG_FTRACE_SYSCALLS, as distributions build "
            "theirs.",
        )
    descriptor = _mount()
    try:
        # The descriptor is ours, and stays so for children that inherit nothing.
        yield Path(f"/proc/{os.getpid()}/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _is_known() -> bool:
    with suppress(OSError):
        return "tracefs" in Path("/proc/filesystems").read_text(encoding="ascii").split()
    return False


def _mount() -> int:
    library = ctypes.CDLL(None, use_errno=True)

    def call(number: int, *arguments: object) -> int:
        answer: int = library.syscall(ctypes.c_long(number), *arguments)
        if answer < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return answer

    try:
        context = call(_FSOPEN, ctypes.c_char_p(b"tracefs"), ctypes.c_uint(_CLOSE_ON_EXEC))
        try:
            call(_FSCONFIG, ctypes.c_int(context), ctypes.c_uint(_CREATE), None, None, ctypes.c_int(0))
            return call(_FSMOUNT, ctypes.c_int(context), ctypes.c_uint(_CLOSE_ON_EXEC), ctypes.c_uint(0))
        finally:
            os.close(context)
    except OSError as error:
        raise InputError(
            f"the kernel's tracepoints (tracefs) are not open to us: {error.strerror}",
            remedy="Be root, or have an administrator mount tracefs at /sys/kernel/tracing and give you its "
            "folder; a container needs CAP_SYS_ADMIN.",
        ) from error
