"""Whatever ends a command, nothing that it started or attached stays."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from running.tries import try_five_times

DRAWING = """
import os, signal, time
from datamill.report.figures.views import start_drawing
print(start_drawing().pid, flush=True)
time.sleep(60)
"""
POLITE = """
import os, signal, time
from datamill.cli.signals import end_politely
# Under nohup it is ignored.
signal.signal({number}, signal.SIG_DFL)
end_politely()
try:
    os.kill(os.getpid(), {number})
    time.sleep(60)
finally:
    print("put in order")
"""


def test_a_loop_device_of_a_dead_trial_is_detached_by_restore(datamill, tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("losetup") is None or not Path("/dev/loop-control").exists():
        pytest.skip("attaching a loop device needs root, losetup and loop devices")

    def attach_and_restore(attempt: int) -> None:
        scratch = tmp_path / str(attempt) / "bundle" / ".work" / "scratch" / "world"
        scratch.mkdir(parents=True)
        image = scratch / "datamill-trial-image"
        kept = tmp_path / str(attempt) / "scratch" / "alice" / "image"
        kept.parent.mkdir(parents=True)
        devices = []
        try:
            for file in (image, kept):
                file.write_bytes(bytes(1 << 20))
                done = subprocess.run(["losetup", "--find", "--show", file], capture_output=True, text=True)
                if done.returncode != 0:
                    pytest.skip(f"no loop device: {done.stderr}")
                devices.append(done.stdout.strip())
            image.unlink()
            kept.unlink()
            told = datamill("worker", "restore")
            assert told.returncode == 0, told.stdout + told.stderr
            assert f"{devices[0]} is detached from the deleted image {image}" in told.stdout
            attached = [Path("/sys/block", Path(device).name, "loop").exists() for device in devices]
            assert attached == [False, True], "a device of somebody else was detached"
            assert "Nothing to undo" in datamill("worker", "restore").stdout
        finally:
            for device in devices:
                subprocess.run(["losetup", "--detach", device], capture_output=True, check=False)

    try_five_times(attach_and_restore)


def test_the_process_that_draws_ends_with_a_command_that_is_killed() -> None:
    command = subprocess.Popen(
        [sys.executable, "-c", DRAWING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert command.stdout is not None
    drawer = int(command.stdout.readline())
    # Busy: it would find out by itself only when it has drawn.
    deadline_s = time.monotonic() + 300
    while "drawer" not in Path(f"/proc/{drawer}/cmdline").read_text() and time.monotonic() < deadline_s:
        time.sleep(0.01)
    command.kill()
    _, said = command.communicate(timeout=300)
    assert said == ""
    while Path(f"/proc/{drawer}/stat").exists() and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert not Path(f"/proc/{drawer}").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signals_that_end_a_command_let_it_put_things_in_order(number: signal.Signals) -> None:
    done = subprocess.run(
        [sys.executable, "-c", POLITE.format(number=int(number))],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "put in order\n", "")
