"""What a host has of each factor, as the crate `protocol` defines it in `offer.rs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Where a factor is set: by the compiler wrapper, on the process of `run.sh`, on the trial's private
#: world, or on the machine.
Stage = Literal["build", "process", "world", "host"]


@dataclass(frozen=True, slots=True)
class MissingLevel:
    """A level that does not exist on a host, and why."""

    level: str
    reason: str


@dataclass(frozen=True, slots=True)
class FactorOffer:
    """A factor as a host has it: field by field as in `protocol/machine/factor-offer.schema.json`.

    `levels` are empty when the host has nothing of it, and `reason` then says why; `current` is the level
    that the host is at.
    """

    name: str
    stage: Stage
    levels: tuple[str, ...]
    missing: tuple[MissingLevel, ...] = ()
    current: str | None = None
    reason: str = ""
