"""One experiment at a time on a host."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from datamill.execution import host_lock
from datamill.execution.host_lock import lock_host, name_lock
from datamill.experiment.errors import InputError

HOLDER = """
import os, subprocess, sys, time
from pathlib import Path
from datamill.execution import host_lock
from datamill.execution.host_lock import lock_host
host_lock._LOCK_FOLDERS = (Path(os.environ.get("LOCK_FOLDER", "/nowhere")),)
with lock_host() as locks:
    child = subprocess.Popen(["sleep", sys.argv[1]], pass_fds=locks)
    print(child.pid, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAMILL_STATE_DIR", str(tmp_path))


def start_holder(child_s: float, *through: str, typed: str = "") -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [*through, sys.executable, "-c", HOLDER, str(child_s), *typed.split()],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def test_a_second_experiment_is_refused_by_the_process_of_the_first() -> None:
    holder, child = start_holder(30)
    try:
        for _ in range(3):
            with pytest.raises(InputError) as caught, lock_host(wait_s=0.1):
                pass
            assert f"process {holder.pid} " in str(caught.value)
            assert "lock_host" in str(caught.value), "what it runs"
            assert "--resume" in caught.value.remedy
    finally:
        holder.kill()
        os.kill(child, signal.SIGKILL)
        holder.wait()


def test_a_timing_that_holds_the_host_is_not_said_to_be_continued() -> None:
    holder, child = start_holder(30, typed="bin/datamill time true")
    try:
        with pytest.raises(InputError) as caught, lock_host(wait_s=0.1):
            pass
        assert caught.value.remedy.endswith(f" or end it with Ctrl-C or kill {holder.pid}.")
    finally:
        holder.kill()
        os.kill(child, signal.SIGKILL)
        holder.wait()


def test_a_crash_releases_the_host() -> None:
    holder, child = start_holder(30)
    os.kill(child, signal.SIGKILL)
    holder.kill()
    holder.wait()
    with lock_host(), pytest.raises(InputError), lock_host(wait_s=0.1):
        raise AssertionError("held twice")


def test_whoever_inherits_the_lock_still_holds_the_host() -> None:
    holder, child = start_holder(600)
    holder.kill()
    holder.wait()
    with (
        pytest.raises(InputError, match="still ending a trial"),
        lock_host(wait_s=0.1, worker_wait_s=0.1),
    ):
        pass
    threading.Timer(0.5, os.kill, (child, signal.SIGKILL)).start()
    started_s = time.monotonic()
    told: list[str] = []
    with lock_host(wait_s=0.1, worker_wait_s=60, tell=told.append):
        assert time.monotonic() - started_s < 50, "as soon as it has ended"
    assert len(told) == 1
    assert "worker of a command that was killed" in told[0]
    assert not Path(f"/proc/{child}/exe").exists()


def test_another_state_folder_is_another_host() -> None:
    assert name_lock("") == name_lock("")
    assert len({name_lock(""), name_lock("/a"), name_lock("/b")}) == 3
    assert name_lock("/a") == name_lock("/a/")


def test_a_state_folder_that_the_worker_would_not_take_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAMILL_STATE_DIR", "state")
    with pytest.raises(InputError, match="must be an absolute path") as refused, lock_host():
        pass
    assert refused.value.where == "DATAMILL_STATE_DIR"
    assert "/state, or leave the variable out" in refused.value.remedy


@pytest.mark.parametrize("through", [[], ["unshare", "--net"]], ids=["same_network", "own_network"])
def test_a_machine_is_held_whatever_the_state_folder_and_the_network(
    through: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if through and os.geteuid() != 0:
        pytest.skip("needs root for a network of its own")
    monkeypatch.setenv("DATAMILL_HOST_LOCK", "")
    monkeypatch.setenv("LOCK_FOLDER", str(tmp_path))
    monkeypatch.setattr(host_lock, "_LOCK_FOLDERS", (tmp_path,))
    monkeypatch.setenv("DATAMILL_STATE_DIR", str(tmp_path / "other"))
    holder, child = start_holder(600, *through)
    monkeypatch.setenv("DATAMILL_STATE_DIR", str(tmp_path / "own"))
    try:
        with pytest.raises(InputError, match=f"(?s)process {holder.pid} .*lock_host"), lock_host(wait_s=0.1):
            pass
        holder.kill()
        holder.wait()
        with pytest.raises(InputError), lock_host(wait_s=0.1):
            raise AssertionError("its worker still ends a trial")
    finally:
        os.kill(child, signal.SIGKILL)
        holder.kill()
        holder.wait()
    with lock_host(wait_s=10):
        assert (tmp_path / "datamill-host.lock").stat().st_mode & 0o777 == 0o666
