"""Factors of the fleet: those of datamill, and those that users registered."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class MachineLevels(msgspec.Struct, frozen=True):
    """What a machine has of a factor: `reason` says why it has no level, or what keeps it from some.

    Of a registered factor the levels are not known before a trial asks the machine (`levels` null).
    """

    machine: str
    owner: str
    levels: tuple[str, ...] | None
    reason: str
    allowed_by_owner: bool


class FleetFactor(msgspec.Struct, frozen=True):
    """A factor of the fleet: where it is set, who brought it, whether an administrator forbids it.

    `stage` is `build`, `process`, `world` or `host`, of a registered one its scope, `host` or `environment`.
    `sha256`, `owner` and `registered_unix_s` are null for those of datamill. `levels` counts the machines
    that have each level and whose owners allow the factor; `forbidden` is the reason of who forbids it on the
    whole fleet, null where it is allowed.
    """

    name: str
    stage: str
    summary: str
    sha256: str | None
    owner: str | None
    registered_unix_s: float | None
    forbidden: str | None
    levels: dict[str, int]


class FleetFactorDetail(FleetFactor, frozen=True):
    """A factor with what each machine has of it, and the archives of a registered one, newest first."""

    machines: tuple[MachineLevels, ...]
    versions: tuple[str, ...]


class FactorRegistration(msgspec.Struct, frozen=True):
    """An archive of the store that is to be a factor for everybody."""

    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class FactorBan(msgspec.Struct, frozen=True):
    """Why a factor is forbidden."""

    reason: Annotated[str, Meta(max_length=500)] = ""
