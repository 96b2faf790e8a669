"""Packages of the store: which there are, what is in them, and which experiments used them."""

from __future__ import annotations

import msgspec


class PackageLine(msgspec.Struct, frozen=True):
    """A package: one version of its name, which the digest of its archive tells from others.

    The archive is at `/files/SHA256`. `users` submitted experiments with it that you may see, `uses` of them,
    the latest at `used_unix_s`; `quarantined` says why it is not leased, empty where it is.
    """

    sha256: str
    name: str
    size_bytes: int
    stored_unix_s: float
    owner: str
    users: tuple[str, ...]
    uses: int
    used_unix_s: float | None
    quarantined: str


class PackageList(msgspec.Struct, frozen=True):
    """Some packages, those that came last first; ask for the rest with `after=next`."""

    packages: tuple[PackageLine, ...]
    next: str | None


class PackageFileLine(msgspec.Struct, frozen=True):
    """A file of a package."""

    name: str
    size_bytes: int
    executable: bool


class PackageScript(msgspec.Struct, frozen=True):
    """A script of a package, or the beginning of its text where it was `cut`."""

    name: str
    text: str
    cut: bool


class PackageUseLine(msgspec.Struct, frozen=True):
    """An experiment that was submitted with a package, and what it calls that."""

    experiment: int
    title: str
    owner: str
    state: str
    submitted_unix_s: float
    name: str


class PackageDetail(PackageLine, frozen=True):
    """A package with its contents and the latest experiments that used it.

    `files` are the first of `file_count`, `unpacked_bytes` in all. Of an archive that cannot be read
    `problem` says why.
    """

    files: tuple[PackageFileLine, ...]
    file_count: int
    unpacked_bytes: int
    scripts: tuple[PackageScript, ...]
    experiments: tuple[PackageUseLine, ...]
    problem: str
