"""What a package tries against its machine: started by its `run.sh`, prints names and outcomes as JSON.

Each attack is bounded so that even success does no harm: what is set is set to what it is, and what is
mounted is mounted where nobody else sees it. An attack that returns has succeeded; one that raises was
stopped.
"""
# ruff: noqa: PTH103, PTH102, PTH106, PTH108, PTH110, PTH116, PTH118, PTH123, PTH208, SIM115

import ctypes
import errno
import json
import os
import socket
import stat
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
GIVEN = json.loads(os.environ["ATTACK"])
#: Numbers of system calls on x86_64.
CALLS = {
    "add_key": 248, "bpf": 321, "perf_event_open": 298, "io_uring_setup": 425, "userfaultfd": 323,
    "open_by_handle_at": 304, "init_module": 175, "swapoff": 168, "reboot": 169, "kexec_load": 246,
}  # fmt: skip
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_REMOUNT, MS_BIND, MS_PRIVATE = 32, 4096, 1 << 18 | 16384


def call(name, *arguments, allowed=()):
    """Make a system call; refusals for other reasons than rights count as success."""
    if libc.syscall(CALLS[name], *arguments) < 0 and ctypes.get_errno() not in allowed:
        raise OSError(ctypes.get_errno(), name)


def check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount(source, target, kind, flags=0):
    check(libc.mount(source.encode(), target.encode(), kind.encode() if kind else None, flags, None))


def in_child(body):
    """Run something in a process of its own, which cannot change this one."""
    child = os.fork()
    if child == 0:
        try:
            body()
        except BaseException as error:
            print(f"{body.__name__}: {error}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        raise OSError(errno.EPERM, "stopped")


def with_own_mounts(body):
    """The same where nobody else sees what is mounted."""

    def unshared():
        check(libc.unshare(CLONE_NEWNS))
        check(libc.mount(None, b"/", None, MS_PRIVATE, None))
        body()

    in_child(unshared)


def rewrite(path):
    """Write what a kernel's file holds into it."""
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text)


def read_secrets():
    found = [
        path for path in GIVEN["secrets"] if os.path.exists(path) and GIVEN["canary"] in open(path).read()
    ]
    if not found:
        raise OSError("no secret")
    print("read", found, file=sys.stderr)


def find_canary():
    """Walk over every file that is shown, five folders deep; only new small ones can hold the canary."""
    now = time.time()
    for folder, folders, files in os.walk("/"):
        if folder == "/":
            folders[:] = [name for name in folders if name not in ("proc", "sys", "usr")]
        if folder.count("/") >= 5:
            folders.clear()
        for name in files:
            path = os.path.join(folder, name)
            try:
                data = os.lstat(path)
                if not stat.S_ISREG(data.st_mode):
                    continue
                if now - data.st_mtime < 3600 and data.st_size < 4096 and not path.endswith(GIVEN["own"]):
                    with open(path, errors="replace") as file:
                        if GIVEN["canary"] in file.read():
                            print("found", path, file=sys.stderr)
                            return
            except OSError:
                pass
    raise OSError("no canary")


def read_processes():
    """Look into the memory and the environment of every process that is not this one's."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) in (os.getpid(), os.getppid()):
            continue
        for name in ("environ", "root/etc/hostname", "fd"):
            try:
                path = f"/proc/{pid}/{name}"
                if os.listdir(path) if name == "fd" else open(path, "rb").read():
                    print("read", path, file=sys.stderr)
                    return
            except OSError:
                pass
    raise OSError("nothing of others")


def inherited_descriptors():
    spare = [name for name in os.listdir("/proc/self/fd") if int(name) > 2]
    if len(spare) <= 1:  # The listing itself.
        raise OSError("none")


def connect_to_host():
    socket.create_connection(("127.0.0.1", GIVEN["port"]), timeout=2).close()


def connect_abstract():
    with socket.socket(socket.AF_UNIX) as line:
        line.connect("\0" + GIVEN["abstract"])


def connect_socket_file():
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(GIVEN["socket"])


def make_vsock():
    socket.socket(40, socket.SOCK_STREAM).close()


def write_sysctl():
    rewrite("/proc/sys/kernel/core_pattern")


def write_sysctl_by_remount():
    def body():
        mount("none", "/proc/sys", None, MS_REMOUNT | MS_BIND)
        rewrite("/proc/sys/kernel/core_pattern")

    with_own_mounts(body)


def write_sysctl_by_new_proc():
    def body():
        os.makedirs("/tmp/attack", exist_ok=True)
        mount("proc", "/tmp/attack", "proc")
        rewrite("/tmp/attack/sys/kernel/core_pattern")

    with_own_mounts(body)


def write_sysctl_by_new_namespaces():
    def body():
        check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS | 0x20000000))
        if os.fork() == 0:
            os.makedirs("/tmp/attack", exist_ok=True)
            mount("proc", "/tmp/attack", "proc")
            os._exit(0)
        if os.wait()[1]:
            raise OSError("stopped")

    in_child(body)


def write_sys():
    for path in ("/sys/kernel/mm/ksm/run", "/sys/kernel/profiling", "/sys/power/pm_freeze_timeout",
                 "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag"):  # fmt: skip
        if os.path.exists(path):
            return rewrite(path)
    raise OSError("nothing to write")


def make_cgroup():
    def body():
        os.makedirs("/tmp/attack", exist_ok=True)
        mount("cgroup2", "/tmp/attack", "cgroup2")
        os.mkdir("/tmp/attack/datamill-attack")
        os.rmdir("/tmp/attack/datamill-attack")

    with_own_mounts(body)


def set_clock():
    time.clock_settime_ns(time.CLOCK_REALTIME, time.clock_gettime_ns(time.CLOCK_REALTIME))


def take_real_time():
    in_child(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))


def raise_priority():
    in_child(lambda: os.setpriority(os.PRIO_PROCESS, 0, -5))


def swap_off():
    call("swapoff", b"/nothing", allowed=(errno.ENOENT, errno.EINVAL))


def reboot():
    call("reboot", 0, 0, 0, None, allowed=(errno.EINVAL,))


def load_module():
    call("init_module", None, 0, None, allowed=(errno.EFAULT, errno.ENOEXEC, errno.EINVAL, errno.ENOSYS))


def load_kernel():
    call("kexec_load", 0, 0, None, 1 << 15, allowed=(errno.EINVAL, errno.ENOSYS))


def open_by_handle():
    call("open_by_handle_at", -1, None, 0, allowed=(errno.EBADF, errno.EFAULT))


def add_key():
    call("add_key", b"user", b"datamill-attack", b"x", ctypes.c_size_t(1), -1)


def load_bpf():
    call("bpf", 0, None, 0, allowed=(errno.E2BIG, errno.EINVAL, errno.EFAULT))


def count_events():
    call("perf_event_open", None, 0, -1, -1, 0, allowed=(errno.EFAULT, errno.EINVAL))


def use_io_uring():
    call("io_uring_setup", 0, None, allowed=(errno.EFAULT, errno.EINVAL))


def use_userfaultfd():
    call("userfaultfd", 0xFFFF, allowed=(errno.EINVAL,))


def own_user_namespace():
    in_child(lambda: check(libc.unshare(CLONE_NEWUSER)))


def make_disk_node():
    device = os.stat("/" if GIVEN["kind"] == "plain" else GIVEN["disk_of"]).st_dev
    os.mknod("/tmp/attack-disk", 0o600 | 0o060000, GIVEN.get("disk", device))
    try:
        os.close(os.open("/tmp/attack-disk", os.O_RDONLY))
    finally:
        os.unlink("/tmp/attack-disk")


def mount_disk():
    def body():
        os.makedirs("/tmp/attack", exist_ok=True)
        os.mknod("/tmp/attack-disk-2", 0o600 | 0o060000, GIVEN["disk"])
        try:
            mount("/tmp/attack-disk-2", "/tmp/attack", "ext4", 1)
        finally:
            os.unlink("/tmp/attack-disk-2")

    with_own_mounts(body)


def attach_loop():
    os.close(os.open("/dev/loop-control", os.O_RDWR))


def read_memory():
    os.close(os.open("/dev/mem", os.O_RDONLY))


def signal_worker():
    os.kill(os.getppid(), 0)


def signal_outside():
    os.kill(GIVEN["outside"], 0)
    if f"{GIVEN['outside']}" not in os.listdir("/proc"):
        raise OSError("another")
    if GIVEN["mark"] not in open(f"/proc/{GIVEN['outside']}/cmdline").read():
        raise OSError("another")


def uncover():
    def body():
        check(libc.umount2(b"/proc/sys", 2))
        rewrite("/proc/sys/kernel/core_pattern")

    with_own_mounts(body)


def trace_worker():
    check(libc.ptrace(16, os.getppid(), None, None))
    os.waitpid(os.getppid(), 0x40000000)
    libc.ptrace(17, os.getppid(), None, None)


ATTACKS = {
    "Read a secret at its path": read_secrets,
    "Find a secret by a walk over all files": find_canary,
    "Read memory, environment or files of other processes": read_processes,
    "Use inherited descriptors": inherited_descriptors,
    "Connect to a port of the host": connect_to_host,
    "Connect to an abstract socket of the host": connect_abstract,
    "Connect to a socket file of the host": connect_socket_file,
    "Reach the host by vsock": make_vsock,
    "Write /proc/sys": write_sysctl,
    "Write /proc/sys after a remount": write_sysctl_by_remount,
    "Write /proc/sys after unmounting what lies over it": uncover,
    "Write /proc/sys through a new /proc": write_sysctl_by_new_proc,
    "Mount a new /proc in new namespaces": write_sysctl_by_new_namespaces,
    "Write /sys": write_sys,
    "Make a control group": make_cgroup,
    "Set the clock": set_clock,
    "Take a real-time priority": take_real_time,
    "Raise its priority": raise_priority,
    "Turn swap off": swap_off,
    "Reboot": reboot,
    "Load a kernel module": load_module,
    "Load another kernel": load_kernel,
    "Open files by handle": open_by_handle,
    "Add a key to the kernel's keyrings": add_key,
    "Load a BPF program": load_bpf,
    "Count events of the processor": count_events,
    "Use io_uring": use_io_uring,
    "Use userfaultfd": use_userfaultfd,
    "Make a user namespace": own_user_namespace,
    "Make a node of the host's disk and open it": make_disk_node,
    "Mount the host's disk": mount_disk,
    "Attach a loop device": attach_loop,
    "Open /dev/mem": read_memory,
    "Signal the worker": signal_worker,
    "Signal a process outside": signal_outside,
    "Trace the worker": trace_worker,
}

if __name__ == "__main__":
    outcomes = {}
    for name, attack in ATTACKS.items():
        try:
            attack()
            outcomes[name] = True
        except Exception as error:
            print(f"{name}: {error}", file=sys.stderr)
            outcomes[name] = False
    print(json.dumps(outcomes))
