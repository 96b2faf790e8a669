"""Packages that fail in trial after trial, whatever their levels are: going on would only waste time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from datamill.design.records import PlannedTrial
from datamill.protocol.trial import TrialRecord
from datamill.results.judgement.validity import wants_another_attempt

#: Trials of a package, its first ones, that must have failed alike.
ENOUGH_FAILURES = 3


@dataclass(frozen=True, slots=True)
class StoppedPackage:
    """A package whose first trials all failed alike: how many, why, and what its author can do."""

    package: str
    failures: int
    message: str
    remedy: str


@dataclass(slots=True)
class FailingPackages:
    """What is known of packages that have not completed a trial.

    A package is stopped once at least `ENOUGH_FAILURES` trials failed in the same phase for the same reason,
    whatever numbers its message has, and none completed. What one level alone brings about stops nothing: the
    failed trials must differ in every factor of which the package has several levels.

    Attributes:
        trials: All that are planned.
        sound: Packages that completed a trial, also before the experiment was resumed.
        stopped: Those that are left out from now on, by name.
    """

    trials: Sequence[PlannedTrial]
    sound: set[str]
    stopped: dict[str, StoppedPackage] = field(default_factory=dict)
    _failed: dict[str, list[TrialRecord]] = field(default_factory=lambda: defaultdict(list))

    def judge(self, record: TrialRecord) -> StoppedPackage | None:
        """Return the package of a trial that has just ended if it is to be stopped now."""
        package, failure = record.package, record.failure
        if package in self.stopped or package in self.sound:
            return None
        if record.outcome == "completed":
            self.sound.add(package)
        if failure is None or wants_another_attempt(record):
            return None
        failed = self._failed[package]
        failed.append(record)
        reasons = {
            (item.failure.phase, item.failure.kind, re.sub(r"\d+", "#", item.failure.message))
            for item in failed
            if item.failure is not None
        }
        if len(failed) < ENOUGH_FAILURES or len(reasons) > 1 or self._blames_a_level(package, failed):
            return None
        self.stopped[package] = StoppedPackage(package, len(failed), failure.message, failure.remedy)
        return self.stopped[package]

    def leaves_none(self) -> bool:
        """Tell whether every package of the plan is stopped."""
        return self.stopped.keys() >= {trial.package for trial in self.trials}

    def _blames_a_level(self, package: str, failed: Sequence[TrialRecord]) -> bool:
        planned = [trial.levels for trial in self.trials if trial.package == package]
        varied = {name for name, levels in _gather_levels(planned).items() if len(levels) > 1}
        shown = _gather_levels([record.levels for record in failed])
        return any(len(shown.get(name, ())) < 2 for name in varied & shown.keys())


def _gather_levels(rows: Sequence[Mapping[str, str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for name, level in row.items():
            found[name].add(level)
    return found
