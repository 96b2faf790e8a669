"""An emulated machine that can be rebooted, and whose power can be cut."""

from __future__ import annotations

import base64
import re
import secrets
import shlex
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from datamill.guests.emulator import MachineModel, Wiring, build_command, choose_model
from datamill.guests.images.disk import copy_disk, replay_writes
from datamill.guests.images.image import GuestImage

# Emulation needs 1 to 3 s on an idle machine; a loaded one is slower, not broken.
BOOT_TIMEOUT_S = 120.0
_READY = re.compile(rb"(?:^|\n)ready ([0-9a-f-]{36})\n")


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
    """An emulated machine with one disk, which outlives reboots and power cuts.

    Its root is in memory, or unchanged below memory, and new at each boot; its disk is at /var. Use it as a
    context manager: it boots on entry and is switched off, without ceremony, on exit.
    """

    def __init__(
        self,
        image: GuestImage,
        disk: Path,
        *,
        model: MachineModel | None = None,
        memory_mib: int = 640,
        processors: int = 1,
        network: bool = False,
        may_reboot: bool = False,
        volatile_cache: bool = True,
        boot: Path | None = None,
    ) -> None:
        """Describe the machine.

        Args:
            image: What it boots.
            disk: Its disk, see `make_disk`; the files beside it that begin with its name are the machine's.
            model: Which machine it is, of the image's architecture; the quickest to emulate if left out.
            memory_mib: Size of its memory.
            processors: Number of its processors.
            network: Whether it has a network, on which this machine is 10.0.2.2.
            may_reboot: Whether it boots again by itself when it reboots, or goes off.
            volatile_cache: Whether its disk can lose what was not flushed. That is what `cut_power` needs,
                and a log that grows with every write until the machine is switched off.
            boot: A disk with its kernel, see `find_boot_disk`; without it the machine starts no other kernel.
        """
        self._image = image
        self._model = model or choose_model(image.arch)
        self._network = network
        self._may_reboot = may_reboot
        self._volatile_cache = volatile_cache
        self._disk = disk
        self._boot = boot
        self._memory_mib = memory_mib
        self._processors = processors
        self._live, self._log, self._console, self._complaints = (
            disk.with_name(f"{disk.name}.{part}") for part in ("live", "writes", "console", "qemu")
        )
        self._console_start = 0
        self._switched_on = 0.0
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
        self.switch_on()
        self.wait_until_ready()

    def switch_on(self) -> None:
        """Switch the machine on; it goes off when the thread that called this ends."""
        if self._process is not None:
            raise GuestError("the guest is on already")
        self._switched_on = time.monotonic()
        if self._volatile_cache:
            copy_disk(self._disk, self._live)
            self._log.write_bytes(b"")
        # What it says now follows what it said before it was switched off.
        self._console_start = self._console.stat().st_size if self._console.exists() else 0
        ours, theirs = socket.socketpair()
        with theirs, self._complaints.open("wb") as complaints:
            self._process = subprocess.Popen(
                self._command(theirs.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=complaints,
                stderr=complaints,
                pass_fds=[theirs.fileno()],
                # Ctrl-C is for whoever asked for the guest: it is shut down in order.
                start_new_session=True,
            )
        self._control, self._received = ours, b""

    def wait_until_ready(self) -> None:
        """Wait until a machine that was switched on takes scripts; sets `boot_id` and `boot_time_s`.

        Raises:
            GuestError: It does not in time; it is off then.
        """
        deadline = self._switched_on + BOOT_TIMEOUT_S
        try:
            said = self._receive_until(b"ready ", deadline)
            self.boot_id = self._receive_until(b"\n", deadline).decode()
        except BaseException:
            self.cut_power()
            raise
        if said.strip():
            raise GuestError(f"the guest said before it was ready: {said!r}")
        self.boot_time_s = time.monotonic() - self._switched_on

    @property
    def is_on(self) -> bool:
        """Whether the machine is on; it may have switched itself off."""
        return self._process is not None and self._process.poll() is None

    def forget_boots(self) -> list[str]:
        """Return the boots that were ready since last asked, oldest first; `boot_id` is then the last."""
        control = self._on()
        control.settimeout(0)
        try:
            while part := control.recv(1 << 16):
                self._received += part
        except BlockingIOError:
            pass
        boots = [found.decode() for found in _READY.findall(self._received)]
        if boots:
            self.boot_id = boots[-1]
            self._received = self._received[self._received.rindex(b"ready ") :].partition(b"\n")[2]
        return boots

    def wait_for_reboot(self, timeout_s: float = BOOT_TIMEOUT_S) -> None:
        """Wait until a machine that reboots by itself takes scripts again; sets `boot_id`.

        Raises:
            GuestError: It does not in time, or went off.
        """
        deadline = time.monotonic() + timeout_s
        while not self.forget_boots():
            if time.monotonic() > deadline or not self.is_on:
                raise GuestError(f"the guest does not come back.{self._last_words()}")
            time.sleep(0.05)

    def run(self, script: str, timeout_s: float = 60.0) -> Finished:
        """Run a shell script as root in the guest and wait for its end.

        Raises:
            GuestError: It did not end in time, or the machine went off or rebooted meanwhile.
        """
        self.forget_boots()
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
        if not self._console.exists():
            return ""
        return self._console.read_bytes()[self._console_start :].decode(errors="replace")

    def reboot(self) -> None:
        """Shut down in order, as `reboot` does, and boot again: a new kernel in new memory, the same disk."""
        self.power_off()
        self.boot()

    def power_off(self, timeout_s: float = 60.0) -> None:
        """Shut down in order: everything written is on the disk."""
        process = self._on_process()
        # A guest with Debian's programs has no other poweroff.
        halt = (
            "b=/bin/busybox; sync; $b swapoff -a\n"
            "$b umount /var || $b mount -o remount,ro /var; $b poweroff -f\n"
        )
        try:
            self._send("off", halt, time.monotonic() + timeout_s)
            process.wait(timeout_s)
        except (subprocess.TimeoutExpired, TimeoutError):
            words = self._last_words()
            self.cut_power()
            raise GuestError(f"the guest does not switch off.{words}") from None
        self._close()
        if self._volatile_cache:
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
        if not self._volatile_cache:
            return
        if not lose_unflushed:
            self._live.replace(self._disk)
        elif self._log.stat().st_size:
            replay_writes(self._log, self._disk)
        self._remove_parts()

    def _command(self, control: int) -> list[str]:
        wiring = Wiring(
            kernel=self._image.kernel,
            initramfs=self._image.initramfs,
            root=self._image.root,
            disk=self._live if self._volatile_cache else self._disk,
            write_log=self._log if self._volatile_cache else None,
            console=self._console,
            control=control,
            memory_mib=self._memory_mib,
            processors=self._processors,
            network=self._network,
            may_reboot=self._may_reboot,
            boot=self._boot,
        )
        return build_command(self._model, wiring)

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
            if mark != b"ready " and _READY.search(self._received):
                raise GuestError(f"the guest rebooted meanwhile.{self._last_words()}")
        before, _, self._received = self._received.partition(mark)
        return before

    def _last_words(self) -> str:
        console = self.read_console()[-1500:].strip()
        qemu = self._complaints.read_text(errors="replace").strip()
        return f"\nconsole: {console}" + (f"\nqemu: {qemu}" if qemu else "")
