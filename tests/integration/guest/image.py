"""What a guest boots: a kernel, and an initial memory disk with busybox, the worker and the agent."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import stat
import struct
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .kernel import GuestUnavailableError, Kernel, cache_folder, find_kernel, list_modules, read_module

SCRIPTS = Path(__file__).with_name("scripts")
NEEDED_MODULES = ("virtio_pci", "virtio_blk", "virtio_console", "virtio_rng", "ext4", "overlay", "loop")
PT_INTERP = 3
IMAGE_LIFE_S = 7 * 24 * 3600.0
_FOLDERS = ("bin", "dev", "etc", "modules", "proc", "root", "run", "sbin", "sys", "tmp", "usr/bin", "var")


@dataclass(frozen=True)
class GuestImage:
    """What any number of guests boot, each with a disk of its own.

    Attributes:
        kernel: The bootable kernel.
        initramfs: The initial memory disk.
        version: The kernel's release.
    """

    kernel: Path
    initramfs: Path
    version: str


def build_image(files: Mapping[str, Path], *, modules: Iterable[str] = ()) -> GuestImage:
    """Make what a guest boots, or return it from the cache when it was made before from the same bytes.

    Args:
        files: Place in the guest, for example `usr/bin/datamill-worker` -> file of this machine; its mode is
            kept. Programs must be static or come with their libraries, see `list_with_libraries`. Busybox'
            shell takes its own applets before programs on PATH: a `bin/sh` among the files replaces it.
        modules: Modules of the kernel that are loaded besides `NEEDED_MODULES`, such as `xfs`.

    Raises:
        GuestUnavailableError: Something that guests need cannot be had here; the message says what.
    """
    if platform.machine() != "x86_64":
        raise GuestUnavailableError(f"guests have an x86-64 processor, this machine has {platform.machine()}")
    busybox = shutil.which("busybox")
    if busybox is None:
        raise GuestUnavailableError("no busybox here (Debian: busybox-static)")
    if not is_static(Path(busybox)):
        raise GuestUnavailableError(f"{busybox} is not static (Debian: busybox-static)")
    kernel = find_kernel()
    archive = _collect_archive(kernel, Path(busybox), files, [*NEEDED_MODULES, *modules])
    digest = hashlib.sha256(archive).hexdigest()[:24]
    initramfs = cache_folder() / "images" / f"{digest}.cpio"
    if not initramfs.exists():
        initramfs.parent.mkdir(parents=True, exist_ok=True)
        _remove_old_images(initramfs.parent)
        unfinished = initramfs.with_name(f".{digest}-{os.getpid()}")
        unfinished.write_bytes(archive)
        unfinished.rename(initramfs)
    return GuestImage(kernel.image, initramfs, kernel.version)


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


def _remove_old_images(folder: Path) -> None:
    # Each build of the worker makes one; whoever made it boots it within seconds.
    for path in folder.glob("*.cpio"):
        if time.time() - path.stat().st_mtime > IMAGE_LIFE_S:
            path.unlink(missing_ok=True)


def _collect_archive(
    kernel: Kernel, busybox: Path, files: Mapping[str, Path], modules: Iterable[str]
) -> bytes:
    archive = _Archive()
    for folder in _FOLDERS:
        archive.add_folder(folder)
    archive.add_file("bin/busybox", busybox.read_bytes(), 0o755)
    applets = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for applet in applets:
        if applet != "busybox" and f"bin/{applet}" not in files:
            archive.add_link(f"bin/{applet}", "busybox")
    for number, module in enumerate(list_modules(kernel, modules)):
        archive.add_file(f"modules/{number:02}-{module.name.split('.ko')[0]}.ko", read_module(module), 0o644)
    archive.add_file("init", (SCRIPTS / "init").read_bytes(), 0o755)
    archive.add_file("sbin/boot", (SCRIPTS / "boot").read_bytes(), 0o755)
    archive.add_file("sbin/agent", (SCRIPTS / "agent").read_bytes(), 0o755)
    archive.add_file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n", 0o644)
    archive.add_file("etc/group", b"root:x:0:\n", 0o644)
    for place, path in sorted(files.items()):
        archive.add_file(place, path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
    return archive.finish()


class _Archive:
    """A cpio archive in the format that the kernel unpacks (`newc`)."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._folders: set[str] = set()

    def add_folder(self, place: str) -> None:
        for part in (*reversed(Path(place).parents), Path(place)):
            if part != Path() and str(part) not in self._folders:
                self._folders.add(str(part))
                self._add(str(part), stat.S_IFDIR | 0o755, b"")

    def add_file(self, place: str, content: bytes, mode: int) -> None:
        self.add_folder(str(Path(place).parent))
        self._add(place, stat.S_IFREG | mode, content)

    def add_link(self, place: str, target: str) -> None:
        self._add(place, stat.S_IFLNK | 0o777, target.encode())

    def finish(self) -> bytes:
        self._add("TRAILER!!!", 0, b"")
        return b"".join(self._parts)

    def _add(self, place: str, mode: int, content: bytes) -> None:
        name = place.encode() + b"\0"
        # inode, mode, user, group, links, time, size, four device numbers, length of the name, checksum
        fields = (len(self._parts), mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
        header = b"070701" + b"".join(b"%08x" % field for field in fields) + name
        self._parts.append(_padded(header) + _padded(content))


def _padded(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % 4)
