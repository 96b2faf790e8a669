"""A small fleet of guests on this machine, that can be stopped and resumed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import msgspec

from datamill.guests.emulator import MachineModel
from datamill.guests.images.disk import find_boot_disk, make_disk
from datamill.guests.images.image import GuestImage
from datamill.guests.machine import Guest, GuestError

#: This machine as a guest sees it.
HOST_ADDRESS = "10.0.2.2"
DISK_MIB = 1024
MEMORY_MIB = 768
#: Packages may speak through the console, which people and tests read.
_POLICY = (
    "# What the owner of this machine allows.\nreboot = true\nkernels = true\n"
    'boot_parameters = ["mitigations", "nosmt", "transparent_hugepage", "isolcpus", "nohz_full", "idle"]\n'
    'devices = ["/dev/console"]\n'
)
_LOOPBACK = ("localhost", "::1", "0.0.0.0")


class LabGuest(msgspec.Struct, frozen=True):
    """A guest of a lab, as its folder tells.

    Attributes:
        name: Its name, in the lab and in the fleet.
        arch: Architecture, as `uname -m` says it.
        cpu: Model of its processor, as qemu names it.
        url: The coordinator's address as the guest sees it.
    """

    name: str
    arch: str
    cpu: str
    url: str

    @property
    def model(self) -> MachineModel:
        """Return the machine's model."""
        return MachineModel(self.arch, self.cpu)


@dataclass(frozen=True)
class LabState:
    """What a guest of a lab does now.

    Attributes:
        guest: Which one.
        is_on: Whether it is on.
        boot_id: Its boot; empty before the first.
        boots: How often it booted since the lab was started.
        boot_time_s: How long the last start from off took.
        trouble: What is wrong; empty: nothing.
    """

    guest: LabGuest
    is_on: bool
    boot_id: str
    boots: int
    boot_time_s: float
    trouble: str


def rewrite_url(url: str) -> str:
    """Return a coordinator's address as guests see it: what is local here is not local there."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host not in _LOOPBACK and not host.startswith("127."):
        return url
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, f"{HOST_ADDRESS}{port}", parts.path, "", ""))


def list_guests(folder: Path) -> list[LabGuest]:
    """Return the guests of a lab's folder, in the order of their names."""
    files = sorted(folder.glob("*/guest.json"))
    return [msgspec.json.decode(file.read_bytes(), type=LabGuest) for file in files]


def add_guest(folder: Path, guest: LabGuest, token: str) -> None:
    """Make the disk of a new guest, which joins the fleet with the token at its first boot.

    Raises:
        GuestUnavailableError: No disk can be made here.
    """
    place = folder / guest.name
    place.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as content:
        given = Path(content, "lib", "datamill", "guest")
        given.mkdir(parents=True)
        given.chmod(0o700)
        for name, text in (
            ("url", guest.url),
            ("token", token),
            ("name", guest.name),
            ("policy.toml", _POLICY),
        ):
            (given / name).write_text(f"{text}\n")
        make_disk(place / "disk", size_mib=DISK_MIB, content=Path(content))
    # Last: without it the folder is no guest.
    (place / "guest.json").write_bytes(msgspec.json.encode(guest))


def remove_unfinished(folder: Path) -> None:
    """Remove what was left of guests whose making was interrupted."""
    for place in folder.glob("guest-*"):
        if not (place / "guest.json").exists():
            shutil.rmtree(place)


class Lab:
    """Guests that are on, each restarted when it goes off.

    Args:
        folder: The lab's folder; each guest has a folder of its own in it.
        images: What guests boot, by architecture.
    """

    def __init__(self, folder: Path, images: dict[str, GuestImage]) -> None:
        self._guests = list_guests(folder)
        self._machines = {
            guest.name: Guest(
                images[guest.arch],
                folder / guest.name / "disk",
                model=guest.model,
                memory_mib=MEMORY_MIB,
                network=True,
                may_reboot=True,
                volatile_cache=False,
                boot=find_boot_disk(images[guest.arch]),
            )
            for guest in self._guests
        }
        self._boots = dict.fromkeys(self._machines, 0)
        self._trouble = dict.fromkeys(self._machines, "")

    def start(self) -> None:
        """Switch on what is off, all at once; a guest that does not boot is told in its state."""
        off = {name: machine for name, machine in self._machines.items() if not machine.is_on}
        for machine in off.values():
            # What it left when it went off by itself.
            machine.cut_power()
            machine.switch_on()
        for name, machine in off.items():
            try:
                machine.wait_until_ready()
            except GuestError as error:
                self._trouble[name] = str(error).splitlines()[0]
            else:
                self._boots[name] += 1
                self._trouble[name] = ""

    def look(self) -> list[LabState]:
        """Return what each guest does now."""
        return [self._look_at(guest) for guest in self._guests]

    def stop(self, tell: Callable[[str], None] = lambda _: None) -> None:
        """Shut all guests down in order, all at once; one that does not is switched off."""
        on = [name for name, machine in self._machines.items() if machine.is_on]

        def end(name: str) -> None:
            try:
                self._machines[name].power_off()
            except (GuestError, OSError) as error:
                tell(f"{name}: {error}")
            finally:
                self._machines[name].cut_power()

        if on:
            with ThreadPoolExecutor(len(on)) as pool:
                list(pool.map(end, on))

    def _look_at(self, guest: LabGuest) -> LabState:
        machine = self._machines[guest.name]
        if machine.is_on:
            self._boots[guest.name] += len(machine.forget_boots())
        return LabState(
            guest,
            machine.is_on,
            machine.boot_id,
            self._boots[guest.name],
            machine.boot_time_s,
            self._trouble[guest.name],
        )


def choose_names(folder: Path, count: int) -> list[str]:
    """Return names for new guests that none in the folder has."""
    taken = {guest.name for guest in list_guests(folder)}
    names = (f"guest-{number}" for number in range(1, count + len(taken) + 1))
    return [name for name in names if name not in taken][:count]


def list_arches(guests: Sequence[LabGuest]) -> list[str]:
    """Return the architectures of guests, each once."""
    return sorted({guest.arch for guest in guests})
