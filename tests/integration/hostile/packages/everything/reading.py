"""What a package may try to read of its host."""

import ctypes
import os
import subprocess
from pathlib import Path

from kernel import TARGETS, attack, call, can_read, is_block_device


@attack
def read_secret_by_path():
    return [path for path in TARGETS["secret_paths"] if can_read(path)]


@attack
def read_secret_through_processes():
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        for way in ("root", "cwd"):
            found += [
                f"{process}/{way}{path}"
                for path in TARGETS["secret_paths"]
                if can_read(f"{process}/{way}{path}")
            ]
    return found


@attack
def read_secret_through_descriptors():
    found = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        for climb in ("", "/..", "/../..", "/../../..", "/../../../.."):
            for path in TARGETS["secret_paths"]:
                place = f"{link}{climb}{path}"
                if can_read(place):
                    found.append(place)
    return found


@attack
def find_secret_in_any_file():
    """Look for the secrets in every small file that this world shows and that is no older than they are."""
    look = ["find", "/", "-path", "/proc", "-prune", "-o", "-path", "/sys", "-prune", "-o", "-type", "f"]
    look += ["-size", "-9", "-newermt", f"@{TARGETS['secrets_since_unix_s']}", "-print0"]
    names = subprocess.run(look, capture_output=True, check=False).stdout.split(b"\0")
    wanted = [canary.encode() for canary in TARGETS["canaries"]]
    found = []
    for name in filter(None, names):
        try:
            content = Path(os.fsdecode(name)).read_bytes()
        except OSError:
            continue
        # What says where the secrets are is the package's own.
        if any(canary in content for canary in wanted) and b"secret_paths" not in content:
            found.append(os.fsdecode(name))
    return found


@attack
def see_processes_of_the_host():
    told = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if any(word.encode() in line for word in TARGETS["host_commands"]):
            told.append(line.decode(errors="replace"))
    return told


@attack
def read_environment_of_the_host():
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            content = (process / "environ").read_bytes()
        except OSError:
            continue
        if any(canary.encode() in content for canary in TARGETS["canaries"]):
            found.append(str(process))
    return found


@attack
def read_shadow():
    return [path for path in ("/etc/shadow", "/etc/gshadow") if can_read(path)]


@attack
def read_kernel_log():
    buffer = ctypes.create_string_buffer(4096)
    return call("syslog", 3, buffer, 4096) > 0 or can_read("/dev/kmsg")


@attack
def read_memory_of_the_host():
    return [path for path in ("/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore") if can_read(path)]


@attack
def read_disk_of_the_host():
    return [str(path) for path in Path("/dev").glob("*") if is_block_device(path) and can_read(path)]
