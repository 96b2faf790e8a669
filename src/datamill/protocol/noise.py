"""What `datamill-worker noise` measured, as the crate `protocol` defines it in `noise.rs`."""

from __future__ import annotations

import msgspec

from datamill.protocol.trial import DisturbanceFacts


class ProcessorNoise(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Noise of one processor, field by field as in `protocol/machine/noise.schema.json`."""

    processor: int
    pinned: bool
    work_ns: tuple[int, ...]
    watched_ns: int
    gaps: int
    lost_ns: int
    longest_gap_ns: int
    late_ns: tuple[int, ...]


class NoiseFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What a host does to a program that never stops computing, processor by processor."""

    span_ns: int
    processors: tuple[ProcessorNoise, ...]
    disturbance: DisturbanceFacts
