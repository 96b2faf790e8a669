"""`datamill worker guest-image`: what trials with `isolation = "guest"` boot on this machine."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import click

from datamill.execution.state_folder import find_state_folder
from datamill.experiment.errors import InputError


@click.command("guest-image")
@click.option(
    "--packages",
    metavar="NAME,…",
    default="gcc,libc6-dev,make",
    show_default=True,
    help="Packages of Debian that trials find in it besides a shell and its tools.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Where to put it [where this machine's worker looks: guest-image in its state folder].",
)
def guest_image(packages: str, out: Path | None) -> None:
    """Make what trials with `isolation = "guest"` boot on this machine, from Debian's packages.

    Each such trial boots its own emulated machine. It finds the programs of this image, and nothing
    of this machine. An older image is replaced.
    """
    # Imported late: guests are no part of the other verbs.
    from datamill.guests.images.isolation_image import IMAGE_FOLDER, make_isolation_image
    from datamill.guests.unavailable import GuestUnavailableError

    folder = out or find_state_folder(os.environ, is_root=os.geteuid() == 0) / IMAGE_FOLDER
    try:
        release = make_isolation_image(
            folder.absolute(), platform.machine(), [name for name in packages.split(",") if name]
        )
    except GuestUnavailableError as error:
        raise InputError(f"no image can be made here: {error}") from None
    except FileExistsError as error:
        raise InputError(str(error), where="--out", remedy="Name another folder, or empty it.") from None
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None
    click.echo(f"{folder}: Linux {release} with {packages or 'a shell and its tools'}")
