"""What all attacks use: system calls, mounts, files; and what is the host's, from `targets.json`."""

import ctypes
import errno
import json
import os
import stat
from pathlib import Path

TARGETS = json.loads(Path("targets.json").read_text())
LIBC = ctypes.CDLL(None, use_errno=True)
#: System calls without a function in every libc, x86-64 and the generic table (arm64, riscv64).
IS_X86 = os.uname().machine == "x86_64"
CALLS = {
    name: numbers[0] if IS_X86 else numbers[1]
    for name, numbers in {
        "init_module": (175, 105),
        "kexec_load": (246, 104),
        "reboot": (169, 142),
        "add_key": (248, 217),
        "keyctl": (250, 219),
        "bpf": (321, 280),
        "perf_event_open": (298, 241),
        "userfaultfd": (323, 282),
        "io_uring_setup": (425, 425),
        "open_by_handle_at": (304, 265),
        "setns": (308, 268),
        "swapon": (167, 224),
        "swapoff": (168, 225),
        "clock_settime": (227, 112),
        "adjtimex": (159, 171),
        "ptrace": (101, 117),
        "process_vm_readv": (310, 270),
        "pidfd_open": (434, 434),
        "sched_setscheduler": (144, 119),
        "acct": (163, 89),
        "quotactl": (179, 60),
        "syslog": (103, 116),
        "vhangup": (153, 58),
        "fanotify_init": (300, 262),
        "lookup_dcookie": (212, 18),
    }.items()
}
MOUNT_READ_ONLY, MOUNT_REMOUNT, MOUNT_BIND = 1, 32, 4096
ATTACKS = {}


def attack(function):
    ATTACKS[function.__name__] = function
    return function


def call(name, *arguments):
    """Make a system call; return its result, or minus its error."""
    ctypes.set_errno(0)
    result = LIBC.syscall(CALLS[name], *arguments)
    return -ctypes.get_errno() if result == -1 else result


def is_allowed(result):
    """Whether the kernel found fault with what was asked for rather than with who asked."""
    return result >= 0 or -result not in (errno.EPERM, errno.EACCES, errno.ENOSYS)


def mount(source, target, kind, flags=0, data=None):
    ctypes.set_errno(0)
    told = LIBC.mount(source.encode(), str(target).encode(), kind.encode(), flags, data)
    return told == 0


def unmount(target):
    LIBC.umount2(str(target).encode(), 2)


def write_back(path):
    """Write into a switch of the kernel what stands there."""
    stands = Path(path).read_bytes().split(b"\n")[0]
    if b"[" in stands:
        stands = stands.split(b"[")[1].split(b"]")[0]
    with open(path, "wb", buffering=0) as file:
        file.write(stands)
    return True


def is_block_device(path):
    try:
        return stat.S_ISBLK(path.stat().st_mode)
    except OSError:
        return False


def can_read(path):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return bool(os.read(descriptor, 16))
    except OSError:
        return False
    finally:
        os.close(descriptor)


def tried(action, *paths):
    """Return the paths with which something succeeded."""
    done = []
    for path in paths:
        try:
            if action(path):
                done.append(path)
        except OSError:
            continue
    return done
