"""What a package may try to reach on its host."""

import os
import socket
import stat
from pathlib import Path

from kernel import TARGETS, attack, call


@attack
def reach_ports_of_the_host():
    reached = []
    for address in TARGETS["addresses"]:
        for port in TARGETS["ports"]:
            with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as client:
                client.settimeout(1)
                try:
                    client.connect((address, port))
                    reached.append(f"{address} {port}")
                except OSError:
                    pass
    return reached


@attack
def reach_abstract_socket_of_the_host():
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + TARGETS["abstract_socket"])
    return True


@attack
def reach_socket_files_of_the_host():
    reached = []
    for folder in ("/run", "/var/run", "/tmp"):
        for path in Path(folder).rglob("*"):
            try:
                if stat.S_ISSOCK(path.lstat().st_mode):
                    with socket.socket(socket.AF_UNIX) as client:
                        client.connect(str(path))
                    reached.append(str(path))
            except OSError:
                continue
    return reached


@attack
def signal_processes_of_the_host():
    # Its number on the host may be somebody's here: only one that is called so counts.
    reached = []
    for pid in TARGETS["host_pids"]:
        try:
            os.kill(pid, 0)
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if any(word.encode() in line for word in TARGETS["host_commands"]):
            reached.append(pid)
    return reached


@attack
def enter_namespaces_of_another_process():
    entered = []
    for path in Path("/proc").glob("[0-9]*/ns/*"):
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        try:
            own = Path(f"/proc/self/ns/{path.name}").stat().st_ino
            if os.fstat(descriptor).st_ino != own and path.name in ("mnt", "user", "net", "pid"):
                child = os.fork()
                if child == 0:
                    os._exit(0 if call("setns", descriptor, 0) == 0 else 1)
                if os.waitpid(child, 0)[1] == 0:
                    entered.append(str(path))
        finally:
            os.close(descriptor)
    return entered


@attack
def trace_process_one():
    if os.getpid() == 1:
        return False
    attached = call("ptrace", 16, 1, 0, 0) == 0
    if attached:
        os.waitpid(1, 0x40000000)
        call("ptrace", 17, 1, 0, 0)
    return attached
