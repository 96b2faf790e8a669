"""What coordinator and worker tell each other, as the crate `protocol` defines it in `fleet.rs`.

Field by field the meanings stand in the schemas of `protocol/orders`, `protocol/reports`, `protocol/joining`
and `protocol/machine`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from datamill.protocol.offers import FactorOffer
from datamill.protocol.quiet import QuietRule
from datamill.protocol.trial import (
    Accelerator,
    HostFacts,
    IsolationKind,
    KernelInterface,
    TrialRecord,
    TrialSpec,
)

FLEET_SCHEMA_VERSION = 4
#: Versions of the messages that the coordinator still speaks.
READ_FLEET_VERSIONS = (4,)
#: Versions of reports that it reads: of a worker that is too old enough is understood to say so.
READ_REPORT_VERSIONS = (1, 2, 3, 4)

RefusalReason = Literal["policy", "file", "disk", "version", "factor"]
LeaseTask = Literal["trial", "build", "profile"]


class CacheFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One cache of a processor."""

    level: int
    kind: str
    size_bytes: int


class CompilerVersion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A compiler that is installed."""

    name: str
    version: str


class CrossCompilerVersion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A compiler for machines of another architecture."""

    arch: str
    triplet: str
    compiler: str


class GuestOffer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Emulated machines for trials, as a machine has them."""

    accelerator: Accelerator | None
    reason: str
    factors: tuple[FactorOffer, ...]


class Inventory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a machine is and offers, as its worker sees it."""

    schema: int
    trial_schema: int
    worker_version: str
    hostname: str
    host: HostFacts
    clock_khz: int | None
    caches: tuple[CacheFacts, ...]
    distribution: str
    compilers: tuple[CompilerVersion, ...]
    counters: bool
    isolation: IsolationKind
    root: bool
    free_disk_bytes: int
    factors: tuple[FactorOffer, ...]
    clock_unix_ns: int
    guest: GuestOffer = GuestOffer(None, "its worker does not tell", ())
    cross: tuple[CrossCompilerVersion, ...] = ()


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the owner of a machine allows."""

    users: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    forbidden_factors: tuple[str, ...] = ()
    reboot: bool = False
    boot_parameters: tuple[str, ...] = ()
    kernels: bool = False
    package_bytes: int = 0
    network: bool = False
    devices: tuple[str, ...] = ()
    kernel: tuple[KernelInterface, ...] = ()
    privileged: bool = False
    plain: bool = False
    guests_only: bool = False
    covered: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    quiet: QuietRule | None = None


class EnrolmentRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A machine joins the fleet."""

    token: str
    name: str
    public_key: str
    inventory: Inventory
    policy: Policy


class Enrolment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a machine that joined needs to know."""

    worker_id: str
    name: str
    nats_urls: tuple[str, ...]
    nats_jwt: str
    api_key: str
    ca_pem: str | None
    clock_unix_ns: int


class CredentialRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A worker asks for a new credential for the broker."""

    worker_id: str
    nonce: str
    signature: str


class Credential(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new credential for the broker."""

    worker_id: str
    nats_jwt: str
    clock_unix_ns: int


class FileNeed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file that the coordinator serves by its SHA-256."""

    sha256: str
    bytes: int


class Lease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One attempt at a trial, lent to one worker."""

    attempt: str
    user: str
    spec: TrialSpec
    files: tuple[FileNeed, ...]
    reboot: bool
    expected_s: float
    live_output: bool
    task: LeaseTask
    prebuilt: FileNeed | None


class Orders(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a worker is to do now, whole: those with the highest sequence are the only ones that count."""

    schema: int
    worker_id: str
    sequence: int
    sessions: tuple[str, ...]
    receipts: tuple[str, ...]
    renew_credential: bool
    lease: Lease | None


class ArtifactFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file that an attempt produced."""

    name: str
    sha256: str
    bytes: int


class Session(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One process of the agent: from its first hello to its goodbye, or to whatever else ended it."""

    number: int
    id: str


class Hello(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="hello"):
    """The worker is there, and has no attempt but those named."""

    inventory: Inventory
    policy: Policy
    attempts: tuple[str, ...]
    session: Session | None = None


class Goodbye(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="goodbye"):
    """The worker's process ends, and with it the session that said hello: it takes no attempt any more."""

    session: Session


class Taken(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="taken"):
    """The attempt is in the worker's journal and about to begin."""

    attempt: str


class RecordReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="record"):
    """The attempt ended, and this is its record."""

    attempt: str
    record: TrialRecord
    artifacts: tuple[ArtifactFile, ...]
    rebooted: bool
    taken_boot_id: str


class Refused(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="refused"):
    """The worker will not or cannot make the attempt; nothing of it ran."""

    attempt: str
    reason: RefusalReason
    message: str


class GaveUp(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="gave_up"):
    """The attempt began and cannot be finished."""

    attempt: str
    message: str


class Output(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="output"):
    """A piece of what a script printed, of a debug trial."""

    attempt: str
    phase: str
    number: int
    text: str


class WorkerReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a worker tells the coordinator."""

    schema: int
    worker_id: str
    boot_id: str
    clock_unix_ns: int
    content: Hello | Goodbye | Taken | RecordReport | Refused | GaveUp | Output


def jobs_subject(worker_id: str) -> str:
    """Return the subject of a worker's orders."""
    return f"jobs.{worker_id}"


def results_subject(worker_id: str) -> str:
    """Return the subject of a worker's reports that must arrive."""
    return f"results.{worker_id}"


def status_subject(worker_id: str) -> str:
    """Return the subject of a worker's reports that may be lost."""
    return f"status.{worker_id}"
