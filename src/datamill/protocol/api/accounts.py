"""Whose key it is, tokens that let machines join, and packages in quarantine."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

#: What a key may be used for: to look; to plan, submit and steer experiments; to publish and run again; for
#: machines; for the account itself, its keys and notices; for what administrators do.
Scope = Literal["read", "submit", "publish", "machines", "account", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "submit", "publish", "machines", "account", "admin")


class KeyOwner(msgspec.Struct, frozen=True):
    """Whose key this is, what it may be used for, and which datamill the coordinator is."""

    user: str
    admin: bool
    datamill: str
    scopes: tuple[str, ...] = ()


class TokenRequest(msgspec.Struct, frozen=True):
    """How long an enrolment token is good for, in seconds."""

    life_s: Annotated[float, Meta(gt=0, le=31_536_000)] = 86_400.0


class MachineToken(msgspec.Struct, frozen=True):
    """A token that lets one machine join, once."""

    token: str
    expires_unix_s: float


class QuarantinedPackage(msgspec.Struct, frozen=True):
    """A package that is not leased."""

    sha256: str
    name: str
    reason: str
    since_unix_s: float
