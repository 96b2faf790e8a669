"""One process of the worker that executes and measures commands, one after the other."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import msgspec

from datamill.execution.errors import WorkerError
from datamill.execution.worker import WORKER_NAME
from datamill.protocol.commands import CommandAnswer, CommandGreeting, CommandRequest

#: Time that the worker gets to end a command when we are interrupted, before it is killed itself.
_GRACE_S = 5.0


class CommandSession:
    """The worker's `measure-commands`; ends with its context, and takes a running command with it.

    Args:
        binary: the worker.

    Raises:
        WorkerError: when the worker cannot be started.
    """

    def __init__(self, binary: Path) -> None:
        self._binary = binary
        self._decoder = msgspec.json.Decoder(CommandAnswer)
        self._encoder = msgspec.json.Encoder()
        self._start()

    def _start(self) -> None:
        # A session of its own: Ctrl-C reaches the worker through us, once, and not also from the terminal.
        self._process = subprocess.Popen(
            [self._binary, "measure-commands", "--parent", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,
            start_new_session=True,
        )
        self.greeting = msgspec.json.decode(self._read_line(), type=CommandGreeting)

    def __enter__(self) -> CommandSession:
        """Return the session."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the worker, and with it the command that it runs, if any."""
        self._end()

    def _end(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _send(self, request: CommandRequest) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(self._encoder.encode(request) + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise WorkerError(f"{WORKER_NAME} measure-commands has ended unexpectedly") from None

    def measure(self, request: CommandRequest) -> CommandAnswer:
        """Run a command to its end and return what was measured.

        An interruption ends the command with all that it started; another worker takes the next request.

        Raises:
            WorkerError: when the worker has ended instead.
            KeyboardInterrupt: after the command has ended.
        """
        if self._process.poll() is not None:
            self._start()
        # Libraries that handle signals themselves let a reader wait on: Ctrl-C would wait for the command.
        signal.siginterrupt(signal.SIGINT, True)
        try:
            self._send(request)
            return self._decoder.decode(self._read_line())
        except KeyboardInterrupt:
            self._end()
            raise

    def _read_line(self) -> bytes:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            status = self._process.wait()
            how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
            raise WorkerError(f"{WORKER_NAME} measure-commands {how} before the command had ended")
        return line
