"""A package takes all that there is: its trial ends with the reason, and the worker goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from integration.hostile.packages.package_trials import (
    HARMLESS,
    PackageHost,
    await_holding,
    list_groups,
)

from datamill.protocol.trial import TrialRecord

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="overlays need root")

#: What takes longer than this, in seconds, stands still; less is what a busy machine may take.
STILL_S = 240
FORK_BOMB = "f() { f | f & }\nf\nsleep 300"
#: Forks as fast as one process can, and every child leaves its family.
DAEMONS = """#!/usr/bin/python3
import os, time
while True:
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            time.sleep(300)
    except OSError:
        time.sleep(0.01)
"""
THREADS = """#!/usr/bin/python3
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(300,)).start()
"""
MEMORY = """#!/usr/bin/python3
taken = []
while True:
    taken.append(b"x" * (1 << 22))
"""
DESCRIPTORS = """#!/usr/bin/python3
taken = []
while True:
    taken.append(open("/dev/null"))
"""
ZOMBIES = """#!/usr/bin/python3
import os, signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
for _ in range(300):
    if os.fork() == 0:
        os._exit(0)
time.sleep(300)
"""
STOPPED = "trap '' TERM INT HUP\n(trap '' TERM; setsid sleep 300 &)\nkill -STOP $$"
#: The archive is small, and what is in it is not.
ARCHIVE_BOMB = """#!/usr/bin/python3
import gzip, tarfile, io
head = tarfile.TarInfo("metrics.json")
head.size = 1 << 38
with gzip.open("results.tar.gz", "wb", 9) as out:
    out.write(head.tobuf())
    for _ in range(64):
        out.write(bytes(1 << 20))
print("results.tar.gz")
"""


#: Messages between its own sockets, which no control group counts; 600 MiB at the most.
MESSAGES = """#!/usr/bin/python3
import socket
held, got = [], 0
while got < 600 << 20:
    sender, reader = (socket.socket(16, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 2) for _ in range(2))
    reader.bind((0, 0))
    held += [sender, reader]
    try:
        while True:
            got += sender.sendto(bytes(50000), (reader.getsockname()[0], 0))
    except BlockingIOError:
        pass
"""


#: Runs a command on a machine that shows no control groups.
WITHOUT_GROUPS = ["unshare", "--mount", "sh", "-c", 'umount -l -R /sys/fs/cgroup; exec "$@"', "sh"]


@pytest.fixture(params=["confined", "overlay", "user_namespace", "plain"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> PackageHost:
    return PackageHost(tmp_path, request.param)


def expect_end(host: PackageHost, record: TrialRecord, kind: str, *words: str) -> None:
    """The trial tells its reason, nothing is left of it, and the next one is an ordinary one."""
    assert record.failure is not None
    if record.failure.kind == "isolation":
        pytest.skip(record.failure.message)
    assert record.failure.kind == kind, record.failure
    assert record.outcome == "failed"
    for word in words:
        assert word in record.failure.message
    await_holding("the family has ended", lambda: not host.list_left())
    started_s = time.monotonic()
    after = host.run(HARMLESS)
    assert after.outcome == "completed", after.failure
    assert time.monotonic() - started_s < STILL_S, "the worker goes on as before"
    assert after.resources is not None
    assert after.resources.memory_bytes == 256 << 20


@pytest.mark.parametrize("attack", [FORK_BOMB, DAEMONS, THREADS], ids=["bomb", "daemons", "threads"])
def test_too_many_processes_end_the_trial(host: PackageHost, attack: str) -> None:
    started_s = time.monotonic()
    record = host.run(attack, run_timeout_s=2 * STILL_S)
    assert time.monotonic() - started_s < STILL_S, "at once, not when its time is over"
    expect_end(host, record, "process_limit", "run.sh", "limit of 400 processes")


def test_too_much_memory_ends_the_trial(host: PackageHost) -> None:
    expect_end(host, host.run(MEMORY), "memory_limit", "run.sh", "memory limit of 256 MiB")


def test_shared_memory_counts_as_memory(host: PackageHost) -> None:
    attack = (
        'head -c 400000000 /dev/zero > "${TMPDIR:-/dev/shm}/hostile-$$"; rm -f /dev/shm/hostile-*; exit 1'
    )
    if host.isolation == "plain":
        pytest.skip("a plain world has the host's /dev/shm, of which this would leave a part behind")
    record = host.run(attack, world_bytes=1 << 30)
    expect_end(host, record, "memory_limit", "files in memory count")


@pytest.mark.parametrize("kind", ["confined", "user_namespace"])
def test_memory_that_no_group_counts_is_not_to_be_had(kind: str, tmp_path: Path) -> None:
    host = PackageHost(tmp_path, kind)
    record = host.run(MESSAGES)
    assert record.failure is not None
    assert record.failure.kind == "exit_status", record.failure
    assert "Protocol not supported" in host.read_output("run.err")
    assert host.run(HARMLESS).outcome == "completed"


def test_too_many_open_files_end_the_trial(host: PackageHost) -> None:
    expect_end(host, host.run(DESCRIPTORS, descriptors=500), "descriptor_limit", "500 files open")


@pytest.mark.parametrize(
    "attack",
    [
        "head -c 200000000 /dev/zero > file || exit 1",
        "for i in $(seq 40); do head -c 5000000 /dev/zero > f$i || exit 1; sleep 0.02; done",
    ],
    ids=["file", "files"],
)
def test_a_full_disk_ends_the_trial(host: PackageHost, attack: str) -> None:
    expect_end(host, host.run(attack), "disk_limit")


def test_a_full_disk_ends_a_shared_build(host: PackageHost) -> None:
    record = host.run(HARMLESS, setup="head -c 200000000 /dev/zero > file || exit 1", build="shared")
    expect_end(host, record, "disk_limit", "setup.sh")
    stored = sum(path.stat().st_size for path in (host.folder / "cache").rglob("*") if path.is_file())
    assert stored < 1 << 20, "what it wrote is gone"


def test_the_files_of_a_world_are_counted(host: PackageHost) -> None:
    record = host.run("df --output=itotal . | tail -1")
    if host.isolation == "plain":
        pytest.skip("a plain world is a folder on the disk")
    assert record.outcome == "completed", record.failure
    assert int(host.read_output("run.out")) <= 1 << 20


@pytest.mark.parametrize("attack", [ZOMBIES, STOPPED], ids=["zombies", "stopped"])
def test_a_package_that_heeds_no_signal_ends_with_its_time(host: PackageHost, attack: str) -> None:
    started_s = time.monotonic()
    record = host.run(attack, run_timeout_s=1)
    assert time.monotonic() - started_s < STILL_S
    assert record.outcome == "timed_out"
    await_holding("the family has ended", lambda: not host.list_left())


def test_an_archive_that_is_a_bomb_ends_the_trial(host: PackageHost) -> None:
    expect_end(host, host.run(HARMLESS, collect=ARCHIVE_BOMB), "bad_metrics", "results.tar.gz")


def test_endless_output_is_dropped(host: PackageHost) -> None:
    record = host.run("yes & yes >&2 & sleep 1; kill %1 %2; exit 0")
    assert record.outcome == "completed", record.failure
    assert record.run is not None
    assert record.run.output_truncated
    assert len(host.read_output("run.out")) == 1 << 16


def test_a_package_cannot_raise_its_limits(host: PackageHost) -> None:
    """Neither through what it sees of control groups nor by mounting them."""
    attack = """
for kind in cgroup2 'cgroup -o pids' 'cgroup -o memory'; do
    mkdir -p "at/$kind"; mount -t ${kind%% *} ${kind#cgroup2} none "at/$kind" 2>/dev/null
done
for file in $(find /sys/fs/cgroup at -name pids.max -o -name memory.limit_in_bytes 2>/dev/null); do
    case $file in *datamill-trial*) (echo max || echo -1) > "$file";; esac
done 2>/dev/null
"""
    if host.isolation == "plain":
        pytest.skip("root in a plain world is root")
    record = host.run(attack + FORK_BOMB)
    expect_end(host, record, "process_limit", "limit of 400 processes")


def test_a_killed_worker_leaves_nothing_to_the_next(host: PackageHost) -> None:
    process = host.start("i=0; while [ $i -lt 100 ]; do i=$((i+1)); setsid sleep 300 & done; wait")
    await_holding("its processes run", lambda: len(host.list_left()) > 20)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    after = host.run(HARMLESS)
    assert after.outcome == "completed", after.failure
    await_holding("nothing is left", lambda: not host.list_left() and not list_groups(process.pid))


@pytest.mark.parametrize(
    ("attack", "kind"),
    [(FORK_BOMB, "process_limit"), (DAEMONS, "process_limit"), (MEMORY, "memory_limit")],
    ids=["bomb", "daemons", "memory"],
)
def test_a_machine_without_control_groups_keeps_limits_too(host: PackageHost, attack: str, kind: str) -> None:
    record = host.run(attack, through=WITHOUT_GROUPS)
    assert record.resources is not None
    assert (record.resources.means, record.resources.reason != "") == ("rlimits", True)
    expect_end(host, record, kind)


def test_process_numbers_end_where_nothing_else_bounds_them(host: PackageHost) -> None:
    """Before the worker has a processor to look, the kernel refuses: also root, whom no other limit binds."""
    if host.isolation == "plain":
        pytest.skip("a plain world has the machine's process numbers")
    if tuple(int(part) for part in os.uname().release.split(".")[:2]) < (6, 14):
        pytest.skip("before Linux 6.14 the bound of process numbers is the whole machine's")
    numbers = Path("/proc/sys/kernel/pid_max")
    before = numbers.read_text()
    record = host.run(f"cat {numbers}", through=WITHOUT_GROUPS)
    assert record.outcome == "completed", record.failure
    assert int(host.read_output("run.out")) == int(before) // 2 + 300
    assert numbers.read_text() == before


@pytest.mark.usefixtures("whole_machine")
def test_a_package_cannot_keep_the_machine_from_measuring(host: PackageHost) -> None:
    """It locks what it sees under the names of the lock, while the machine's own is held."""
    if host.isolation == "plain":
        pytest.skip("a plain world has the machine's files")
    attack = """#!/usr/bin/python3
import fcntl, os
os.makedirs("/run/lock", exist_ok=True)
for mode in ("a", "r"):
    with open("/run/lock/datamill-host.lock", mode) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            print("its own")
        except BlockingIOError:
            print("the machine's")
"""
    record = host.run(attack)
    if record.failure is not None and record.failure.kind == "isolation":
        pytest.skip(record.failure.message)
    assert record.outcome == "completed", host.read_output("run.err")
    assert host.read_output("run.out") == "its own\nits own\n"


def test_memory_that_others_took_is_no_answer_of_the_package(host: PackageHost) -> None:
    """A group above the trial's stands for the machine: what is killed there is within its own limit."""
    own = [line.split(":") for line in Path("/proc/self/cgroup").read_text().splitlines()]
    place = next((path for _, names, path in own if "memory" in names.split(",")), None)
    machine = Path(f"/sys/fs/cgroup/memory{place}/hostile-machine-{os.getpid()}")
    if place is None or not machine.parent.is_dir():
        pytest.skip("needs the separate hierarchy of the controller memory")
    machine.mkdir()
    join = ["sh", "-c", f'echo 0 > {machine}/cgroup.procs; exec "$@"', "sh"]
    take = "a = b'x' * 250000000; print(1, flush=True); input()"
    try:
        (machine / "memory.limit_in_bytes").write_text("400000000")
        with subprocess.Popen(
            [*join, "python3", "-c", take], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as others:
            assert others.stdout is not None
            others.stdout.readline()
            record = host.run(MEMORY, through=join)
            others.communicate(b"\n")
    finally:
        await_holding("the machine is empty", lambda: not (machine / "cgroup.procs").read_text())
        machine.rmdir()
    assert record.failure is not None
    assert (record.outcome, record.failure.kind) == ("lost", "memory_killed"), record.failure
    assert "within its own" in record.failure.message
