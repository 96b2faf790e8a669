"""The worker that runs in a guest: this host's own, or one built for another architecture.

A compiler for another architecture is Rust's own where rustup has installed that target, else Debian's, which
runs here from a folder of the cache. The linker is this host's cross compiler.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from datamill.execution.worker import WORKER_NAME, find_worker
from datamill.experiment.errors import InputError
from datamill.guests.images.archive import DEBIAN_ARCHES, open_archive
from datamill.guests.images.cache import cache_folder, lock_folder, make_once
from datamill.guests.images.image import is_static
from datamill.guests.unavailable import GuestUnavailableError

#: Names a worker binary for the architecture at its end, such as DATAMILL_WORKER_AARCH64.
WORKER_VARIABLE = "DATAMILL_WORKER"
#: Debian's newest suite with a compiler; that of stable is often older than the worker needs.
RUST_SUITE = "testing"
_SOURCES = Path(__file__).resolve().parents[4]
_CRATES = ("protocol", "host", "probe", "compiler", "fleet", "worker")


def find_guest_worker(arch: str) -> Path:
    """Return a static worker for an architecture: a named one, this host's, or a new one, then kept.

    Raises:
        GuestUnavailableError: There is none and none can be built; the message says why.
    """
    named = os.environ.get(f"{WORKER_VARIABLE}_{arch.upper()}")
    if named is not None:
        binary = Path(named)
        if not binary.is_file():
            raise GuestUnavailableError(f"{WORKER_VARIABLE}_{arch.upper()}: there is no {named}")
    elif arch == platform.machine():
        try:
            binary = find_worker()
        except InputError as error:
            raise GuestUnavailableError(str(error)) from None
    else:
        binary = _build_worker(arch)
    if not is_static(binary):
        raise GuestUnavailableError(f"{binary} is not static")
    return binary


def _build_worker(arch: str) -> Path:
    if not (_SOURCES / "crates" / "worker" / "Cargo.toml").is_file():
        raise GuestUnavailableError(
            f"no sources of the worker here to build it for {arch}; name a static {WORKER_NAME} in "
            f"{WORKER_VARIABLE}_{arch.upper()}"
        )
    digest = _digest_sources()
    target = cache_folder() / "workers" / f"{arch}-{digest}"
    return make_once(target, lambda unfinished: _cross_build(arch, unfinished))


def _digest_sources() -> str:
    digest = hashlib.sha256()
    for path in sorted(_list_sources()):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(_SOURCES)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:24]


def _list_sources() -> Iterator[Path]:
    yield from (_SOURCES / "Cargo.toml", _SOURCES / "Cargo.lock")
    for crate in _CRATES:
        folder = _SOURCES / "crates" / crate
        yield from (path for path in folder.rglob("*") if path.suffix in (".rs", ".toml"))


def _cross_build(arch: str, unfinished: Path) -> None:
    tools = f"{arch.replace('_', '-')}-linux-gnu"
    linker = f"{tools}-gcc"
    if shutil.which("cargo") is None:
        raise GuestUnavailableError(f"no cargo here to build the worker for {arch}; see https://rustup.rs")
    if shutil.which(linker) is None:
        packages = f"gcc-{tools}, libc6-dev-{DEBIAN_ARCHES[arch]}-cross"
        raise GuestUnavailableError(f"no {linker} here to build the worker for {arch} (Debian: {packages})")
    triple = f"{arch}-unknown-linux-gnu"
    upper = triple.upper().replace("-", "_")
    environment = {
        **os.environ,
        f"CC_{triple.replace('-', '_')}": linker,
        f"CARGO_TARGET_{upper}_LINKER": linker,
        f"CARGO_TARGET_{upper}_RUSTFLAGS": "-C target-feature=+crt-static",
        # It is emulated anyway: quick to build matters more than quick to run.
        "CARGO_PROFILE_RELEASE_LTO": "off",
        "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
        "CARGO_PROFILE_RELEASE_OPT_LEVEL": "1",
    }
    environment.pop("RUSTFLAGS", None)
    if not _has_target(triple):
        environment["RUSTC"] = str(_find_debian_rustc(arch))
    build_folder = cache_folder() / "target"
    with lock_folder(build_folder):
        done = subprocess.run(
            [
                *("cargo", "build", "--release", "--locked", "--target", triple),
                *("--target-dir", build_folder, "-p", WORKER_NAME),
            ],
            cwd=_SOURCES,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise GuestUnavailableError(f"the worker cannot be built for {arch}: {_first_error(done.stderr)}")
        shutil.copy2(build_folder / triple / "release" / WORKER_NAME, unfinished)


def _first_error(said: str) -> str:
    lines = said.strip().splitlines()
    return next(
        (line for line in lines if line.startswith("error")), lines[-1] if lines else "cargo says nothing"
    )


def _has_target(triple: str) -> bool:
    if shutil.which("rustc") is None:
        return False
    # From the sources' folder, whose toolchain file rustup obeys.
    sysroot = subprocess.run(
        ["rustc", "--print", "sysroot"], cwd=_SOURCES, capture_output=True, text=True, check=False
    ).stdout.strip()
    return any(Path(sysroot, "lib", "rustlib", triple, "lib").glob("libstd-*.rlib"))


def _find_debian_rustc(arch: str) -> Path:
    """Return a wrapper of Debian's compiler, with the standard libraries of this host and of `arch`."""
    here = platform.machine()

    def make(folder: Path) -> None:
        native = open_archive(here, RUST_SUITE)
        foreign = open_archive(arch, RUST_SUITE)
        # It brings the C library and LLVM that it was built with, and no linker.
        library = native.find_dependency("libstd-rust-dev", r"libstd-rust-[0-9]\S+")
        native.unpack([*native.list_closure([library]), "rustc", "libstd-rust-dev"], folder)
        foreign.unpack(["libstd-rust-dev"], folder)
        loader = next(path for path in sorted(folder.rglob("ld-linux*")) if not path.is_symlink())
        driver = next(folder.rglob("librustc_driver-*.so"))
        version = subprocess.run(
            [loader, "--library-path", driver.parent, folder / "usr/bin/rustc", "--version"],
            capture_output=True,
            text=True,
            check=False,
        )
        if version.returncode != 0 or re.match(r"rustc \d", version.stdout) is None:
            raise GuestUnavailableError(f"Debian's rustc does not run here: {version.stderr.strip()}")
        wrapper = folder / "rustc"
        wrapper.write_text(
            "#!/bin/sh\n"
            "here=${0%/*}\n"
            f'exec "$here/{loader.relative_to(folder)}" '
            f'--library-path "$here/{driver.parent.relative_to(folder)}" '
            '"$here/usr/bin/rustc" --sysroot "$here/usr" "$@"\n'
        )
        wrapper.chmod(0o755)

    return make_once(cache_folder() / "rust" / f"{here}-{arch}", make) / "rustc"
