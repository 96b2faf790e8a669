"""How long an experiment takes here, from earlier trials of its packages."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from datamill.conduct.question.read_files import FoundExperiment
from datamill.execution.trial_times import TrialTime, find_trial_time, read_trial_times
from datamill.experiment.experiment import StoppingRule
from datamill.packing.packages import pack_package


@dataclass(frozen=True, slots=True)
class NeededTime:
    """Seconds that all trials take together, at most so many with `until`; and what one of them takes."""

    total_s: float
    trial: TrialTime


def estimate_time(file: FoundExperiment, trials: int) -> NeededTime | None:
    """Return how long so many trials of an experiment take, None when no such trial was ever timed here."""
    time = estimate_trial_time(file)
    return None if time is None else add_up_time(time, trials, file.experiment.until)


def add_up_time(time: TrialTime, trials: int, rule: StoppingRule | None) -> NeededTime:
    """Return how long so many trials take, at most as long as the rule allows."""
    total_s = time.seconds * trials
    if rule is not None and rule.max_time_s:
        total_s = min(total_s, rule.max_time_s)
    return NeededTime(total_s, time)


def estimate_trial_time(file: FoundExperiment) -> TrialTime | None:
    """Return the mean time of a trial over the experiment's packages, None when one was never timed here."""
    known = read_trial_times()
    nested = file.experiment.replication
    measurements = 0 if nested is None else nested.measurements + nested.warmup
    times = []
    for facts in file.packages:
        with tempfile.TemporaryDirectory(prefix="datamill-check-") as folder:
            packed = pack_package(facts, Path(folder) / "package.tar.gz")
        found = find_trial_time(known, packed.sha256, measurements)
        if found is None:
            return None
        times.append(found)
    seconds = sum(time.seconds for time in times) / len(times)
    return TrialTime(seconds, all(time.alike for time in times))
