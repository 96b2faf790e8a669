"""A program started with the tracer in it, and waited for."""

from __future__ import annotations

import mmap
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from datamill.execution.tracing.tracer import LEDGER_VARIABLE
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument

#: Signals that are meant for the program when they reach us alone.
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT, signal.SIGWINCH)
#: Signals that a terminal sends to both.
_SHARED = (signal.SIGINT, signal.SIGQUIT)
#: Folders of ledgers, with the process that made them.
_FOLDER = "datamill-trace-"
#: Folders that a program lies in, one within the other, at most: from each of them up to the root.
_DEEPEST_FOLDER = 64
_NOT_FOUND, _NOT_EXECUTABLE = "is not here", "cannot be executed"


@contextmanager
def opening_ledger(
    header: bytes, size: int, reserved: tuple[int, int] = (0, 0)
) -> Iterator[tuple[Path, mmap.mmap]]:
    """Make a ledger that traced programs can map; give its path and its bytes. It is gone afterwards.

    Any user may write to it: a traced program may have given up the rights that it was started with.

    Args:
        header: its first bytes.
        size: in bytes.
        reserved: a part of it that gets its memory now, as offset and length: where there is too little, a
            program that writes to it later would be killed.

    Raises:
        InputError: there is no room for what is reserved.
    """
    # In memory where there is such a folder: a ledger is mostly holes, and worthless after a crash.
    shared, temporary = Path("/dev/shm"), Path(tempfile.gettempdir())
    folders = [shared, temporary] if os.access(shared, os.W_OK) else [temporary]
    _remove_left_ledgers(folders[0])
    with ExitStack() as open_files:
        for folder in folders:
            try:
                path, file = open_files.enter_context(_making_file(folder, header, size, reserved))
            except OSError as error:
                if folder is not folders[-1]:
                    continue
                raise InputError(
                    f"there is no room for {-(-reserved[1] >> 20)} MiB of latencies in {folder}: "
                    f"{error.strerror}",
                    remedy=f"Keep fewer of them with {argument('calls', verb='allocators trace')}.",
                ) from error
            with mmap.mmap(file.fileno(), size) as mapped:
                yield path, mapped
            return


@contextmanager
def _making_file(
    folder: Path, header: bytes, size: int, reserved: tuple[int, int]
) -> Iterator[tuple[Path, BinaryIO]]:
    with tempfile.TemporaryDirectory(prefix=f"{_FOLDER}{os.getpid()}-", dir=folder) as name:
        Path(name).chmod(0o711)
        path = Path(name) / "ledger"
        with path.open("w+b") as file:
            path.chmod(0o666)
            file.write(header)
            file.truncate(size)
            if reserved[1]:
                file.flush()
                os.posix_fallocate(file.fileno(), *reserved)
            yield path, file


def _remove_left_ledgers(folder: Path) -> None:
    """Remove what a command that was killed left there."""
    for left in folder.glob(f"{_FOLDER}*-*"):
        pid = left.name.removeprefix(_FOLDER).split("-")[0]
        with suppress(OSError):
            is_ours = left.stat().st_uid == os.getuid()
            if is_ours and pid.isdigit() and not Path("/proc", pid).exists():
                shutil.rmtree(left)


def name_for_glibc(tracer: Path) -> str:
    """Return the absolute path of a library as only glibc's dynamic linker can read it.

    Where a program of another C library is in the tree, musl's linker ends it over a preloaded library that
    it cannot load, and passes over one that is not there: it does not know `$ORIGIN`, the program's folder.
    """
    return f"$ORIGIN{'/..' * _DEEPEST_FOLDER}{tracer}"


def run_traced(
    command: Sequence[str], tracer: Path, ledger: Path, *, look: Callable[[], None], every_s: float
) -> int:
    """Run a program with the tracer in it, in our own group, with our own descriptors; return how it ended.

    Args:
        command: the program and its arguments.
        tracer: the library.
        ledger: the file in which it counts.
        look: called every `every_s` seconds while the program runs.
        every_s: seconds.

    Returns:
        Its exit status, or the negative number of the signal that ended it.

    Raises:
        InputError: when there is no such program, or it cannot be executed.
    """
    preloaded = os.environ.get("LD_PRELOAD", "")
    environment = {
        **os.environ,
        "LD_PRELOAD": f"{name_for_glibc(tracer)}:{preloaded}" if preloaded else name_for_glibc(tracer),
        LEDGER_VARIABLE: str(ledger),
    }
    return run_watched(command, environment=environment, look=look, every_s=every_s)


def run_watched(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    look: Callable[[], None],
    every_s: float,
    prepare: Callable[[], None] | None = None,
    verb: str = "allocators trace",
) -> int:
    """Run a program in our own group, with our own descriptors; return how it ended.

    Args:
        command: the program and its arguments.
        environment: all of it.
        look: called every `every_s` seconds while the program runs.
        every_s: seconds.
        prepare: called in the new process before it becomes the program.
        verb: how the user asked for it.

    Returns:
        Its exit status, or the negative number of the signal that ended it.

    Raises:
        InputError: when there is no such program, or it cannot be executed.
    """
    with _passing_signals_on() as started:
        try:
            process = subprocess.Popen(
                list(command), env=dict(environment), close_fds=False, preexec_fn=prepare
            )
        except OSError as error:
            reason = _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE
            raise InputError(
                f"{command[0]} {reason}",
                remedy=f"Type the program as a shell would find it, such as: datamill {verb} -- "
                "python script.py",
            ) from error
        started.append(process)
        while True:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(timeout=every_s)
            look()


@contextmanager
def _passing_signals_on() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, _: object) -> None:
        for process in started:
            process.send_signal(number)

    # A handler of ours, not SIG_IGN, which the program would inherit.
    handlers = {
        **dict.fromkeys(_PASSED_ON, pass_on),
        **dict.fromkeys(_SHARED, lambda *_: None),
    }
    before = {
        number: signal.signal(number, handler)
        for number, handler in handlers.items()
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield started
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_alike(status: int) -> None:
    """End this process as the program did, where a signal ended it; return where none did."""
    if status >= 0:
        return
    number = -status
    # The core of the program is the one that matters.
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
