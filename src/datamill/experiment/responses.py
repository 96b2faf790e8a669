"""What is measured, and the responses that exist without any help from the package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Response:
    """What is measured: `formula` over built-in responses and package metrics gives its value."""

    name: str
    unit: str
    formula: str
    direction: Direction


_TIMES = {
    "wall_time_s": "time from the start to the end of run.sh",
    "user_time_s": "processor time of run.sh in user mode",
    "system_time_s": "processor time of run.sh in the kernel",
}
_COUNTS = {
    "minor_faults": "faults",
    "major_faults": "faults",
    "voluntary_switches": "switches",
    "involuntary_switches": "switches",
}
_COUNTERS = {
    "cycles": "cycles",
    "instructions": "instructions",
    "cache_references": "events",
    "cache_misses": "misses",
    "branches": "events",
    "branch_misses": "misses",
    "context_switches": "switches",
    "cpu_migrations": "events",
    "page_faults": "faults",
    "task_clock_ns": "ns",
}

#: Unit of every built-in response; counters exist only where the machine has them.
BUILT_IN_UNITS: dict[str, str] = {
    **dict.fromkeys(_TIMES, "s"),
    **_COUNTS,
    "peak_memory_bytes": "B",
    **_COUNTERS,
}

#: What answers the question of an experiment that names no response.
DEFAULT_RESPONSE = Response(name="wall_time", unit="s", formula="wall_time_s", direction="lower")
