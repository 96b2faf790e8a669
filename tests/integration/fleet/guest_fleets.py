"""A coordinator and emulated machines that joined it, for tests in which they boot and fail."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from acceptance.conftest import Command
from acceptance.fleet.fleets import LocalFleet

from datamill.guests import Guest, GuestError, GuestImage, choose_model
from datamill.guests.images.disk import find_boot_disk
from datamill.guests.lab import LabGuest, add_guest, rewrite_url

MOST_S = 900.0


@dataclass(frozen=True)
class AskedGuest:
    """A guest that is wanted.

    Attributes:
        image: What it boots by itself.
        cpu: Model of its processor; None: the quickest to emulate.
        others: Images with other kernels that are installed on it.
    """

    image: GuestImage
    cpu: str | None = None
    others: tuple[GuestImage, ...] = ()


@dataclass
class GuestFleet:
    """A coordinator with TLS, and guests that joined it."""

    fleet: LocalFleet
    guests: dict[str, Guest]
    started_s: float = field(default_factory=time.monotonic)

    def ask(self, path: str, **parameters: object) -> Any:
        """Return what the coordinator tells, None when it does not answer."""
        settings = json.loads((self.fleet.folder / "config/datamill/coordinator.json").read_text())
        try:
            answer = httpx.get(
                f"{self.fleet.url}/api{path}",
                params={name: str(value) for name, value in parameters.items()},
                headers={"Authorization": f"Bearer {settings['api_key']}"},
                verify=False,
                timeout=20,
            )
        except httpx.TransportError:
            return None
        return answer.json() if answer.status_code == 200 else None

    def wait(self, what: str, done: Callable[[], bool], every_s: float = 0.3) -> None:
        """Wait until something is so; say how long it took."""
        start_s = time.monotonic()
        while not done():
            words = "\n".join(
                f"{name}: {guest.read_console()[-1500:]}" for name, guest in self.guests.items()
            )
            assert time.monotonic() - start_s < MOST_S, (
                f"waited for {what}\n{self.fleet.read('serve')[-3000:]}\n{words}"
            )
            time.sleep(every_s)
        self.tell(f"{what}, {time.monotonic() - start_s:.0f} s")

    def tell(self, what: str) -> None:
        """Note what happened, and when."""
        print(f"{time.monotonic() - self.started_s:6.1f} s  {what}", flush=True)

    def count(self, experiment: int) -> int:
        """Return how many trials are counted."""
        told = self.ask(f"/experiments/{experiment}")
        return 0 if told is None else int(told["trials"].get("counted", 0))

    def list_events(self, experiment: int | None = None) -> list[dict[str, Any]]:
        """Return the events of the fleet, or of an experiment."""
        place = "/events" if experiment is None else f"/experiments/{experiment}/events"
        events: list[dict[str, Any]] = []
        after: int | None = 0
        while after is not None:
            page = self.ask(place, after=after)
            if page is None:
                time.sleep(0.5)
                continue
            events += page["events"]
            after = page["next"]
        return events


@contextlib.contextmanager
def start_guests(folder: Path, asked: Sequence[AskedGuest], *options: str) -> Iterator[GuestFleet]:
    """Start a coordinator and guests `guest-1` and so on, and wait until all serve.

    Args:
        folder: Where everything is kept.
        asked: The guests.
        options: More options of `datamill serve`.
    """
    with contextlib.ExitStack() as stack:
        command = Command(folder)
        started = LocalFleet(command, "--tls", *options)
        stack.callback(started.stop)
        guests = {}
        for number, one in enumerate(asked, start=1):
            name = f"guest-{number}"
            made = command("worker", "token", "--quiet")
            assert made.returncode == 0, made.stderr
            model = choose_model(one.image.arch, one.cpu)
            lab = folder / "lab"
            add_guest(
                lab, LabGuest(name, model.arch, model.cpu, rewrite_url(started.url)), made.stdout.strip()
            )
            guest = Guest(
                one.image,
                lab / name / "disk",
                model=model,
                network=True,
                may_reboot=True,
                boot=find_boot_disk(one.image, one.others),
            )
            guests[name] = guest
            stack.callback(guest.cut_power)
        whole = GuestFleet(started, guests)
        for guest in guests.values():
            guest.switch_on()
        for guest in guests.values():
            guest.wait_until_ready()
        whole.tell(f"booted in {', '.join(f'{guest.boot_time_s:.1f}' for guest in guests.values())} s")
        # One that has joined is away until its worker says hello.
        whole.wait(
            "all guests to serve",
            lambda: [told["state"] for told in whole.ask("/workers") or ()] == ["idle"] * len(guests),
        )
        yield whole


def insist(guest: Guest, script: str) -> str:
    """Run a script in a guest that may reboot at any moment."""
    for _ in range(10):
        try:
            return guest.check(script, timeout_s=30)
        except GuestError:
            time.sleep(2)
    return guest.check(script, timeout_s=30)


def ended(fleet: GuestFleet, experiment: int) -> bool:
    """Whether the experiment is over."""
    told = fleet.ask(f"/experiments/{experiment}")
    return told is not None and told["state"] in ("completed", "cancelled")
