"""The folder in which a coordinator keeps its state, and who has it."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

from datamill.experiment.errors import InputError
from datamill.service.kept_secrets import write_secret
from datamill.service.serving.storage.known_folders import note_folder

_LOCK = "lock"


class DataFolder:
    """A folder that one coordinator at a time has; everything in it belongs to its owner alone.

    Args:
        path: the folder; made when it is missing.

    Raises:
        InputError: when it cannot be used, or another coordinator has it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise InputError(
                f"cannot keep the coordinator's state here: {error.strerror}",
                where=str(path),
                remedy="Name a folder that you may write to with --data.",
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"a coordinator works in this folder already{self._tell_holder()}",
                where=str(path),
                remedy="Stop it first, or name another folder with --data.",
            ) from None
        os.truncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        note_folder(self.path)

    def database_url(self, given: str) -> str:
        """Return the database to use: the one given, else an SQLite file here.

        Raises:
            InputError: when the folder belongs to the other kind of database.
        """
        file = self.path / "coordinator.sqlite3"
        if not given:
            return f"sqlite:///{file}"
        if file.exists() and not given.startswith("sqlite"):
            raise InputError(
                "this folder has its own database, coordinator.sqlite3",
                where=str(self.path),
                remedy="Leave --database out, or name a new folder with --data.",
            )
        return given

    def make_session_key(self) -> None:
        """Make the key of sessions when it is not there."""
        file = self.path / "session-key"
        if not file.is_file():
            write_secret(file, os.urandom(32).hex().encode())

    def choose_broker_port(self, given: int, near: int) -> int:
        """Return the broker's port: the one given, else the one it had, for workers know it, else a free one.

        Args:
            given: 0 when none was.
            near: a port beside which one is looked for first.
        """
        file = self.path / "nats-port"
        if given:
            port = given
        elif file.is_file():
            return int(file.read_text())
        else:
            port = _find_free_port(near + 1)
        write_secret(file, f"{port}\n".encode())
        return port

    def close(self) -> None:
        """Let others have the folder."""
        os.close(self._lock)

    def _tell_holder(self) -> str:
        pid = os.pread(self._lock, 32, 0).decode(errors="replace").strip()
        return f" (process {pid})" if pid.isdecimal() else ""


def _find_free_port(first: int) -> int:
    for port in (first, 0):
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except (OSError, OverflowError):
                continue
            return int(probe.getsockname()[1])
    raise InputError("there is no free port on this machine", where="--nats-port")
