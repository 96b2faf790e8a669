"""The kernel of a guest: Debian's, unpacked into a cache and never installed into this machine."""

from __future__ import annotations

import lzma
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "linux-image-cloud-amd64"


class GuestUnavailableError(Exception):
    """Says why guests cannot be made here, in words for whoever reads a skipped test."""


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel.

    Attributes:
        version: Its release, as `uname -r` says it.
        image: The bootable file.
        modules: Folder of its modules.
    """

    version: str
    image: Path
    modules: Path


def cache_folder() -> Path:
    """Return the folder in which kernels and images are kept between test sessions."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "datamill-tests"


def find_kernel() -> Kernel:
    """Return the newest kernel of the cache; the first call fills it from the Debian archive.

    Raises:
        GuestUnavailableError: There is none, and none can be downloaded.
    """
    folder = cache_folder() / "kernels"
    known = _list_kernels(folder)
    if not known:
        _download_kernel(folder)
        known = _list_kernels(folder)
    return known[-1]


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


def _list_kernels(folder: Path) -> list[Kernel]:
    kernels = []
    for unpacked in sorted(folder.glob("*"), key=lambda path: path.stat().st_mtime):
        images = list(unpacked.glob("boot/vmlinuz-*"))
        if not unpacked.name.startswith(".") and images:
            version = images[0].name.removeprefix("vmlinuz-")
            places = [unpacked / "lib/modules" / version, unpacked / "usr/lib/modules" / version]
            modules = next(place for place in places if place.is_dir())
            kernels.append(Kernel(version, images[0], modules))
    return kernels


def _download_kernel(folder: Path) -> None:
    for program in ("apt-cache", "apt-get", "dpkg"):
        if shutil.which(program) is None:
            raise GuestUnavailableError(f"no {program} here, and guests boot a kernel from Debian's archive")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as work:
        # The package without a version in its name only points to the current one.
        said = _call(["apt-cache", "depends", PACKAGE], work)
        found = re.search(r"Depends: (linux-image-[0-9]\S+)", said)
        if found is None:
            raise GuestUnavailableError(f"Debian's archive as known here has no {PACKAGE}")
        _call(["apt-get", "download", found[1]], work)
        archive = next(Path(work).glob("*.deb"))
        _call(["dpkg", "-x", archive.name, "unpacked"], work)
        # A rename is whole or not at all, so that two sessions may fill the cache at once.
        target = folder / archive.stem
        if not target.exists():
            Path(work, "unpacked").rename(target)


def _call(command: Sequence[str], folder: str) -> str:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    if result.returncode != 0:
        last = (result.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise GuestUnavailableError(f"`{' '.join(command)}` failed: {last}")
    return result.stdout
