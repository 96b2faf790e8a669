"""The disk of a guest: a raw file with ext4, and what a power cut leaves of it."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from datamill.guests.images.cache import make_once
from datamill.guests.images.image import GuestImage
from datamill.guests.unavailable import GuestUnavailableError

_LOG_MAGIC = 0x6A736677736872
_DISCARD = 4


def make_disk(path: Path, *, size_mib: int = 256, content: Path | None = None) -> Path:
    """Make a disk that a guest mounts at /var, with the content of a folder on it, and return its path.

    Raises:
        GuestUnavailableError: There is no mkfs.ext4 here.
    """
    if shutil.which("mkfs.ext4") is None:
        raise GuestUnavailableError("no mkfs.ext4 here (Debian: e2fsprogs)")
    with path.open("wb") as file:
        file.truncate(size_mib << 20)
    filled = [] if content is None else ["-d", str(content)]
    # Left to the kernel, these would be initialised while a guest runs.
    command = ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", *filled, str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path


def find_boot_disk(image: GuestImage, others: Sequence[GuestImage] = ()) -> Path:
    """Return a disk with what an image boots, named as Debian names it; made once beside the image.

    Args:
        image: What a guest boots by itself.
        others: Images with other kernels that are installed beside it.

    Raises:
        GuestUnavailableError: No disk can be made here.
    """
    images = (image, *others)
    disk = image.initramfs.with_name("-".join(one.initramfs.stem for one in images) + ".boot")

    def make(unfinished: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            content = Path(folder)
            for one in images:
                (content / f"vmlinuz-{one.version}").write_bytes(one.kernel.read_bytes())
                (content / f"initrd.img-{one.version}").write_bytes(one.initramfs.read_bytes())
            size = sum(file.stat().st_size for file in content.iterdir())
            make_disk(unfinished, size_mib=(size >> 20) + 24, content=content)

    make_once(disk, make)
    # As old as the image when it was last used, with which it is thrown away.
    os.utime(disk)
    return disk


def copy_disk(disk: Path, copy: Path) -> None:
    """Copy a disk, holes as holes."""
    subprocess.run(["cp", "--sparse=always", "--reflink=auto", disk, copy], check=True)


def replay_writes(log: Path, disk: Path) -> int:
    """Repeat on a disk every write of qemu's log that was flushed, and return how many there were.

    What a guest wrote after its last flush would be in the volatile cache of a real disk: it is lost. The log
    is that of qemu's block driver `blklogwrites`, in the format of Linux' dm-log-writes: a head with the
    number of entries, which is brought up to date by a flush only, then entries and their data, in whole
    sectors.
    """
    with log.open("rb") as source, disk.open("r+b") as target:
        magic, version, entries, sector = cast("tuple[int, ...]", struct.unpack("<QQQI", source.read(28)))
        if (magic, version) != (_LOG_MAGIC, 1):
            raise ValueError(f"{log} is not a log of writes")
        source.seek(sector)
        for _ in range(entries):
            start, sectors, flags, _ = struct.unpack("<QQQQ", source.read(32))
            source.seek(sector - 32, 1)
            if flags & _DISCARD:
                content = bytes(sectors * sector)
            else:
                content = source.read(sectors * sector)
                if len(content) != sectors * sector:
                    raise ValueError(f"{log} ends within a flushed write")
            target.seek(start * sector)
            target.write(content)
    return entries
