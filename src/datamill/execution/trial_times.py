"""How long trials of a package took on this machine, remembered between experiments."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from datamill.design.design import PlannedTrial
from datamill.protocol.trial import TrialRecord


@dataclass(frozen=True, slots=True)
class TrialTime:
    """Mean seconds of a trial; `alike` where it took as many measurements as are planned now."""

    seconds: float
    alike: bool


def list_trial_times(records: Iterable[TrialRecord], trials: Iterable[PlannedTrial]) -> dict[str, float]:
    """Return the mean time of a completed trial in seconds, by package and number of its measurements."""
    taken = {trial.trial_id: trial.measurements + trial.warmup for trial in trials}
    times: dict[str, list[float]] = {}
    for record in records:
        if record.outcome == "completed" and record.package_sha256:
            elapsed_ns = record.ended_unix_ns - record.started_unix_ns
            name = _name_time(record.package_sha256, taken[record.trial_id])
            times.setdefault(name, []).append(elapsed_ns / 1e9)
    return {name: mean(values) for name, values in times.items()}


def find_trial_time(known: Mapping[str, float], sha256: str, measurements: int) -> TrialTime | None:
    """Return the remembered time of a package's trial with so many measurements, warm-up among them.

    Where there was none, that with another number of them stands in; None where the package never ran.
    """
    exact = known.get(_name_time(sha256, measurements))
    if exact is not None:
        return TrialTime(exact, alike=True)
    other = [seconds for name, seconds in known.items() if name.partition(" ")[0] == sha256]
    return TrialTime(mean(other), alike=False) if other else None


def _name_time(sha256: str, measurements: int) -> str:
    return f"{sha256} {measurements}" if measurements else sha256


def read_trial_times() -> dict[str, float]:
    """Return the remembered times; an unreadable file is an empty memory, since it only feeds estimates."""
    try:
        content = json.loads(_times_file().read_text())
        return {str(key): float(value) for key, value in content.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def remember_trial_times(times: Mapping[str, float]) -> None:
    """Add times to the memory; a memory that cannot be written is done without."""
    path = _times_file()
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps({**read_trial_times(), **times}))
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)


def _times_file() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(cache) / "datamill" / "trial-times.json"
