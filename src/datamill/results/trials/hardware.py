"""What machines are, by dimension of hardware, as trial records and a fleet's own list tell it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from datamill.experiment.quantities import round_memory
from datamill.protocol.trial import HostFacts

#: The dimensions that a table has a column of, each as `context.NAME`: those of the fleet's coverage but for
#: the machine itself, which is a factor.
HARDWARE_COLUMNS = (
    "arch",
    "cpu_model",
    "clock",
    "cores",
    "cache",
    "memory",
    "kernel",
    "distribution",
    "compiler",
)
#: What a fleet says of a level that a worker did not tell.
_UNKNOWN = "unknown"
_CLOCK = re.compile(r"@\s*(\d+(?:\.\d+)?)\s*([GM])Hz")


def list_hardware(host: HostFacts, told: Mapping[str, str] | None = None) -> dict[str, str | None]:
    """The level of a trial's machine in each dimension, spelled as the coordinator of a fleet spells them.

    Args:
        host: what the worker said of the machine with this trial; it goes before what is `told`, since
            kernels are replaced between trials.
        told: the machine's levels in the list of its fleet, which knows more; None where there is none.

    Without a fleet the clock is the one that the processor's name has, and cache, distribution and compiler
    are not known (None).
    """
    known: dict[str, str | None] = {**(told or {})}
    own: dict[str, str | None] = {
        "arch": host.arch,
        "cpu_model": host.cpu_model,
        "cores": str(host.cores) if host.cores else None,
        "memory": round_memory(host.memory_bytes),
        "kernel": host.kernel,
    }
    known |= {name: level for name, level in own.items() if level}
    if known.get("clock") in (None, _UNKNOWN):
        known["clock"] = read_clock(host.cpu_model)
    levels = {name: known.get(name) for name in HARDWARE_COLUMNS}
    return {name: None if level in ("", _UNKNOWN) else level for name, level in levels.items()}


def read_clock(cpu_model: str) -> str | None:
    """The clock that a processor's name has, `3.4 GHz` of "Core i7-2600 @ 3.40GHz"; None without one."""
    found = _CLOCK.search(cpu_model)
    if found is None:
        return None
    gigahertz = float(found[1]) / (1 if found[2] == "G" else 1000)
    return f"{round(gigahertz, 1)} GHz"
