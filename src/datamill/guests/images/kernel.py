"""The kernel of a guest: Debian's, unpacked into a cache and never installed into this machine."""

from __future__ import annotations

import lzma
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from datamill.guests.images.archive import open_archive
from datamill.guests.images.cache import cache_folder, make_once
from datamill.guests.unavailable import GuestUnavailableError

PACKAGES = {"x86_64": "linux-image-cloud-amd64", "aarch64": "linux-image-cloud-arm64"}


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel.

    Attributes:
        arch: Its architecture, as `uname -m` says it.
        version: Its release, as `uname -r` says it.
        image: The bootable file.
        modules: Folder of its modules.
    """

    arch: str
    version: str
    image: Path
    modules: Path


def find_kernel(arch: str, package: str | None = None) -> Kernel:
    """Return the newest kernel of the cache; the first call fills it from Debian's archive.

    Args:
        arch: Architecture, as `uname -m` says it.
        package: Debian's package that depends on the current kernel of a kind, such as `linux-image-amd64`;
            the smallest if left out.

    Raises:
        GuestUnavailableError: There is none, and none can be downloaded.
    """
    folder = cache_folder() / "kernels" / (package or arch)
    known = _list_kernels(arch, folder)
    if not known:
        archive = open_archive(arch)
        # The package without a version in its name only points to the current one.
        current = archive.find_dependency(package or PACKAGES[arch], r"linux-image-[0-9]\S+")
        make_once(folder / current, lambda target: archive.unpack([current], target))
        known = _list_kernels(arch, folder)
    return known[-1]


def find_busybox(arch: str) -> Path:
    """Return a static busybox, from the cache or Debian's archive.

    Raises:
        GuestUnavailableError: It can be had from neither.
    """
    target = cache_folder() / "busybox" / arch

    def make(unfinished: Path) -> None:
        unpacked = target.with_name(f".{arch}.unpacked")
        open_archive(arch).unpack(["busybox-static"], unpacked)
        next(unpacked.rglob("bin/busybox")).rename(unfinished)
        shutil.rmtree(unpacked)

    return make_once(target, make)


def list_modules(kernel: Kernel, names: Iterable[str]) -> list[Path]:
    """Return the files of the named modules and of what they need, in the order of loading.

    What the kernel has built in is left out.

    Raises:
        GuestUnavailableError: The kernel has no such module.
    """
    files = {_module_name(path): path for path in sorted(kernel.modules.rglob("*.ko*"))}
    built_in = {
        _module_name(Path(line)) for line in (kernel.modules / "modules.builtin").read_text().splitlines()
    }
    ordered: dict[str, Path] = {}

    def add(name: str) -> None:
        name = name.replace("-", "_")
        if name in ordered or name in built_in:
            return
        if name not in files:
            raise GuestUnavailableError(f"Linux {kernel.version} has no module {name}")
        for needed in _read_dependencies(read_module(files[name])):
            add(needed)
        ordered[name] = files[name]

    for name in names:
        add(name)
    return list(ordered.values())


def read_module(path: Path) -> bytes:
    """Return the bytes of a module as the kernel takes them: newer packages compress them."""
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()


def _module_name(path: Path) -> str:
    return path.name.split(".ko")[0].replace("-", "_")


def _read_dependencies(module: bytes) -> list[str]:
    # An unpacked kernel has no modules.dep: depmod writes it when a package is installed.
    found = re.search(rb"\0depends=([^\0]+)\0", module)
    return found[1].decode().split(",") if found else []


def _list_kernels(arch: str, folder: Path) -> list[Kernel]:
    kernels = []
    for unpacked in sorted(folder.glob("linux-*"), key=lambda path: path.stat().st_mtime):
        for image in unpacked.glob("boot/vmlinuz-*"):
            version = image.name.removeprefix("vmlinuz-")
            places = (unpacked / "lib/modules" / version, unpacked / "usr/lib/modules" / version)
            modules = next(place for place in places if place.is_dir())
            kernels.append(Kernel(arch, version, image, modules))
    return kernels
