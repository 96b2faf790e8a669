"""A copy of a package that comes with datamill, complete with the sources that it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.packing.debian_sources import SourcesError, fetch_tarball
from datamill.packing.package_sources import (
    KnownSources,
    pack_corpus,
    read_known_sources,
    read_snappy_corpus,
    unpack_sources,
)
from datamill.packing.shipped_packages import DESCRIPTION_FILE, SHIPPED_FOLDER, ShippedPackage

#: As much of what a failed configuration said as is shown.
_LAST_BYTES = 2000


def place_package(
    package: ShippedPackage,
    target: Path,
    given: Mapping[str, Path],
    tell: Callable[[str], None],
) -> None:
    """Copy a package to the new folder `target`, fetch and unpack its sources, and configure them.

    Args:
        package: which.
        target: a folder that does not exist yet.
        given: tarballs that are used instead of Debian's, by the name of the source package.
        tell: is told what takes a while.

    Raises:
        InputError: when sources are not available or of no use, or a program is missing that prepares them.
    """
    missing = package.list_missing_programs()
    if package.configure and missing:
        raise InputError(
            f'package "{package.name}" cannot be prepared; not on this machine: {", ".join(missing)}',
            remedy="Install what is missing.",
        )
    shutil.copytree(package.folder, target, ignore=shutil.ignore_patterns(DESCRIPTION_FILE))
    for script in target.glob("*.sh"):
        script.chmod(0o755)
    if package.env:
        with (target / "env").open("a", encoding="utf-8") as env:
            env.write(f"\n# What makes it {package.name}.\n")
            env.writelines(f"{name}='{value}'\n" for name, value in package.env)
    if package.list_fetched():
        _place_sources(package, target, given, tell)
    if package.configure:
        tell(f"Configuring {package.name}, once …")
        _configure(package.name, target)


def _place_sources(
    package: ShippedPackage, target: Path, given: Mapping[str, Path], tell: Callable[[str], None]
) -> None:
    known = read_known_sources(SHIPPED_FOLDER / "sources.toml")
    name = ""
    try:
        for source in package.sources:
            name = source.debian
            tarball = _obtain_tarball(name, known, given, tell)
            unpack_sources(tarball, target / source.folder, source.marks, source.leave_out)
        if package.corpus:
            name = "snappy"
            tarball = _obtain_tarball(name, known, given, tell)
            corpus, terms = read_snappy_corpus(tarball, known, whole=False)
            (target / package.corpus).write_bytes(pack_corpus(corpus))
            (target / package.corpus).with_name("CORPUS-COPYING").write_bytes(terms)
    except SourcesError as error:
        raise InputError(
            f'the sources of package "{package.name}" are not available: {error}',
            remedy=f"Give upstream's tarball yourself: {argument('source', f'{name}=TARBALL', verb='new')}.",
        ) from None


def _obtain_tarball(
    name: str, known: KnownSources, given: Mapping[str, Path], tell: Callable[[str], None]
) -> Path:
    if name in given:
        if not given[name].is_file():
            raise InputError("there is no such file", where=str(given[name]))
        return given[name]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "datamill" / "sources"
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"downloads cannot be kept: {error.strerror}",
            where=str(cache),
            remedy="Name a folder that you can write to in the environment variable XDG_CACHE_HOME.",
        ) from None
    return fetch_tarball(name, cache, known.tarballs, tell=tell)


def _configure(name: str, folder: Path) -> None:
    """Let `setup.sh` do once what no trial needs to repeat; the user's own variables have no part in it."""
    environment = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    done = subprocess.run(
        ["./setup.sh", "configure"],
        cwd=folder,
        env=environment | {"LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode != 0:
        said = done.stdout[-_LAST_BYTES:].decode(errors="replace").strip()
        raise InputError(
            f'package "{name}" could not be configured; setup.sh said:\n{said}',
            remedy="It needs a C compiler and what the package's README.md names.",
        )
