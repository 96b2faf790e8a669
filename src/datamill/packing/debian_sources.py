"""Upstream tarballs from the system's own package archive, without changing the system's configuration."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from datamill.experiment.messages.numbers import format_fixed

_URI_LINE = re.compile(r"^'(?P<uri>[^']+)' (?P<file>\S+) (?P<bytes>\d+) SHA256:(?P<sha256>[0-9a-f]{64})$")
#: How often it is told how far a download is, in seconds.
_TELL_EVERY_S = 3.0

#: Is told what takes a while.
Tell = Callable[[str], None]


class SourcesError(Exception):
    """A source tarball is not available; the text says why and what to do."""


def derive_source_lists(apt_folder: Path) -> tuple[str, str]:
    """The system's package sources turned into sources of source packages.

    Args:
        apt_folder: what is `/etc/apt` on a Debian system.

    Returns:
        a list in the one-line format and one in the deb822 format, both possibly empty.
    """
    lists = [apt_folder / "sources.list", *sorted(apt_folder.glob("sources.list.d/*.list"))]
    lines: list[str] = []
    for path in lists:
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                kind, _, rest = line.strip().partition(" ")
                if kind in ("deb", "deb-src"):
                    lines.append(f"deb-src {rest.strip()}")
    stanzas: list[str] = []
    for path in sorted(apt_folder.glob("sources.list.d/*.sources")):
        text = path.read_text(encoding="utf-8")
        stanzas.append(re.sub(r"(?mi)^Types:.*$", "Types: deb-src", text).strip())
    one_line = "".join(f"{line}\n" for line in dict.fromkeys(lines))
    return one_line, "".join(f"{stanza}\n\n" for stanza in dict.fromkeys(stanzas))


def digest_file(path: Path) -> str:
    """SHA-256 of a file in lower-case hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch_tarball(
    package: str,
    cache: Path,
    pins: dict[str, str],
    apt_folder: Path = Path("/etc/apt"),
    tell: Tell = lambda _: None,
) -> Path:
    """The upstream tarball of a Debian source package, downloaded once into a cache.

    The digest is checked against `pins` where the version is known there, else against the
    index that the archive signed. `tell` hears what is done meanwhile, and how far a download is.

    Raises:
        SourcesError: there is no apt here, the archive cannot be reached, or a digest differs.
    """
    for known in sorted(cache.glob(f"{package}_*.orig.tar.*")):
        if known.name in pins:
            if digest_file(known) == pins[known.name]:
                return known
            known.unlink()
        elif (recorded := known.with_name(known.name + ".sha256")).is_file():
            if digest_file(known) == recorded.read_text(encoding="ascii").strip():
                return known
            known.unlink()
    return _download(package, cache, pins, apt_folder, tell)


def _download(package: str, cache: Path, pins: dict[str, str], apt_folder: Path, tell: Tell) -> Path:
    if shutil.which("apt-get") is None:
        raise SourcesError("apt-get is not on this machine")
    cache.mkdir(parents=True, exist_ok=True)
    options = _private_options(cache / "apt", apt_folder)
    tell(f"Fetching the sources of {package}: reading the lists of this system's package archive …")
    updated = _run(["apt-get", *options, "update"], cache)
    shown = _run(["apt-cache", *options, "showsrc", "--only-source", package], cache)
    versions = list(dict.fromkeys(re.findall(r"(?m)^Version: (\S+)$", shown.stdout)))
    if not versions:
        said = (updated.stderr + shown.stderr).strip()
        raise SourcesError(f"this system's package archive does not offer the source of {package}:\n{said}")
    # The newest first, which is apt's own choice. A mirror that lacks the files of one suite often has the
    # same tarball in another.
    failures = []
    for choice in (package, *(f"{package}={version}" for version in versions)):
        try:
            return _download_version(choice, cache, pins, options, tell)
        except _NotThereError as error:
            failures.append(str(error))
    raise SourcesError("\n".join(dict.fromkeys(failures)))


class _NotThereError(Exception):
    """This version of a source package is not available; another may."""


def _download_version(choice: str, cache: Path, pins: dict[str, str], options: list[str], tell: Tell) -> Path:
    # Not mapped through the binary packages that happen to be installed.
    wanted = ["source", "--only-source", "--tar-only", choice]
    listed = _run(["apt-get", *options, "--print-uris", *wanted], cache)
    # Debian may add tarballs of its own (`.orig-www.tar.xz`) to that of upstream.
    found = [
        match
        for line in listed.stdout.splitlines()
        if (match := _URI_LINE.match(line)) and ".orig.tar." in match["file"]
    ]
    if len(found) != 1:
        raise _NotThereError(f"no upstream tarball of {choice}: {listed.stderr.strip()}")
    name, signed = found[0]["file"], found[0]["sha256"]
    if pins.get(name, signed) != signed:
        raise SourcesError(
            f"the archive signs another {name} than the one that we know (SHA-256 {pins[name]})"
        )
    path = cache / name
    with _TellingSize(path, int(found[0]["bytes"]), tell):
        fetched = _run(["apt-get", *options, "--download-only", *wanted], cache)
    if fetched.returncode != 0 or not path.is_file():
        raise _NotThereError(f"{name} could not be downloaded:\n{fetched.stderr.strip()}")
    if digest_file(path) != signed:
        path.unlink()
        raise SourcesError(f"{name} arrived with another SHA-256 than {signed}")
    if name not in pins:
        path.with_name(name + ".sha256").write_text(signed + "\n", encoding="ascii")
    return path


class _TellingSize:
    """Tells how much of a file has arrived, now and then while it is in the making."""

    def __init__(self, file: Path, size_bytes: int, tell: Tell) -> None:
        self._file = file
        self._size_bytes = size_bytes
        self._tell = tell
        self._ended = threading.Event()
        self._began_s = time.monotonic()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._tell(f"Downloading {self._file.name}, {format_fixed(self._size_bytes / 1e6, 1)} MB …")
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(_TELL_EVERY_S):
            arrived = self._file.stat().st_size if self._file.is_file() else 0
            percent = 100 * arrived // max(1, self._size_bytes)
            text = f"  {self._file.name}: {format_fixed(arrived / 1e6, 1)} MB, {percent}%"
            if 0 < arrived < self._size_bytes:
                left_s = (time.monotonic() - self._began_s) * (self._size_bytes - arrived) / arrived
                text += f", about {max(1, round(left_s))} s to go"
            self._tell(text)


def _private_options(state: Path, apt_folder: Path) -> list[str]:
    """Options that keep apt's configuration of sources, lists and caches to a private folder."""
    parts = state / "sources"
    for folder in (parts, state / "lists" / "partial", state / "cache" / "archives" / "partial"):
        folder.mkdir(parents=True, exist_ok=True)
    one_line, stanzas = derive_source_lists(apt_folder)
    (parts / "system.list").write_text(one_line, encoding="utf-8")
    (parts / "system.sources").write_text(stanzas, encoding="utf-8")
    status = state / "status"
    status.touch()
    settings = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": str(parts),
        "Dir::State::lists": str(state / "lists"),
        "Dir::State::status": str(status),
        "Dir::Cache": str(state / "cache"),
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
    }
    if os.geteuid() == 0:
        # The unprivileged account that apt otherwise downloads as cannot enter root's cache folder.
        settings["APT::Sandbox::User"] = "root"
    return [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
