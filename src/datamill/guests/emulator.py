"""The machines that qemu emulates for guests."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from datamill.guests.unavailable import GuestUnavailableError


@dataclass(frozen=True)
class MachineModel:
    """A model of an emulated machine.

    Attributes:
        arch: Architecture, as `uname -m` says it.
        cpu: Model of the processor, as qemu names it.
    """

    arch: str
    cpu: str

    def __str__(self) -> str:
        return f"{self.arch} {self.cpu}"


@dataclass(frozen=True)
class _Emulator:
    program: str
    package: str
    machine: str
    console: str
    cpus: tuple[str, ...]
    kernel_options: str = ""


# Models that are quick to emulate: `max` takes 3 to 10 times as long.
_EMULATORS = {
    "x86_64": _Emulator(
        "qemu-system-x86_64",
        "qemu-system-x86",
        "pc",
        "ttyS0",
        ("qemu64", "Nehalem", "Opteron_G1"),
        # On a busy host the emulated timer is late; the kernel would take it for missing, and panic.
        " no_timer_check",
    ),
    "aarch64": _Emulator(
        "qemu-system-aarch64", "qemu-system-arm", "virt", "ttyAMA0", ("cortex-a57", "cortex-a72")
    ),
}
ARCHES = tuple(_EMULATORS)


def choose_model(arch: str, cpu: str | None = None) -> MachineModel:
    """Return a model of an architecture: the quickest to emulate unless a processor is named.

    Raises:
        GuestUnavailableError: Guests are not made for this architecture.
    """
    if arch not in _EMULATORS:
        raise GuestUnavailableError(f"guests are {' or '.join(ARCHES)}, not {arch}")
    return MachineModel(arch, cpu or _EMULATORS[arch].cpus[0])


def mix_models(arches: tuple[str, ...], count: int) -> list[MachineModel]:
    """Return models as unlike each other as may be: architectures first, then processors."""
    longest = max(len(_EMULATORS[arch].cpus) for arch in arches)
    unlike = [
        MachineModel(arch, _EMULATORS[arch].cpus[number])
        for number in range(longest)
        for arch in arches
        if number < len(_EMULATORS[arch].cpus)
    ]
    return [unlike[number % len(unlike)] for number in range(count)]


def find_emulator(arch: str) -> Path:
    """Return qemu's program for an architecture.

    Raises:
        GuestUnavailableError: It is not here.
    """
    emulator = _EMULATORS[choose_model(arch).arch]
    found = shutil.which(emulator.program)
    if found is None:
        raise GuestUnavailableError(f"no {emulator.program} here (Debian: {emulator.package})")
    return Path(found)


def write_kernel_line(arch: str) -> str:
    """Return the command line of a guest's kernel: it speaks on the serial port, and reboots in a panic."""
    emulator = _EMULATORS[arch]
    return f"console={emulator.console} quiet panic=-1{emulator.kernel_options}"


def list_machine_options(arch: str) -> tuple[str, list[str]]:
    """Return the name of qemu's program for an architecture and the options that make it such a machine."""
    emulator = _EMULATORS[arch]
    # Plain TCG: /dev/kvm may exist and not work. One thread for all processors: with one for each, a guest of
    # two loses interrupts and, on a busy host, stands still within minutes (qemu 7.2).
    return emulator.program, ["-accel", "tcg,thread=single", "-machine", emulator.machine]


@dataclass(frozen=True)
class Wiring:
    """What an emulated machine is made of besides its model.

    Attributes:
        kernel: The kernel that it boots.
        initramfs: The initial memory disk.
        root: A disk that it only reads; None: it has none.
        disk: The disk that it reads and writes.
        boot: A disk with its kernel as a file, from which it can boot itself again; None: it has none.
        write_log: Where every write to the disk is repeated, with its flushes; None: nowhere.
        console: File to whose end what it says on its serial port is added.
        control: Descriptor of a socket to its agent.
        memory_mib: Size of its memory.
        processors: Number of its processors.
        network: Whether it has a network, on which this machine is 10.0.2.2.
        may_reboot: Whether it boots again when it reboots, or goes off.
    """

    kernel: Path
    initramfs: Path
    root: Path | None
    disk: Path
    write_log: Path | None
    console: Path
    control: int
    memory_mib: int
    processors: int
    network: bool
    may_reboot: bool
    boot: Path | None = None


def build_command(model: MachineModel, wiring: Wiring) -> list[str]:
    """Return the command that emulates a machine.

    Raises:
        GuestUnavailableError: There is no qemu for it here.
    """
    disk = "disk"
    logging = []
    if wiring.write_log is not None:
        disk = "logged"
        logging = [
            *("-blockdev", f"driver=file,node-name=writes,filename={wiring.write_log}"),
            *("-blockdev", "driver=blklogwrites,node-name=logged,file=disk,log=writes"),
        ]
    root = []
    if wiring.root is not None:
        root = [
            *("-blockdev", f"driver=file,node-name=root,filename={wiring.root},read-only=on"),
            *("-device", "virtio-blk-pci,drive=root,addr=5"),
        ]
    boot = []
    if wiring.boot is not None:
        boot = [
            *("-blockdev", f"driver=file,node-name=boot,filename={wiring.boot},read-only=on"),
            *("-device", "virtio-blk-pci,drive=boot,addr=6,serial=boot"),
        ]
    network = []
    if wiring.network:
        network = ["-netdev", "user,id=network", "-device", "virtio-net-pci,netdev=network,romfile="]
    return [
        # Whoever is killed takes his guests with him.
        *("setpriv", "--pdeathsig", "KILL", str(find_emulator(model.arch))),
        *list_machine_options(model.arch)[1],
        *("-cpu", model.cpu),
        *("-m", f"{wiring.memory_mib}M", "-smp", str(wiring.processors)),
        *("-nodefaults", "-no-user-config", "-display", "none"),
        *(() if wiring.may_reboot else ("-no-reboot",)),
        *("-kernel", str(wiring.kernel), "-initrd", str(wiring.initramfs)),
        *("-append", write_kernel_line(model.arch)),
        *("-chardev", f"file,id=console,path={wiring.console},append=on", "-serial", "chardev:console"),
        *("-device", "virtio-rng-pci"),
        *("-blockdev", f"driver=file,node-name=disk,filename={wiring.disk}"),
        *logging,
        *("-device", f"virtio-blk-pci,drive={disk},addr=4"),
        *root,
        *boot,
        *network,
        *("-device", "virtio-serial-pci", "-chardev", f"socket,id=control,fd={wiring.control}"),
        *("-device", "virtserialport,chardev=control,name=control"),
    ]
