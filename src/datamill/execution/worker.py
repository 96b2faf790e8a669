"""Calls of the worker binary: one process for each trial or build."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from datamill.execution.errors import WorkerError, WorkerKilledError
from datamill.execution.late_signals import deferring_signals
from datamill.experiment.errors import InputError
from datamill.protocol.offers import FactorOffer
from datamill.protocol.restoration import Restoration
from datamill.protocol.trial import HostFacts, TrialRecord, TrialSpec
from datamill.results.trials.log import decode_record

WORKER_NAME = "datamill-worker"
#: Names another worker binary than the one beside the command.
WORKER_VARIABLE = "DATAMILL_WORKER"
#: Time that a worker gets to kill its trial when the user interrupts, before it is killed itself:
#: on a busy machine the levels of a host take seconds to be set back.
_GRACE_S = 20.0


class WorkerProgram:
    """The worker binary, called once for each trial or build.

    Args:
        binary: the program.
        spec_folder: folder for the specifications that it is given.
        inherited: descriptors that its processes keep open, such as the locks of bundle and host.
    """

    def __init__(self, binary: Path, spec_folder: Path, inherited: tuple[int, ...] = ()) -> None:
        self._binary = binary
        self._spec_folder = spec_folder
        self._inherited = inherited
        self._running: set[subprocess.Popen[bytes]] = set()

    def run_trial(self, spec: TrialSpec) -> TrialRecord:
        """Run one trial and return its record.

        Raises:
            WorkerKilledError: when a signal ended the worker.
            WorkerError: when the worker produced no record for another reason.
            KeyboardInterrupt: after the worker has ended its trial.
        """
        output = self._call("run-trial", self._write_spec(spec))
        if output.status < 0:
            raise WorkerKilledError(output.explain("run-trial"))
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

    def restore_host(self) -> list[str]:
        """Undo what a worker that died left changed on the host; return what could not be undone."""
        return restore_host(self._binary, inherited=self._inherited)

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
        with deferring_signals():
            process = subprocess.Popen(
                [self._binary, verb, spec_file, "--parent", str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=self._inherited,
            )
            self._running.add(process)
        try:
            stdout, stderr = process.communicate()
        except BaseException:
            process.terminate()
            try:
                process.communicate(timeout=_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise
        finally:
            self._running.discard(process)
        return _Output(process.returncode, stdout, stderr.decode(errors="replace"))


def read_host_facts(binary: Path) -> HostFacts:
    """Return what this machine is, as the worker sees it.

    Raises:
        WorkerError: when the worker cannot tell.
    """
    return msgspec.json.decode(ask_worker(binary, "inventory"), type=HostFacts)


def read_offers(
    binary: Path,
    asked: Iterable[tuple[str, str]] = (),
    user_factors: Iterable[Path] = (),
    *,
    in_guest: bool = False,
) -> dict[str, FactorOffer]:
    """Return what this host offers of each factor, by name.

    Args:
        binary: the worker.
        asked: factors and levels to ask for; those that do not exist here are among the missing ones.
        user_factors: folders or archives of factors that an experiment brings along.
        in_guest: whether a guest is asked, which trials with `isolation = "guest"` run in.

    Raises:
        WorkerError: when the worker cannot tell, or has no guests.
    """
    arguments = ["--guest"] if in_guest else []
    arguments += [part for name, level in asked for part in ("--ask", f"{name}={level}")]
    arguments += [part for path in user_factors for part in ("--user", str(path.absolute()))]
    offers = msgspec.json.decode(ask_worker(binary, "factors", *arguments), type=list[FactorOffer])
    return {offer.name: offer for offer in offers}


def restore_host(binary: Path, *, inherited: tuple[int, ...] = ()) -> list[str]:
    """Let the worker undo what a dead one left changed on the host; return what could not be undone.

    One sentence each, in the worker's words; empty when the host is as before.
    """
    result = subprocess.run(
        [binary, "restore", "--json"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        pass_fds=inherited,
    )
    try:
        told = msgspec.json.decode(result.stdout, type=Restoration)
    except msgspec.MsgspecError:
        output = _Output(result.returncode, b"", result.stderr.decode(errors="replace"))
        return output.explain("restore").splitlines()
    return [*told.left, *told.damaged]


def ask_worker(binary: Path, verb: str, *arguments: str) -> bytes:
    """Return what the worker prints when it is asked about this machine, as JSON.

    Raises:
        WorkerError: when it cannot tell.
    """
    result = subprocess.run(
        [binary, verb, *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if result.returncode != 0:
        words = result.stderr.decode(errors="replace")
        raise WorkerError(_Output(result.returncode, b"", words).explain(verb))
    return result.stdout


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
    """Return the worker binary: the one named in the environment, beside Python or the command, or on PATH.

    Raises:
        InputError: when there is none.
    """
    named = os.environ.get(WORKER_VARIABLE)
    found = named or _find_installed() or shutil.which(WORKER_NAME)
    if found is None or not os.access(found, os.X_OK):
        raise InputError(
            f"{WORKER_NAME} is not here" if found is None else f"{found} cannot be executed",
            remedy="Install datamill from its wheel, or run make setup in its sources, or name the binary in "
            f"the environment variable {WORKER_VARIABLE}.",
        )
    return Path(found).resolve()


def _find_installed() -> str | None:
    # An environment has its programs beside Python; what is installed for one user, beside the command.
    command = Path(sys.argv[0])
    folders = [Path(sys.executable).parent]
    if command.name == "datamill" and command.is_absolute():
        folders.append(command.parent)
    return next((str(path) for folder in folders if (path := folder / WORKER_NAME).is_file()), None)
