"""What a bundle says of itself: which experiment, which packages, loads and factors."""

from __future__ import annotations

import msgspec

#: Since 2 each line of the log carries a checksum.
BUNDLE_FORMAT = 2
READ_FORMATS = (1, 2)
#: The first format of which each line of the log carries a checksum.
SEALED_FORMAT = 2


class BundlePackage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A package as the bundle keeps it: a `.tar.gz` under `packages/` and its SHA-256.

    `has_collect` is written where there is no `collect.sh`: bundles made before it was do not say.
    `has_profile` is written where there is a `profile.sh`.
    """

    name: str
    file: str
    sha256: str
    bytes: int
    files: int
    has_setup: bool
    has_collect: bool = True
    has_profile: bool = False


class BundleFactor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A factor that the experiment brought along: a `.tar.gz` under `factors/` and its SHA-256."""

    name: str
    file: str
    sha256: str
    bytes: int
    summary: str


class BundleHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Content of `bundle.json`; `sha256` holds the digests of the files that never change."""

    format: int
    datamill: str
    created_unix_ns: int
    experiment_file: str
    packages: tuple[BundlePackage, ...]
    sha256: dict[str, str] = {}
    loads: tuple[BundlePackage, ...] = ()
    factors: tuple[BundleFactor, ...] = ()
