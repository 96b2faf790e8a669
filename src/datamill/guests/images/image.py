"""What a guest boots: a kernel, and an initial memory disk with busybox, the worker and the agent."""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from datamill.guests.images.cache import cache_folder
from datamill.guests.images.cpio import CpioArchive
from datamill.guests.images.kernel import find_busybox, find_kernel, list_modules, read_module

SCRIPTS = Path(__file__).with_name("scripts")
NEEDED_MODULES = (
    *("virtio_pci", "virtio_blk", "virtio_console", "virtio_rng", "virtio_net"),
    # Asked for as ext4 mounts, and in no module's list of what it depends on.
    "crc32c_generic",
    *("ext4", "overlay", "loop"),
)
PT_INTERP = 3
IMAGE_LIFE_S = 7 * 24 * 3600.0
_FOLDERS = (
    *("bin", "dev", "etc", "modules", "proc", "root", "run", "sbin", "sys", "tmp", "usr/bin", "var"),
    *("lower", "upper"),
)


@dataclass(frozen=True)
class GuestImage:
    """What any number of guests boot, each with a disk of its own.

    Attributes:
        arch: Architecture of its machine, as `uname -m` says it.
        kernel: The bootable kernel.
        initramfs: The initial memory disk.
        version: The kernel's release.
        root: A disk with Debian's programs that becomes the root, unchanged; None: busybox is all there is.
    """

    arch: str
    kernel: Path
    initramfs: Path
    version: str
    root: Path | None = None


def build_image(
    arch: str,
    files: Mapping[str, Path],
    *,
    modules: Iterable[str] = (),
    root: Path | None = None,
    kernel: str | None = None,
) -> GuestImage:
    """Make what a guest boots, or return it from the cache when it was made before from the same bytes.

    Args:
        arch: Architecture, as `uname -m` says it.
        files: Place in the guest, for example `usr/bin/datamill-worker` -> file of this machine; its mode is
            kept. Programs must be static or come with their libraries, see `list_with_libraries`. Busybox'
            shell takes its own applets before programs on PATH: a `bin/sh` among the files replaces it.
        modules: Modules of the kernel that are loaded besides `NEEDED_MODULES`, such as `xfs`.
        root: See `GuestImage`; `build_root_disk` makes one.
        kernel: Debian's package of its kernel, see `find_kernel`.

    Raises:
        GuestUnavailableError: Something that guests need is missing here; the message says what.
    """
    booted = find_kernel(arch, kernel)
    archive = CpioArchive()
    for folder in _FOLDERS:
        archive.add_folder(folder)
    archive.add_file("bin/busybox", find_busybox(arch).read_bytes(), 0o755)
    for number, module in enumerate(list_modules(booted, [*NEEDED_MODULES, *modules])):
        archive.add_file(f"modules/{number:02}-{module.name.split('.ko')[0]}.ko", read_module(module), 0o644)
    archive.add_file("init", (SCRIPTS / "init").read_bytes(), 0o755)
    for name in ("boot", "agent", "serve", "units"):
        archive.add_file(f"sbin/{name}", (SCRIPTS / name).read_bytes(), 0o755)
    archive.add_file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n", 0o644)
    archive.add_file("etc/group", b"root:x:0:\n", 0o644)
    for place, path in sorted(files.items()):
        archive.add_file(place, path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
    return GuestImage(arch, booted.image, _keep_image(archive.finish()), booted.version, root)


def is_static(program: Path) -> bool:
    """Return whether a 64-bit program runs without an interpreter such as the dynamic loader."""
    content = program.read_bytes()
    (table,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    kinds = [struct.unpack_from("<I", content, table + index * size)[0] for index in range(count)]
    return content.startswith(b"\x7fELF\x02") and PT_INTERP not in kinds


def list_with_libraries(*programs: str | Path) -> dict[str, Path]:
    """Return places and files of dynamic programs of this machine and of the libraries that they load."""
    files: dict[str, Path] = {}
    for program in programs:
        path = Path(program)
        files[str(path.absolute()).lstrip("/")] = path.resolve()
        said = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
        for word in said.split():
            if word.startswith("/"):
                files[word.lstrip("/")] = Path(word).resolve()
    return files


def _keep_image(archive: bytes) -> Path:
    digest = hashlib.sha256(archive).hexdigest()[:24]
    initramfs = cache_folder() / "images" / f"{digest}.cpio"
    if not initramfs.exists():
        initramfs.parent.mkdir(parents=True, exist_ok=True)
        _remove_old_images(initramfs.parent)
        unfinished = initramfs.with_name(f".{digest}-{os.getpid()}")
        unfinished.write_bytes(archive)
        unfinished.rename(initramfs)
    else:
        os.utime(initramfs)
    return initramfs


def _remove_old_images(folder: Path) -> None:
    # Each build of the worker makes one; whoever made it boots it within seconds.
    for path in (*folder.glob("*.cpio"), *folder.glob("*.boot")):
        if time.time() - path.stat().st_mtime > IMAGE_LIFE_S:
            path.unlink(missing_ok=True)
