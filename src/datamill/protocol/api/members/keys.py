"""Keys for the API: made, listed, revoked."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from datamill.protocol.api.accounts import SCOPES, Scope

KeyName = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[^\x00]*$")]


class KeyRequest(msgspec.Struct, frozen=True):
    """A key that is to be made; it has no scope that the key which asks for it lacks."""

    name: KeyName
    scopes: Annotated[tuple[Scope, ...], Meta(min_length=1, max_length=len(SCOPES))] = SCOPES


class RevocationRequest(msgspec.Struct, frozen=True):
    """The name of the keys that are to be void."""

    name: KeyName


class MadeKey(msgspec.Struct, frozen=True):
    """A new key: the only time that it is shown."""

    name: str
    key: str
    scopes: tuple[str, ...]


class KeyLine(msgspec.Struct, frozen=True):
    """A key of one's own, without the key itself."""

    name: str
    scopes: tuple[str, ...]
    made_unix_s: float
    revoked_unix_s: float | None
