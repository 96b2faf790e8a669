"""`datamill worker image`: a bootable machine that is a worker."""

from __future__ import annotations

import platform
import shlex
import shutil
from pathlib import Path

import click

from datamill.experiment.errors import InputError


@click.command()
@click.option(
    "--arch",
    type=click.Choice(["x86_64", "aarch64"]),
    default=platform.machine,
    help="Architecture of the machine [this one's].",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Where to put it [worker-ARCH].",
)
@click.option(
    "--packages",
    metavar="NAME,…",
    help="Packages of Debian in it, such as gcc,make; without, it has busybox alone.",
)
@click.option(
    "--worker",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="A static datamill-worker of that architecture [this host's, or built now].",
)
def image(arch: str, out: Path | None, packages: str | None, worker: Path | None) -> None:
    """Build a bootable machine that is a worker, from Debian's packages, to try packages on at home.

    FOLDER gets the kernel, its initial memory disk, a disk for the worker's state, with --packages a
    root disk with Debian's programs, and `start`, which boots it in qemu.
    """
    # Imported late: guests are no part of the other verbs.
    from datamill.guests.images.disk import make_disk
    from datamill.guests.images.worker_image import build_worker_image
    from datamill.guests.start_script import make_start_script
    from datamill.guests.unavailable import GuestUnavailableError

    folder = out or Path(f"worker-{arch}")
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty", where="--out", remedy="Name another folder, or empty it.")
    wanted = None if packages is None else [name for name in packages.split(",") if name]
    try:
        made = build_worker_image(worker, arch=arch, packages=wanted)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made.kernel, folder / "kernel")
        shutil.copyfile(made.initramfs, folder / "initramfs")
        if made.root is not None:
            shutil.copyfile(made.root, folder / "root")
        make_disk(folder / "disk", size_mib=1024)
    except GuestUnavailableError as error:
        raise InputError(f"no image can be made here: {error}") from None
    start = folder / "start"
    start.write_text(make_start_script(made))
    start.chmod(0o755)
    click.echo(f"{folder}: Linux {made.version} for {arch}; boot it with {shlex.quote(str(start))}")
