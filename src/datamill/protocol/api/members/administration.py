"""What takes room on a coordinator, quotas, how long files are kept, backups, accounts."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

#: What a database keeps in a whole number.
_LARGEST = 1 << 62


class KindRoom(msgspec.Struct, frozen=True):
    """Files of a kind: packages, artifacts and so on."""

    kind: str
    files: int
    size_bytes: int


class Room(msgspec.Struct, frozen=True):
    """What the coordinator's disk and database hold; `removed` files went as retention has it."""

    kinds: tuple[KindRoom, ...]
    removed: int
    database: str
    database_bytes: int
    disk_bytes: int
    free_bytes: int
    experiments: int
    trials: int


class UserRoom(msgspec.Struct, frozen=True):
    """What a user has here, and may have; a quota of their own is `own_`, null where it is the usual."""

    user: str
    files: int
    size_bytes: int
    most_bytes: int
    own_bytes: int | None
    experiments: int
    open_trials: int
    most_trials: int
    own_trials: int | None


class UserLine(UserRoom, frozen=True):
    """An account with what it has here; one that is not `active` can neither log in nor use a key."""

    admin: bool
    active: bool


class UserList(msgspec.Struct, frozen=True):
    """Some users by name; ask for the rest with `after=next`."""

    users: tuple[UserLine, ...]
    next: str | None


class UserRequest(msgspec.Struct, frozen=True):
    """An account that is to be made."""

    name: Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[^\x00]*$")]
    admin: bool = False


class MadeUser(msgspec.Struct, frozen=True):
    """A new account with its password: the only time that it is shown."""

    user: str
    password: str
    admin: bool


class QuotaRequest(msgspec.Struct, frozen=True):
    """What a user may have: bytes of files, and trials that have not ended. Null is what everybody has."""

    stored_bytes: Annotated[int, Meta(ge=0, le=_LARGEST)] | None = None
    open_trials: Annotated[int, Meta(ge=0, le=_LARGEST)] | None = None


class Removable(msgspec.Struct, frozen=True):
    """What would be removed now: how many files, and their bytes."""

    files: int
    size_bytes: int


class RetentionRequest(msgspec.Struct, frozen=True):
    """Days that files are kept: uploads that no experiment has, and what attempts of private ones left.

    Null is for ever.
    """

    uploads_days: Annotated[int, Meta(ge=1, le=36_500)] | None = None
    artifacts_days: Annotated[int, Meta(ge=1, le=36_500)] | None = None


class RetentionState(msgspec.Struct, frozen=True):
    """Days that files are kept, null for ever, and what is older now: than 90 days where nothing is set."""

    uploads_days: int | None
    artifacts_days: int | None
    uploads: Removable
    artifacts: Removable


class BackupLine(msgspec.Struct, frozen=True):
    """A copy of the database in the data folder."""

    name: str
    size_bytes: int
    made_unix_s: float
