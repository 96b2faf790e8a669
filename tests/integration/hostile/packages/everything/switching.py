"""Switches of the host's kernel that a package may try to set, and files that it may try to change."""

import contextlib
import os
import socket
import subprocess
from pathlib import Path

from kernel import (
    MOUNT_BIND,
    MOUNT_REMOUNT,
    TARGETS,
    attack,
    mount,
    tried,
    unmount,
    write_back,
)


@attack
def write_beside_through_descriptors():
    written = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        for climb in (".", "..", "../..", "../../..", "../../../.."):
            try:
                Path(f"{link}/{climb}/{TARGETS['marker']}").write_text("hostile")
                written.append(f"{link}/{climb}")
            except OSError:
                continue
    return written if any(Path(path).exists() for path in TARGETS["marker_places"]) else []


@attack
def write_switch_of_the_kernel():
    return tried(
        write_back, "/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness", "/proc/sys/kernel/pid_max"
    )


@attack
def write_switch_of_the_kernel_after_a_remount():
    for place in ("/proc/sys", "/proc"):
        mount("none", place, "", MOUNT_REMOUNT | MOUNT_BIND)
        unmount(place)
    return tried(write_back, "/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness")


@attack
def write_switch_of_the_kernel_in_a_new_proc():
    os.makedirs("new-proc", exist_ok=True)
    if not mount("proc", "new-proc", "proc"):
        return False
    try:
        return tried(write_back, "new-proc/sys/kernel/core_pattern", "new-proc/sys/vm/swappiness")
    finally:
        unmount("new-proc")


@attack
def write_switch_of_the_kernel_in_a_namespace_below():
    script = "mount -t proc proc new-proc2 && cat new-proc2/sys/vm/swappiness > new-proc2/sys/vm/swappiness"
    os.makedirs("new-proc2", exist_ok=True)
    told = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "sh", "-c", script],
        capture_output=True,
        check=False,
        timeout=20,
    )
    return told.returncode == 0


@attack
def write_sys():
    paths = (
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/kernel/mm/ksm/run",
        "/sys/module/printk/parameters/time",
    )
    if tried(write_back, *paths):
        return True
    os.makedirs("new-sys", exist_ok=True)
    if not mount("sysfs", "new-sys", "sysfs"):
        return False
    try:
        return tried(write_back, *(f"new-{path[1:]}" for path in paths))
    finally:
        unmount("new-sys")


@attack
def make_control_group():
    made = []
    for group in ("/sys/fs/cgroup", *map(str, Path("/sys/fs/cgroup").glob("*"))):
        place = Path(group) / TARGETS["marker"]
        try:
            place.mkdir()
            if (place / "cgroup.procs").exists():
                made.append(str(place))
            place.rmdir()
        except OSError:
            continue
    os.makedirs("new-group", exist_ok=True)
    for kind in ("cgroup2", "cgroup"):
        if mount(kind, "new-group", kind, 0, b"pids" if kind == "cgroup" else None):
            try:
                (Path("new-group") / TARGETS["marker"]).mkdir()
                made.append(kind)
                (Path("new-group") / TARGETS["marker"]).rmdir()
            except OSError:
                pass
            unmount("new-group")
    return made


@attack
def change_the_name_of_the_host():
    # In its own namespace that is its own name; the test compares the host's.
    with contextlib.suppress(OSError):
        socket.sethostname(TARGETS["marker"])
    return False


@attack
def change_files_of_the_host():
    """Write wherever a program may; the host is looked at afterwards."""
    for path in TARGETS["host_files"]:
        try:
            Path(path).write_text("hostile")
        except OSError:
            continue
    for folder in ("/", "/etc", "/usr/bin", "/root", "/var/lib", "/run", "/dev/shm", "/tmp", "/boot"):
        try:
            (Path(folder) / TARGETS["marker"]).write_text("hostile")
        except OSError:
            continue
    return False


@attack
def leave_a_process_behind():
    """Start one that leaves its session and its parent; the host is looked at afterwards."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", TARGETS["left_process"]])
        os._exit(0)
    os.wait()
    return False
