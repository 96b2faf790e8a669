"""What a bundle of the fleet says of itself: `fleet.json`, and `complete.json` at its end."""

from __future__ import annotations

import msgspec

#: Version of the columns of parts; docs/reference/tables.md describes them.
TABLES_SCHEMA = 1


class FleetMember(msgspec.Struct, frozen=True):
    """A machine that took part; `inventory` is what its worker sent, in that worker's protocol."""

    name: str
    worker_id: str
    owner: str
    hardware: dict[str, str]
    inventory: msgspec.Raw


class FleetSummary(msgspec.Struct, frozen=True):
    """`fleet.json`: who took part in an experiment, and how far it was when its bundle was made.

    `coverage` has the levels that took part in each dimension of hardware, `stopped` the reason for each
    package that was stopped.
    """

    experiment: int
    name: str
    owner: str
    state: str
    state_reason: str
    reboot: str
    submitted_unix_s: float
    ended_unix_s: float | None
    exported_unix_s: float
    planned: int
    counted: int
    debug_planned: int
    debug_completed: int
    stopped: dict[str, str]
    coverage: dict[str, tuple[str, ...]]
    workers: tuple[FleetMember, ...]
    spares: tuple[str, ...]


class BundleProfile(msgspec.Struct, frozen=True):
    """A profile, in `profiles.json`: what `profile.sh` found out of a build before `trials` measured it.

    `levels` are those at which it was made, `build` is the identity of the build. `state` is how it ended
    ("completed", "failed", "timed_out"), or how far it is; `reason` says why there is no `file`, whose path
    is in the bundle.
    """

    profile: str
    package: str
    machine: str
    levels: dict[str, str]
    build: str
    state: str
    reason: str
    file: str
    bytes: int
    sha256: str
    trials: tuple[str, ...]


class BundleEnd(msgspec.Struct, frozen=True):
    """`complete.json`, the last member of the archive: how many files came before it, and what counts.

    `attempts_sha256` is the digest of `attempts.jsonl`, which says which attempts count; `left_out` are
    artifacts that the coordinator no longer has.
    """

    files: int
    counted: int
    attempts_sha256: str
    left_out: tuple[str, ...]


class TablePart(msgspec.Struct, frozen=True):
    """An experiment's part of the data set; `version` changes whenever its rows do."""

    experiment: int
    name: str
    owner: str
    state: str
    trials: int
    version: str


class TableParts(msgspec.Struct, frozen=True):
    """Some parts by the numbers of their experiments; ask for the rest with `after=next`.

    `columns_version` tells whether columns are those that one knows.
    """

    columns_version: int
    parts: tuple[TablePart, ...]
    next: int | None
