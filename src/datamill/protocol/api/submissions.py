"""What a user submits: an experiment file, the archives that it brings, and what was chosen beside it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

FileKind = Literal["package", "load", "factor"]
#: When machines of a fleet are rebooted: before each trial, before each block of them, or not at all; "auto"
#: is before each trial where every chosen machine allows that, else never.
RebootPolicy = Literal["auto", "trial", "block", "never"]
#: Whether one trial of each package on each architecture goes before the design, instead of it, or not.
DebugPolicy = Literal["first", "only", "never"]

#: PostgreSQL cannot keep a NUL in a text, and nobody means one.
Name = Annotated[str, Meta(max_length=128, pattern=r"^[^\x00]*$")]
Summary = Annotated[str, Meta(max_length=1000, pattern=r"^[^\x00]*$")]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Meta(ge=0, le=2**53)]


class SubmittedFile(msgspec.Struct, frozen=True):
    """A package, load or factor that an experiment brings: an archive by its SHA-256, and what is in it."""

    name: Name
    kind: FileKind
    sha256: Sha256
    bytes: Count
    files: Count = 0
    has_setup: bool = False
    has_collect: bool = True
    has_profile: bool = False
    summary: Summary = ""


class SubmissionOptions(msgspec.Struct, frozen=True):
    """What takes the place of `[fleet]` in the experiment file; null leaves it as it is.

    With `once` it is refused where the same experiment was submitted just now or is still under way.
    """

    reboot: RebootPolicy | None = None
    debug: DebugPolicy | None = None
    redundancy: Annotated[int, Meta(ge=0, le=1000)] | None = None
    public: bool | None = None
    hold: bool = False
    once: bool = False


class SubmissionRequest(msgspec.Struct, frozen=True):
    """An experiment to be planned, or run.

    With `plan`, the digest of the plan that a user confirmed, it is run only if that is still its plan.
    """

    text: Annotated[str, Meta(max_length=1 << 20)]
    packages: Annotated[tuple[SubmittedFile, ...], Meta(max_length=1000)]
    file_name: Name = "experiment.toml"
    options: SubmissionOptions = SubmissionOptions()
    plan: Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?$")] = ""


class ExperimentSource(msgspec.Struct, frozen=True):
    """What an experiment was made of: its file, and the archives that it brought."""

    id: int
    name: str
    owner: str
    text: str
    packages: tuple[SubmittedFile, ...]
