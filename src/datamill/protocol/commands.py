"""What `datamill-worker measure-commands` is asked for and answers, as `command.rs` of the crate defines it.

A line each on its standard streams: a greeting first, then an answer to each request.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from datamill.protocol.trial import (
    CompilerFacts,
    DisturbanceFacts,
    FactorFacts,
    Failure,
    HostFacts,
    IsolationFacts,
    PhaseFacts,
    WorkerFacts,
)

CommandOutput = Literal["capture", "read", "null", "inherit", "file"]


class CommandGreeting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The first line: who measures, and where."""

    schema: int
    worker: WorkerFacts
    host: HostFacts
    isolation: IsolationFacts


class CommandRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One execution of a command, as the user who asks would execute it."""

    schema: int
    command: tuple[str, ...]
    directory: str
    variables: dict[str, str]
    input: str | None
    output: CommandOutput
    output_file: str | None
    timeout_s: float
    levels: dict[str, str]
    build: BuildRequest | None = None


class BuildRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What a command that builds a program is given: a folder for the compiler wrappers, and a seed."""

    tools: str
    seed: int


class CommandBuild(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What a command that builds a program did."""

    compiler: CompilerFacts
    executables_sha256: str | None


class CommandAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What was seen of one execution of a command; its exit status is no failure, but stands in `run`."""

    schema: int
    run: PhaseFacts | None
    failure: Failure | None
    stdout_sha256: str | None
    stderr_tail: str
    factors: tuple[FactorFacts, ...]
    disturbance: DisturbanceFacts | None
    build: CommandBuild | None = None
