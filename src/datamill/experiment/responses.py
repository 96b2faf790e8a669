"""What is measured, and the responses that exist without any help from the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from datamill.experiment.messages.phrases import join_names

Direction = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Response:
    """What is measured: `formula` over built-in responses and package metrics gives its value."""

    name: str
    unit: str
    formula: str
    direction: Direction

    @property
    def plain_formula(self) -> str:
        """The formula without spaces, which say nothing."""
        return "".join(self.formula.split())


def tell_formulas(name: str, measured: Sequence[tuple[str, Sequence[Response]]]) -> str:
    """Say which formulas a response of one name has where they differ, each with who has it; else nothing."""
    found = [(who, item) for who, responses in measured for item in responses if item.name == name]
    if len({item.plain_formula for _, item in found}) < 2:
        return ""
    return f"{name} has different formulas: {join_names([f'{item.formula} in {who}' for who, item in found])}"


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
