"""How long trials of a package took on this machine, remembered between experiments."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import mean

from datamill.results.trial_record import TrialRecord


def list_trial_times(records: Iterable[TrialRecord]) -> dict[str, float]:
    """Return the mean time of a completed trial in seconds, by SHA-256 of its package."""
    times: dict[str, list[float]] = {}
    for record in records:
        if record.outcome == "completed" and record.package_sha256:
            elapsed_ns = record.ended_unix_ns - record.started_unix_ns
            times.setdefault(record.package_sha256, []).append(elapsed_ns / 1e9)
    return {sha256: mean(values) for sha256, values in times.items()}


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
