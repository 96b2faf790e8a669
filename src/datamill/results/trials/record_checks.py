"""Whether a trial record can be that of its planned trial: judged on facts alone, not by times."""

from __future__ import annotations

from datamill.design.design import PlannedTrial
from datamill.design.fleet.reboots import REBOOT_FACTOR
from datamill.design.machines import BUILD_FOR, MACHINE_FACTOR
from datamill.protocol.trial import PhaseFacts, TrialRecord

#: Factors of a design that no worker sets: a trial has its package and is on its machine; for whom a build is
#: made its specification says otherwise.
UNSET_FACTORS = ("package", MACHINE_FACTOR, BUILD_FOR)
#: Facts of a phase that are counts, times or sizes.
_MEASURED = (
    "wall_time_ns", "user_time_ns", "system_time_ns", "peak_memory_bytes", "peak_memory_floor_bytes",
    "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches", "stdout_bytes",
    "stderr_bytes", "left_processes",
)  # fmt: skip
#: Beyond it the numbers are those of no machine, and tables could not hold them.
_MOST_MEASURED = 1 << 63
#: Levels that a message names at most.
_MOST_NAMED = 5


def list_set_levels(trial: PlannedTrial) -> dict[str, str]:
    """Return the levels that a worker sets for a trial, by factor; on a fleet it does not set reboots."""
    unset = (*UNSET_FACTORS, REBOOT_FACTOR) if MACHINE_FACTOR in trial.levels else UNSET_FACTORS
    return {name: level for name, level in trial.levels.items() if name not in unset}


def find_misfit(
    record: TrialRecord, trial: PlannedTrial, *, experiment: str, package_sha256: str | None
) -> str:
    """Return what a record says that its planned trial does not, with both values; empty when it fits.

    `package_sha256` is that of the package as it was submitted, None where it is not known.
    """
    pairs = (
        ("experiment", record.experiment, experiment),
        ("trial", record.trial_id, trial.trial_id),
        ("package", record.package, trial.package),
        ("package's SHA-256", record.package_sha256, package_sha256 or record.package_sha256),
        ("seed", record.seed, trial.seed),
    )
    for what, told, planned in pairs:
        if told != planned:
            return f"is of {what} {_show(told)}, where {_show(planned)} was planned"
    levels = list_set_levels(trial)
    if record.levels == levels:
        return ""
    others = [
        f"{name} {_show(record.levels.get(name))} (planned: {_show(levels.get(name))})"
        for name in sorted({*levels, *record.levels})
        if record.levels.get(name) != levels.get(name)
    ]
    return f"has other levels than planned: {', '.join(others[:_MOST_NAMED])}"


def find_impossible(record: TrialRecord) -> str:
    """Return what a trial that completed cannot have measured; empty when all of it can be."""
    setup = record.build.setup if record.build is not None else None
    phases = {"run": record.run, "collect": record.collect, "setup": setup}
    phases |= {f"warm-up {number}": phase for number, phase in enumerate(record.warmups, start=1)}
    for name, phase in phases.items():
        if phase is None:
            continue
        if phase.exit_code not in (0, None) or phase.signal is not None or phase.timed_out:
            return f"is of a completed trial, and {name} did not end well"
        if name == "run" and phase.wall_time_ns == 0:
            return "says that run took no time"
        if wrong := find_impossible_count(phase):
            return f"says that {wrong[0]} of {name} was {wrong[1]}"
    return ""


def find_impossible_count(phase: PhaseFacts) -> tuple[str, str] | None:
    """Return the first figure of a phase that no machine measures, with its value; None without one."""
    for item in _MEASURED:
        if not 0 <= getattr(phase, item) < _MOST_MEASURED:
            return item, _show(getattr(phase, item))
    for counter in phase.counters:
        if not 0 <= (counter.value or 0) < 1 << 64:
            return f"the counter {counter.name[:40]}", _show(counter.value)
    return None


def _show(value: object) -> str:
    return "nothing" if value is None else str(value)[:80]
