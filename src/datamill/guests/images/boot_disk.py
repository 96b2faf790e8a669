"""The disk from which a guest boots itself again: its kernel and initial memory disk as files of /boot."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from datamill.guests.images.cache import make_once
from datamill.guests.images.disk import make_disk
from datamill.guests.images.image import GuestImage


def find_boot_disk(image: GuestImage) -> Path:
    """Return a disk with what an image boots, named as Debian names it; made once beside the image.

    Raises:
        GuestUnavailableError: No disk can be made here.
    """
    disk = image.initramfs.with_suffix(".boot")

    def make(unfinished: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            content = Path(folder)
            (content / f"vmlinuz-{image.version}").write_bytes(image.kernel.read_bytes())
            (content / f"initrd.img-{image.version}").write_bytes(image.initramfs.read_bytes())
            size = sum(file.stat().st_size for file in content.iterdir())
            make_disk(unfinished, size_mib=(size >> 20) + 24, content=content)

    make_once(disk, make)
    # As old as the image when it was last used, with which it is thrown away.
    os.utime(disk)
    return disk
