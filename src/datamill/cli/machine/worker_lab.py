"""`datamill worker lab`: a small fleet of emulated machines on this one."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.live import Live
from rich.table import Table
from rich.text import Text

from datamill.cli.console import make_console, print_clean
from datamill.cli.coordinator.coordinator_settings import coordinator_options, read_settings
from datamill.experiment.errors import InputError
from datamill.protocol.api.accounts import MachineToken, TokenRequest

if TYPE_CHECKING:
    from datamill.guests.images.image import GuestImage

_LOOK_EVERY_S = 1.0
_ASK_EVERY_S = 5.0
_TOKEN_LIFE_S = 3600.0


@click.command()
@click.option("--guests", "count", type=click.IntRange(1, 64), default=3, help="How many machines [3].")
@click.option(
    "--arch",
    "arches",
    multiple=True,
    type=click.Choice(["x86_64", "aarch64"]),
    help="Only of this architecture; may be repeated [all that this machine can boot].",
)
@click.option(
    "--packages",
    metavar="NAME,…",
    help="Packages of Debian in the guests, such as gcc,make; without, they have busybox alone.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where the machines' disks are kept; a second start resumes them [~/.local/share/datamill/lab].",
)
@click.option("--names", is_flag=True, help="Print names and states once all are on, and no live table.")
@coordinator_options
def lab(
    count: int,
    arches: tuple[str, ...],
    packages: str | None,
    folder: Path | None,
    names: bool,
    url: str | None,
    key: str | None,
) -> None:
    """Boot a small fleet of emulated machines that join the coordinator, and run it until Ctrl-C.

    The machines are as unlike each other as this one allows. One that goes off is switched on again.
    Disks are kept: the same machines, with what they were about to do, are back at the next start.
    """
    # Imported late: guests are no part of the other verbs.
    from datamill.cli.coordinator.coordinator_client import connect
    from datamill.guests import lab as guest_lab
    from datamill.guests.emulator import mix_models
    from datamill.guests.images.worker_image import build_worker_image
    from datamill.guests.unavailable import GuestUnavailableError

    settings = read_settings(url, key)
    if settings.url.startswith("http://"):
        raise InputError(
            f"guests reach {settings.url} over a network, and workers send no secrets over one in plain text",
            where="--url",
            remedy="Start the coordinator with datamill serve --tls.",
        )
    place = folder or default_folder()
    place.mkdir(parents=True, exist_ok=True)
    console = make_console()
    wanted = None if packages is None else [name for name in packages.split(",") if name]
    guest_lab.remove_unfinished(place)
    known = guest_lab.list_guests(place)
    try:
        images: dict[str, GuestImage] = {}
        for arch in dict.fromkeys([*(arches or _all_arches()), *guest_lab.list_arches(known)]):
            needed = arch in arches or arch in guest_lab.list_arches(known)
            try:
                with console.status(f"making the image for {arch}"):
                    images[arch] = build_worker_image(arch=arch, packages=wanted)
            except GuestUnavailableError as error:
                if needed or arch == platform.machine():
                    raise
                console.print(Text(f"No guests of {arch}: {error}", style="yellow"))
        missing = count - len(known)
        if missing > 0:
            usable = tuple(arch for arch in images if not arches or arch in arches)
            models = mix_models(usable, count)[-missing:]
            with connect(url, key) as coordinator:
                for name, model in zip(guest_lab.choose_names(place, missing), models, strict=True):
                    made = coordinator.post("/tokens", MachineToken, TokenRequest(_TOKEN_LIFE_S))
                    guest = guest_lab.LabGuest(
                        name, model.arch, model.cpu, guest_lab.rewrite_url(settings.url)
                    )
                    guest_lab.add_guest(place, guest, made.token)
    except GuestUnavailableError as error:
        raise InputError(
            f"no guests here: {error}", remedy="See docs/howto/guests.md for what guests need."
        ) from None
    machines = guest_lab.Lab(place, images)
    try:
        with console.status("booting"):
            machines.start()
        with connect(url, key) as coordinator:
            _serve(machines, coordinator, live=not names and console.is_terminal, console=console)
    except KeyboardInterrupt:
        console.print("shutting down")
    finally:
        machines.stop(lambda trouble: console.print(Text(trouble, style="yellow")))
    console.print(Text(f"Disks and consoles are in {place}", style="dim"))


def default_folder() -> Path:
    """Return where a lab is kept unless told otherwise."""
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "datamill" / "lab"


def _serve(machines: Any, coordinator: Any, *, live: bool, console: Any) -> None:
    workers: dict[str, str] = {}
    asked = 0.0
    shown = ""
    with Live(console=console, auto_refresh=False, transient=True) as display:
        while True:
            machines.start()
            if time.monotonic() - asked > _ASK_EVERY_S:
                workers = _ask_states(coordinator)
                asked = time.monotonic()
            states = machines.look()
            if live:
                display.update(_make_table(states, workers), refresh=True)
            else:
                told = "\n".join(
                    f"{state.guest.name} {state.guest.model}: {workers.get(state.guest.name, 'not enrolled')}"
                    for state in states
                )
                if told != shown:
                    print_clean(told)
                    shown = told
            time.sleep(_LOOK_EVERY_S)


def _ask_states(coordinator: Any) -> dict[str, str]:
    from datamill.cli.fleet.workers import list_workers

    try:
        return {worker.name: worker.state for worker in list_workers(coordinator)}
    except InputError as error:
        return {"": str(error)}


def _make_table(states: list[Any], workers: dict[str, str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for header in ("name", "machine", "power", "boots", "in the fleet", ""):
        table.add_column(header, no_wrap=header != "")
    for state in states:
        table.add_row(
            state.guest.name,
            str(state.guest.model),
            "on" if state.is_on else "off",
            str(state.boots),
            Text(workers.get(state.guest.name, "not enrolled")),
            Text(state.trouble, style="yellow"),
        )
    if "" in workers:
        table.add_row(Text(workers[""], style="yellow"))
    return table


def _all_arches() -> tuple[str, ...]:
    from datamill.guests.emulator import ARCHES

    here = platform.machine()
    return tuple(sorted(ARCHES, key=lambda arch: arch != here))
