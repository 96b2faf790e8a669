"""Calls of the worker binary: one process for each trial or build."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from datamill.experiment.errors import InputError
from datamill.results.log import decode_record
from datamill.results.trial_record import HostFacts, TrialRecord, TrialSpec

WORKER_NAME = "datamill-worker"
#: Names another worker binary than the one beside the command.
WORKER_VARIABLE = "DATAMILL_WORKER"
#: Time that a worker gets to kill its trial when the user interrupts, before it is killed itself.
_GRACE_S = 5.0


class WorkerError(Exception):
    """The worker ended without a record; the message says how, from its own words."""


class Worker:
    """The worker binary, called once for each trial or build.

    Args:
        binary: the program.
        spec_folder: folder for the specifications that it is given.
        inherited: descriptors that its processes keep open, such as the bundle's lock.
    """

    def __init__(self, binary: Path, spec_folder: Path, inherited: tuple[int, ...] = ()) -> None:
        self._binary = binary
        self._spec_folder = spec_folder
        self._inherited = inherited
        self._running: set[subprocess.Popen[bytes]] = set()

    def run_trial(self, spec: TrialSpec) -> TrialRecord:
        """Run one trial and return its record.

        Raises:
            WorkerError: when the worker produced no record.
            KeyboardInterrupt: after the worker has ended its trial.
        """
        output = self._call("run-trial", self._write_spec(spec))
        if not output.stdout:
            raise WorkerError(output.explain("run-trial"))
        return decode_record(output.stdout, where=f"{WORKER_NAME} run-trial {spec.trial_id}")

    def build_package(self, spec: TrialSpec) -> None:
        """Make the shared build of a trial's package if it does not exist yet.

        Raises:
            WorkerError: when the build failed; the message names the script and its last lines.
        """
        output = self._call("build-package", self._write_spec(spec))
        if output.status != 0:
            raise WorkerError(output.explain("build-package"))

    def stop(self) -> None:
        """End whatever is still running."""
        for process in tuple(self._running):
            process.terminate()

    def _write_spec(self, spec: TrialSpec) -> Path:
        path = self._spec_folder / f"{spec.trial_id}.json"
        path.write_bytes(msgspec.json.encode(spec))
        return path

    def _call(self, verb: str, spec_file: Path) -> _Output:
        # A session of its own: Ctrl-C reaches the worker through us, once, and not a second time from
        # the terminal.
        with subprocess.Popen(
            [self._binary, verb, spec_file, "--parent", str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=self._inherited,
        ) as process:
            self._running.add(process)
            try:
                stdout, stderr = process.communicate()
            except BaseException:
                process.terminate()
                try:
                    process.communicate(timeout=_GRACE_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                raise
            finally:
                self._running.discard(process)
        return _Output(process.returncode, stdout, stderr.decode(errors="replace"))


def read_host_facts(binary: Path) -> HostFacts:
    """Return what this machine is, as the worker sees it.

    Raises:
        WorkerError: when the worker cannot tell.
    """
    result = subprocess.run([binary, "inventory"], capture_output=True, check=False)
    if result.returncode != 0:
        words = result.stderr.decode(errors="replace")
        raise WorkerError(_Output(result.returncode, b"", words).explain("inventory"))
    return msgspec.json.decode(result.stdout, type=HostFacts)


@dataclass(frozen=True, slots=True)
class _Output:
    status: int
    stdout: bytes
    stderr: str

    def explain(self, verb: str) -> str:
        ending = (
            f"was killed by signal {-self.status}" if self.status < 0 else f"ended with status {self.status}"
        )
        words = self.stderr.strip()
        return words or f"{WORKER_NAME} {verb} {ending} and said nothing"


def find_worker() -> Path:
    """Return the worker binary: the one named in the environment, beside the command, or on PATH.

    Raises:
        InputError: when there is none.
    """
    named = os.environ.get(WORKER_VARIABLE)
    beside = Path(sys.executable).parent / WORKER_NAME
    found = named or (str(beside) if beside.is_file() else shutil.which(WORKER_NAME))
    if found is None or not os.access(found, os.X_OK):
        raise InputError(
            f"{WORKER_NAME} is not here" if found is None else f"{found} cannot be executed",
            remedy=f"Run make setup, or name the binary in the environment variable {WORKER_VARIABLE}.",
        )
    return Path(found).resolve()
