"""When a machine is quiet enough to measure on, and how a trial waited, as the crate `protocol` has it."""

from __future__ import annotations

import msgspec


class QuietRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What a machine may do at most in a window of time to be called quiet, and how long a trial waits."""

    window_s: float = 2.0
    limit_s: float = 60.0
    processors: float = 0.1
    pressure: float = 0.05
    disk: float = 0.05


class QuietWindow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What a machine did in a window of time; None is what it does not tell."""

    processors: float | None
    cpu_pressure: float | None
    memory_pressure: float | None
    io_pressure: float | None
    disk: float | None


class ProcessUse(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A process of the host that is none of the trial's, and the processor time that it used."""

    name: str
    pid: int
    processor_time_ns: int


class QuietFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """How long a trial waited for a quiet machine, and what it found."""

    rule: QuietRule
    waited_ns: int
    windows: int
    quiet: bool
    last: QuietWindow
    busiest: tuple[ProcessUse, ...]
    untold: tuple[str, ...]
