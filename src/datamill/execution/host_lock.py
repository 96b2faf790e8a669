"""One experiment at a time on a host: a lock that dies with whoever holds it."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_fixed

#: Names the folder in which the worker keeps its journal; a host has one, tests have their own.
STATE_VARIABLE = "DATAMILL_STATE_DIR"
#: Says whom to wait for: with `state-folder` only those with the same state folder, as tests do that
#: play several machines on one.
LOCK_VARIABLE = "DATAMILL_HOST_LOCK"
#: Folders that all users may write, the first of which that a machine has receives the lock.
_LOCK_FOLDERS = (Path("/run/lock"), Path("/dev/shm"), Path("/tmp"))
_LOCK_NAME = "datamill-host.lock"
#: Time that a command gets to end, that the worker of a killed one gets to end its trial, and after which
#: its user is told what is waited for.
_WAIT_S, _WORKER_WAIT_S, _TELL_AFTER_S = 5.0, 60.0, 2.0
_CREDENTIALS = struct.Struct("3i")


@contextmanager
def lock_host(
    wait_s: float = _WAIT_S,
    *,
    worker_wait_s: float = _WORKER_WAIT_S,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[int, ...]]:
    """Hold this host for this process and those that inherit the yielded descriptors; a crash releases it.

    One is a locked file, by which all workers of a machine take turns, whatever their users, state folders
    and networks. The other is a listening socket under an abstract name, which tells who holds it. The
    kernel takes both away with their last holder. The worker of a killed command holds them until its trial's
    processes are gone: this waits for it up to `worker_wait_s` and tells, for others up to `wait_s`.

    Raises:
        InputError: when another experiment runs here, with its process and command.
    """
    name = name_lock(os.environ.get(STATE_VARIABLE, ""))
    patience = _Patience(name, wait_s, worker_wait_s, tell)
    with ExitStack() as stack:
        machine = _open_machine_lock()
        if machine is not None:
            stack.callback(os.close, machine)
            _lock_machine(machine, patience)
        held = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        while True:
            try:
                held.bind(name)
                break
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise InputError(f"the lock of this host cannot be taken: {error.strerror}") from None
                patience.wait()
        # Listening records our credentials, by which whoever is refused learns whom it waits for.
        held.listen(socket.SOMAXCONN)
        yield (held.fileno(),) if machine is None else (held.fileno(), machine)


class _Patience:
    """How long a lock is waited for: longer where its command is dead and only its worker is left."""

    def __init__(self, name: str, wait_s: float, worker_wait_s: float, tell: Callable[[str], None]) -> None:
        self._name, self._wait_s, self._worker_wait_s, self._tell = name, wait_s, worker_wait_s, tell
        self._began_s = time.monotonic()
        self._told = False

    def wait(self) -> None:
        """Wait for a moment.

        Raises:
            InputError: when it was long enough, with who holds the lock.
        """
        waited_s = time.monotonic() - self._began_s
        worker_left = False
        if waited_s >= min(self._wait_s, _TELL_AFTER_S):
            process, command = _find_holder(self._name)
            worker_left = bool(process) and not command
        if waited_s >= (self._worker_wait_s if worker_left else self._wait_s):
            raise _refuse(self._name)
        if worker_left and not self._told:
            self._told = True
            self._tell(
                "Waiting for the worker of a command that was killed: it ends its trial and puts this host "
                f"back as it was (up to {format_fixed(self._worker_wait_s, 0)} s) …"
            )
        time.sleep(0.05)


def _lock_machine(machine: int, patience: _Patience) -> None:
    while True:
        try:
            fcntl.flock(machine, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            patience.wait()
        else:
            return


def _open_machine_lock() -> int | None:
    """Open the file that all workers of this machine lock; None when it is not wanted or has no place."""
    if os.environ.get(LOCK_VARIABLE) == "state-folder":
        return None
    folder = next((folder for folder in _LOCK_FOLDERS if folder.is_dir()), None)
    if folder is None:
        return None
    path = folder.resolve() / _LOCK_NAME
    for flags in (os.O_RDONLY, os.O_RDWR | os.O_CREAT, os.O_RDONLY):
        try:
            opened = os.open(path, flags | os.O_NOFOLLOW, 0o666)
        except OSError:
            # Not there yet, or somebody else's to make: the kernel refuses to "make" what others made.
            continue
        if flags & os.O_CREAT:
            # The mask of the user who makes it must not shut others out.
            os.fchmod(opened, 0o666)
        return opened
    return None


def name_lock(state_folder: str) -> str:
    """Return the lock's abstract name: the same for all users of a host, another for another state folder.

    Raises:
        InputError: when the state folder is no absolute path: the worker would take another one.
    """
    if not state_folder:
        return "\0datamill-host"
    if not state_folder.startswith("/"):
        raise InputError(
            f'the state folder must be an absolute path, not "{state_folder}"',
            where=STATE_VARIABLE,
            remedy=f"Write {STATE_VARIABLE}={Path(state_folder).absolute()}, or leave the variable out.",
        )
    digest = hashlib.sha256(str(Path(state_folder)).encode()).hexdigest()
    return f"\0datamill-host-{digest[:32]}"


def _refuse(name: str) -> InputError:
    process, command = _find_holder(name)
    if not process:
        process, command = _find_machine_holder()
    who = f"process {process}" if process else "another process"
    if command:
        who += f" ({command})"
        remedy = f"Wait until it has ended, or end it with Ctrl-C or kill {process}"
        if not _times_commands(command):
            remedy += f"; what it measured is kept, and {argument('resume', verb='run')} continues it"
        remedy += "."
    else:
        remedy = (
            "It has ended and its worker is still ending a trial, or it is a worker of a fleet: wait a "
            "moment and type the command again."
        )
    return InputError(
        f"another experiment runs on this host: {who}. Two at once would disturb each other", remedy=remedy
    )


def _times_commands(command: str) -> bool:
    """Whether it is one that nothing continues when it has ended."""
    return any(
        word.endswith("datamill") and verb in ("time", "gate") for word, verb in pairwise(command.split())
    )


def _find_machine_holder() -> tuple[int, str]:
    """The same of the file that all lock: the kernel's table of locks has the process that took it."""
    try:
        folder = next(folder for folder in _LOCK_FOLDERS if folder.is_dir())
        place = str((folder / _LOCK_NAME).stat().st_ino)
        table = Path("/proc/locks").read_text()
    except (OSError, StopIteration):
        return 0, ""
    for words in map(str.split, table.splitlines()):
        # Such as `1: FLOCK ADVISORY WRITE 708 00:1b:1234 0 EOF`; who waits has an arrow before that.
        if words[1:2] == ["FLOCK"] and words[5].rpartition(":")[2] == place:
            process = max(0, int(words[4]))
            return process, _read_command(process) if process else ""
    return 0, ""


def _find_holder(name: str) -> tuple[int, str]:
    """Process that took the lock and its command line, which is empty when it is gone."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(name)
        except OSError:
            return 0, ""
        process, _, _ = _CREDENTIALS.unpack(
            asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        )
    return process, _read_command(process)


def _read_command(process: int) -> str:
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return " ".join(word.decode(errors="replace") for word in words if word)
