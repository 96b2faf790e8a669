"""A root disk with Debian's programs, for packages that compile in their `setup.sh`.

Packages are unpacked and not configured: no script of theirs is run, on this machine least of all. What their
scripts would have made and programs need is made here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from datamill.guests.images.archive import open_archive
from datamill.guests.images.cache import cache_folder, make_once
from datamill.guests.images.disk import make_disk

#: A shell and its tools, as any Debian has them.
BASE_PACKAGES = (
    *("base-files", "base-passwd", "bash", "bc", "bzip2", "coreutils", "dash", "debianutils", "diffutils"),
    *(
        "findutils",
        "gawk",
        "grep",
        "gzip",
        "hostname",
        "libc-bin",
        "mount",
        "patch",
        "perl-base",
        "procps",
        "sed",
    ),
    *("tar", "time", "util-linux", "xz-utils"),
)
COMPILER_PACKAGES = ("gcc", "libc6-dev", "make")
#: Room beside the files, for what the file system keeps about them.
_SPARE_MIB = 64
_MERGED = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
#: Links that packages' scripts would have made: place -> what it may lead to, best first.
_ALTERNATIVES = {
    "usr/bin/awk": ("gawk", "mawk"),
    "usr/bin/cc": ("gcc", "clang", "tcc"),
    "usr/bin/c++": ("g++", "clang++"),
    "usr/bin/c99": ("c99-gcc",),
    "usr/bin/c89": ("c89-gcc",),
    "usr/bin/pager": ("more",),
    "usr/bin/sh": ("dash", "bash"),
}


def build_root_disk(arch: str, packages: Iterable[str] = COMPILER_PACKAGES) -> Path:
    """Make a disk with a Debian of an architecture, or return it from the cache.

    Args:
        arch: As `uname -m` says it.
        packages: What it has besides `BASE_PACKAGES`, with all that they depend on.

    Raises:
        GuestUnavailableError: A package does not exist or is not available.
    """
    archive = open_archive(arch)
    wanted = archive.list_closure(sorted({*BASE_PACKAGES, *packages}))
    digest = hashlib.sha256("\n".join([Path(__file__).read_text(), *sorted(wanted)]).encode()).hexdigest()[
        :16
    ]
    folder = cache_folder() / "roots"
    tree = folder / f"{archive.suite}-{archive.arch}-{digest}"

    def make_tree(target: Path) -> None:
        _prepare_tree(target)
        archive.unpack(wanted, target)
        _finish_tree(target)

    def make(target: Path) -> None:
        make_disk(target, size_mib=_measure_mib(tree) + _SPARE_MIB, content=tree)

    make_once(tree, make_tree)
    return make_once(tree.with_suffix(".ext4"), make)


def _prepare_tree(root: Path) -> None:
    for name in _MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")


def _finish_tree(root: Path) -> None:
    for place, targets in _ALTERNATIVES.items():
        found = next((name for name in targets if (root / "usr" / "bin" / name).exists()), None)
        if found is not None and not (root / place).is_symlink():
            (root / place).symlink_to(found)
    etc = root / "etc"
    etc.mkdir(exist_ok=True)
    (etc / "passwd").write_text(
        "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    )
    (etc / "group").write_text("root:x:0:\nnogroup:x:65534:\n")
    (etc / "hosts").write_text("127.0.0.1 localhost\n")
    for name in ("dev", "proc", "run", "sys", "tmp", "root", "var"):
        (root / name).mkdir(exist_ok=True)


def _measure_mib(tree: Path) -> int:
    # A file takes whole blocks, and an inode.
    used = sum(((path.lstat().st_size // 4096) + 1) * 4096 + 256 for path in tree.rglob("*"))
    return (used >> 20) * 11 // 10
