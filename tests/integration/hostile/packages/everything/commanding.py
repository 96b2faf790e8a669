"""Orders that a package may try to give to the host's kernel."""

import ctypes
import os
import stat
import struct
import time
from pathlib import Path

from kernel import (
    MOUNT_READ_ONLY,
    TARGETS,
    attack,
    call,
    can_read,
    is_allowed,
    is_block_device,
    mount,
    unmount,
)


@attack
def set_the_clock():
    class Time(ctypes.Structure):
        _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]

    now = time.time_ns()
    told = call("clock_settime", 0, ctypes.byref(Time(now // 10**9, now % 10**9)))
    return told == 0


@attack
def turn_swap_on_or_off():
    return [name for name in ("swapon", "swapoff") if is_allowed(call(name, b"/no such file", 0))]


@attack
def take_real_time_priority():
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    os.sched_setscheduler(0, *before)
    return True


@attack
def raise_its_priority():
    os.nice(-5)
    os.nice(5)
    return True


@attack
def make_device_of_the_disk():
    try:
        os.mknod("disk", 0o600 | stat.S_IFBLK, os.makedev(*TARGETS["disk"]))
    except OSError:
        return False
    return can_read("disk")


@attack
def take_a_loop_device():
    os.close(os.open("/dev/loop-control", os.O_RDWR))
    return True


@attack
def mount_a_file_system_of_the_host():
    os.makedirs("new-mount", exist_ok=True)
    mounted = [
        str(device)
        for device in Path("/dev").glob("*")
        if is_block_device(device) and mount(str(device), "new-mount", "ext4", MOUNT_READ_ONLY)
    ]
    for _ in mounted:
        unmount("new-mount")
    return mounted


@attack
def open_a_file_of_the_host_by_handle():
    class Handle(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_uint), ("kind", ctypes.c_int), ("data", ctypes.c_ubyte * 8)]

    handle = Handle(8, 1, (ctypes.c_ubyte * 8)(*struct.pack("=II", 2, 0)))
    place = os.open("/", os.O_RDONLY)
    opened = call("open_by_handle_at", place, ctypes.byref(handle), os.O_RDONLY)
    os.close(place)
    return is_allowed(opened)


@attack
def load_code_into_the_kernel():
    return [
        name
        for name, arguments in {
            "init_module": (0, 0, b""),
            "kexec_load": (0, 1 << 20, 0, 0),
            "bpf": (5, b"\0" * 128, 128),
        }.items()
        if is_allowed(call(name, *arguments))
    ]


@attack
def restart_the_host():
    # With numbers that no kernel takes.
    return is_allowed(call("reboot", 1, 2, 3, 0))


@attack
def keep_a_key_in_the_kernel():
    return call("add_key", b"user", b"datamill-hostile", b"x", 1, -4) >= 0


@attack
def use_interfaces_that_exploits_use():
    event = struct.pack("=IIQ", 1, 128, 0) + b"\0" * 112
    # Without a namespace all processes of a processor would be looked at.
    return [
        name
        for name, arguments in {
            "perf_event_open": (event, -1, 0, -1, 0),
            "userfaultfd": (0,),
            "io_uring_setup": (1, b"\0" * 120),
            "fanotify_init": (0, 0),
            "acct": (b"/no such file",),
        }.items()
        if is_allowed(call(name, *arguments))
    ]
