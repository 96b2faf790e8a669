"""An emulated machine that can be rebooted, and whose power can be cut."""

from __future__ import annotations

import base64
import secrets
import shlex
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from .disk import copy_disk, replay_writes
from .image import GuestImage
from .kernel import GuestUnavailableError

# Emulation needs 1 to 3 s on an idle machine; a loaded one is slower, not broken.
BOOT_TIMEOUT_S = 120.0


class GuestError(Exception):
    """The guest did not do in time what it was asked to; says what its console said last."""


@dataclass(frozen=True)
class Finished:
    """What became of a script.

    Attributes:
        status: Its exit status.
        output: Its standard output and error, as they came.
    """

    status: int
    output: str


class Guest:
    """An emulated x86-64 machine with one disk, which outlives reboots and power cuts.

    A guest has no network. Its root is in memory and made anew by each boot; its disk is at /var. Use it as a
    context manager: it boots on entry and is switched off, without ceremony, on exit.
    """

    def __init__(self, image: GuestImage, disk: Path, *, memory_mib: int = 640, processors: int = 1) -> None:
        """Describe the machine.

        Args:
            image: What it boots.
            disk: Its disk, see `make_disk`; the files beside it that begin with its name are the machine's.
            memory_mib: Size of its memory.
            processors: Number of its processors.

        Raises:
            GuestUnavailableError: There is no qemu-system-x86_64 here.
        """
        qemu = shutil.which("qemu-system-x86_64")
        if qemu is None:
            raise GuestUnavailableError("no qemu-system-x86_64 here (Debian: qemu-system-x86)")
        self._qemu = qemu
        self._image = image
        self._disk = disk
        self._memory_mib = memory_mib
        self._processors = processors
        self._live, self._log, self._console, self._complaints = (
            disk.with_name(f"{disk.name}.{part}") for part in ("live", "writes", "console", "qemu")
        )
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._received = b""
        self.boot_id = ""
        self.boot_time_s = 0.0

    def __enter__(self) -> Guest:
        self.boot()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut_power()

    def boot(self) -> None:
        """Switch the machine on and wait until it takes scripts; sets `boot_id` and `boot_time_s`."""
        if self._process is not None:
            raise GuestError("the guest is on already")
        start = time.monotonic()
        copy_disk(self._disk, self._live)
        self._log.write_bytes(b"")
        self._console.write_bytes(b"")
        ours, theirs = socket.socketpair()
        with theirs, self._complaints.open("wb") as complaints:
            self._process = subprocess.Popen(
                self._command(theirs.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=complaints,
                stderr=complaints,
                pass_fds=[theirs.fileno()],
            )
        self._control, self._received = ours, b""
        try:
            said = self._receive_until(b"ready ", start + BOOT_TIMEOUT_S)
            self.boot_id = self._receive_until(b"\n", start + BOOT_TIMEOUT_S).decode()
        except BaseException:
            self.cut_power()
            raise
        if said.strip():
            raise GuestError(f"the guest said before it was ready: {said!r}")
        self.boot_time_s = time.monotonic() - start

    def run(self, script: str, timeout_s: float = 60.0) -> Finished:
        """Run a shell script as root in the guest and wait for its end.

        Raises:
            GuestError: It did not end in time, or the machine went off meanwhile.
        """
        token = secrets.token_hex(12)
        deadline = time.monotonic() + timeout_s
        self._send(token, script, deadline)
        output = self._receive_until(f"\n{token} ".encode(), deadline)
        status = self._receive_until(b"\n", deadline)
        return Finished(int(status), output.decode(errors="replace"))

    def check(self, script: str, timeout_s: float = 60.0) -> str:
        """Run a script that must succeed and return its output.

        Raises:
            GuestError: It failed, or see `run`.
        """
        done = self.run(script, timeout_s)
        if done.status != 0:
            raise GuestError(f"status {done.status} in the guest: {script}\n{done.output}")
        return done.output

    def write(self, path: str, content: str | bytes, mode: int = 0o644) -> None:
        """Put a small file into the guest; it is on the disk when this returns."""
        content = content.encode() if isinstance(content, str) else content
        text = base64.b64encode(content).decode()
        place = shlex.quote(path)
        self.check(
            f"set -e; mkdir -p $(dirname {place}); base64 -d >{place} <<'END'\n{text}\nEND\n"
            f"chmod {mode:o} {place}; sync"
        )

    def read(self, path: str) -> bytes:
        """Return the content of a file of the guest."""
        return base64.b64decode(self.check(f"base64 {shlex.quote(path)}"))

    def wait_for_console(self, text: str, timeout_s: float = 60.0) -> None:
        """Wait until the serial console, where /dev/console and the kernel speak, has said `text`.

        Raises:
            GuestError: It has not in time.
        """
        deadline = time.monotonic() + timeout_s
        while text not in self.read_console():
            if time.monotonic() > deadline or self._on_process().poll() is not None:
                raise GuestError(f"the console never said {text!r}.{self._last_words()}")
            time.sleep(0.02)

    def read_console(self) -> str:
        """Return what the console said since the machine was switched on."""
        return self._console.read_text(errors="replace")

    def reboot(self) -> None:
        """Shut down in order, as `reboot` does, and boot again: a new kernel in new memory, the same disk."""
        self.power_off()
        self.boot()

    def power_off(self, timeout_s: float = 60.0) -> None:
        """Shut down in order: everything written is on the disk."""
        process = self._on_process()
        halt = "sync; swapoff -a; umount /var || mount -o remount,ro /var; poweroff -f\n"
        try:
            self._send("off", halt, time.monotonic() + timeout_s)
            process.wait(timeout_s)
        except (subprocess.TimeoutExpired, TimeoutError):
            words = self._last_words()
            self.cut_power()
            raise GuestError(f"the guest does not switch off.{words}") from None
        self._close()
        self._live.replace(self._disk)
        self._remove_parts()

    def cut_power(self, *, lose_unflushed: bool = True) -> None:
        """Cut the power at this instant; nothing happens to a machine that is off.

        What was in the guest's memory is gone. With `lose_unflushed` so is what the disk took but was not
        told to flush, as on a disk with a volatile cache; without it the disk keeps everything that it took.
        """
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._close()
        if not lose_unflushed:
            self._live.replace(self._disk)
        elif self._log.stat().st_size:
            replay_writes(self._log, self._disk)
        self._remove_parts()

    def _command(self, control: int) -> list[str]:
        # Plain TCG: /dev/kvm may exist and not work. qemu64 is several times faster to emulate than max.
        return [
            # Whoever is killed takes his guests with him.
            *("setpriv", "--pdeathsig", "KILL", self._qemu),
            *("-accel", "tcg,thread=multi", "-cpu", "qemu64", "-machine", "pc"),
            *("-m", f"{self._memory_mib}M", "-smp", str(self._processors)),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-kernel", str(self._image.kernel), "-initrd", str(self._image.initramfs)),
            *("-append", "console=ttyS0 quiet panic=-1"),
            *("-serial", f"file:{self._console}"),
            *("-device", "virtio-rng-pci"),
            *("-blockdev", f"driver=file,node-name=disk,filename={self._live}"),
            *("-blockdev", f"driver=file,node-name=writes,filename={self._log}"),
            *("-blockdev", "driver=blklogwrites,node-name=logged,file=disk,log=writes"),
            *("-device", "virtio-blk-pci,drive=logged"),
            *("-device", "virtio-serial-pci", "-chardev", f"socket,id=control,fd={control}"),
            *("-device", "virtserialport,chardev=control,name=control"),
        ]

    def _on_process(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise GuestError("the guest is off")
        return self._process

    def _on(self) -> socket.socket:
        if self._control is None:
            raise GuestError("the guest is off")
        return self._control

    def _close(self) -> None:
        if self._control is not None:
            self._control.close()
        self._control = self._process = None

    def _remove_parts(self) -> None:
        for part in (self._live, self._log):
            part.unlink(missing_ok=True)

    def _send(self, token: str, script: str, deadline: float) -> None:
        content = script.encode()
        control = self._on()
        control.settimeout(max(0.0, deadline - time.monotonic()))
        control.sendall(f"{token} {len(content)}\n".encode() + content)

    def _receive_until(self, mark: bytes, deadline: float) -> bytes:
        control = self._on()
        while mark not in self._received:
            left = deadline - time.monotonic()
            if left <= 0:
                raise GuestError(f"no answer in time; so far: {self._received[-500:]!r}.{self._last_words()}")
            control.settimeout(left)
            try:
                part = control.recv(1 << 16)
            except TimeoutError:
                continue
            if not part:
                raise GuestError(f"the machine went off.{self._last_words()}")
            self._received += part
        before, _, self._received = self._received.partition(mark)
        return before

    def _last_words(self) -> str:
        console = self.read_console()[-1500:].strip()
        qemu = self._complaints.read_text(errors="replace").strip()
        return f"\nconsole: {console}" + (f"\nqemu: {qemu}" if qemu else "")
