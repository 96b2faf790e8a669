"""Debian's packages for guests: fetched with apt in private folders, checked, and never installed here.

The mirror is the one that this host's own apt uses, or that of the environment variable; only architecture
and suite may be others. The host's lists, caches, status and configuration are neither used nor changed.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from datamill.guests.images.cache import cache_folder, lock_folder
from datamill.guests.unavailable import GuestUnavailableError

#: Names a mirror of Debian's archive, for hosts that have no Debian themselves.
MIRROR_VARIABLE = "DATAMILL_DEBIAN_MIRROR"
KEYRINGS = tuple(Path("/usr/share/keyrings", f"debian-archive-keyring.{ending}") for ending in ("gpg", "pgp"))
#: Debian's name of an architecture.
DEBIAN_ARCHES = {"x86_64": "amd64", "aarch64": "arm64"}
LIST_LIFE_S = 7 * 24 * 3600.0
_CALL_TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class DebianArchive:
    """Debian's archive for one architecture and suite.

    Attributes:
        folder: Private folder of apt.
        suite: Such as `bookworm`.
        arch: Debian's name of the architecture.
    """

    folder: Path
    suite: str
    arch: str

    def find_dependency(self, package: str, pattern: str) -> str:
        """Return the dependency of a package that matches, such as the kernel that a metapackage stands for.

        Raises:
            GuestUnavailableError: There is none.
        """
        with lock_folder(self.folder):
            said = self._call("apt-cache", "depends", "--important", package)
        found = re.search(rf"^\s*Depends: ({pattern})$", said, re.MULTILINE)
        if found is None:
            raise GuestUnavailableError(f"Debian {self.suite} has no {package} for {self.arch}")
        return found[1]

    def list_closure(self, packages: Sequence[str]) -> list[str]:
        """Return packages and all that they depend on, each as `name=version`.

        Raises:
            GuestUnavailableError: One of them does not exist.
        """
        with lock_folder(self.folder):
            said = self._call("apt-get", "install", "--simulate", "--yes", *packages)
        return [
            f"{name}={version}" for name, version in re.findall(r"^Inst (\S+) \((\S+)", said, re.MULTILINE)
        ]

    def unpack(self, packages: Sequence[str], target: Path) -> None:
        """Unpack packages, and no others, into a folder; their scripts are not run.

        Links to folders that are there already, such as `bin -> usr/bin`, are kept.

        Raises:
            GuestUnavailableError: One of them is not available, or its checksum or signature is wrong.
        """
        target.mkdir(parents=True, exist_ok=True)
        with lock_folder(self.folder):
            downloads = self.folder / "downloads"
            shutil.rmtree(downloads, ignore_errors=True)
            downloads.mkdir()
            self._call("apt-get", "download", *packages, folder=downloads)
            for package in sorted(downloads.glob("*.deb")):
                _unpack_package(package, target)
            shutil.rmtree(downloads)

    def update(self) -> None:
        """Fetch the lists of packages when there are none or they are old; old ones are better than none."""
        with lock_folder(self.folder):
            stamp = self.folder / "updated"
            if stamp.exists() and time.time() - stamp.stat().st_mtime < LIST_LIFE_S:
                return
            try:
                # Without this option apt takes a mirror that does not answer for success.
                self._call("apt-get", "update", "--error-on=any")
            except GuestUnavailableError:
                if not stamp.exists():
                    raise
            else:
                stamp.touch()

    def _call(self, *command: str, folder: Path | None = None) -> str:
        return _call(command, folder or self.folder, {"APT_CONFIG": str(self.folder / "apt.conf")})


def open_archive(arch: str, suite: str | None = None) -> DebianArchive:
    """Return Debian's archive for an architecture, with its lists of packages at hand.

    Args:
        arch: As `uname -m` says it.
        suite: This host's own if left out, or stable where this host is no Debian.

    Raises:
        GuestUnavailableError: There is no apt, keyring or mirror here, or the lists cannot be fetched.
    """
    for program in ("apt-get", "apt-cache", "apt-config", "dpkg-deb", "tar"):
        if shutil.which(program) is None:
            raise GuestUnavailableError(f"no {program} here, and guests are made of Debian's packages")
    keyring = next((path for path in KEYRINGS if path.exists()), None)
    if keyring is None:
        raise GuestUnavailableError(f"no {KEYRINGS[0]} here (Debian: debian-archive-keyring)")
    mirror, host_suite = find_mirror()
    suite = suite or host_suite
    debian_arch = DEBIAN_ARCHES[arch]
    folder = cache_folder() / "debian" / f"{suite}-{debian_arch}"
    archive = DebianArchive(folder, suite, debian_arch)
    with lock_folder(folder):
        for part in ("etc", "state/lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        (folder / "etc" / "sources.list").write_text(f"deb [signed-by={keyring}] {mirror} {suite} main\n")
        (folder / "apt.conf").write_text(_make_configuration(folder, debian_arch))
    archive.update()
    return archive


def find_mirror() -> tuple[str, str]:
    """Return the address of the mirror that this host uses, and this host's suite.

    Raises:
        GuestUnavailableError: This host names none.
    """
    system = platform.freedesktop_os_release()
    codename = system.get("VERSION_CODENAME", "") if system.get("ID") == "debian" else ""
    named = os.environ.get(MIRROR_VARIABLE)
    if named:
        return named, codename or "stable"
    # Only prints; the host's lists need not be there.
    told = _call(("apt-get", "update", "--print-uris"), Path("/"), {})
    found = re.search(rf"^'(\S+)/dists/{codename}/InRelease'", told, re.MULTILINE) if codename else None
    if found is not None:
        return found[1], codename
    raise GuestUnavailableError(
        f"apt here knows no mirror of Debian; name one in the environment variable {MIRROR_VARIABLE}"
    )


def _make_configuration(folder: Path, arch: str) -> str:
    # Proxies and the like are the host's.
    dumped = _call(("apt-config", "dump"), Path("/"), {})
    acquire = [line for line in dumped.splitlines() if line.startswith("Acquire::")]
    ours = f"""
Dir "{folder}";
Dir::Etc "{folder}/etc";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "{folder}/etc/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "{folder}/state";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
APT::Architecture "{arch}";
APT::Architectures {{ "{arch}"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
// Signatures are checked; the age of a list is not: a mirror may be a snapshot, and a host's clock be wrong.
Acquire::Check-Valid-Until "false";
"""
    return "\n".join(acquire) + ours


def _unpack_package(package: Path, target: Path) -> None:
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as source:
        extracted = subprocess.run(
            ["tar", "--extract", "--keep-directory-symlink", "--directory", target],
            stdin=source.stdout,
            capture_output=True,
            text=True,
            check=False,
        )
    if extracted.returncode != 0 or source.returncode != 0:
        raise GuestUnavailableError(f"{package.name} cannot be unpacked: {extracted.stderr.strip()}")


def _call(command: Sequence[str], folder: Path, variables: dict[str, str]) -> str:
    environment = {**os.environ, "LC_ALL": "C", **variables}
    result = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_CALL_TIMEOUT_S,
        check=False,
    )
    if result.returncode != 0:
        last = (result.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise GuestUnavailableError(f"`{' '.join(command)}` failed: {last}")
    return result.stdout
