"""Packages that fail in trial after trial, whatever their levels are: going on would only waste time."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from datamill.design.design import PlannedTrial
from datamill.protocol.trial import Failure, TrialRecord
from datamill.results.judgement.validity import wants_another_attempt

#: Trials of a package, its first ones, that must have failed alike.
ENOUGH_FAILURES = 3

#: What the first trials of a package showed: all failed alike so far; one completed; they failed for unlike
#: reasons; enough of them failed alike. Nothing follows but on the first of these.
Verdict = Literal["failing", "sound", "unlike", "stopped"]


@dataclass(frozen=True, slots=True)
class StoppedPackage:
    """A package whose first trials all failed alike: how many, why, and what its author can do."""

    package: str
    failures: int
    message: str
    remedy: str

    @property
    def sentence(self) -> str:
        """That it is stopped, why, and what its author can do."""
        told = (
            f"package {self.package} is stopped: its first {self.failures} trials failed alike. "
            f"{self.message} {self.remedy}"
        )
        return told.strip()


@dataclass(frozen=True, slots=True)
class FirstTrials:
    """What the trials of a package have shown that ended so far, in a few words.

    Attributes:
        verdict: see `Verdict`.
        failures: How many trials failed alike.
        reason: A digest of why: the phase, the kind and the message without its numbers.
        blamed: Factors that may yet be to blame, each with the one level that all failed trials had.
    """

    verdict: Verdict = "failing"
    failures: int = 0
    reason: str = ""
    blamed: Mapping[str, str] = field(default_factory=dict)


def judge_trial(
    first: FirstTrials, failure: Failure | None, levels: Mapping[str, str], varied: Collection[str]
) -> FirstTrials:
    """Return what the trials of a package show with one more that ended; without a failure it completed.

    A package is stopped once at least `ENOUGH_FAILURES` trials failed in the same phase for the same reason,
    whatever numbers its message has, and none completed. What one level alone brings about stops nothing: the
    failed trials must differ in every factor of which the package has several levels, `varied`.
    """
    if first.verdict != "failing":
        return first
    if failure is None:
        return FirstTrials("sound")
    reason = _digest_reason(failure)
    if not first.failures:
        blamed = {name: levels[name] for name in varied if name in levels}
        return FirstTrials("failing", 1, reason, blamed)
    if reason != first.reason:
        return FirstTrials("unlike")
    failures = first.failures + 1
    blamed = {name: level for name, level in first.blamed.items() if levels.get(name, level) == level}
    verdict: Verdict = "stopped" if failures >= ENOUGH_FAILURES and not blamed else "failing"
    return replace(first, verdict=verdict, failures=failures, blamed=blamed)


def list_varied_factors(levels: Iterable[Mapping[str, str]]) -> set[str]:
    """Return the factors that have several levels in a package's trials."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in levels:
        for name, level in row.items():
            found[name].add(level)
    return {name for name, seen in found.items() if len(seen) > 1}


@dataclass(frozen=True, slots=True)
class FailingPackages:
    """What is known of packages that have not completed a trial, as trials end.

    Attributes:
        trials: All that are planned.
        sound: Packages that completed a trial, also before the experiment was resumed.
        stopped: Those that are left out from now on, by name.
    """

    trials: Sequence[PlannedTrial]
    sound: set[str] = field(default_factory=set)
    stopped: dict[str, StoppedPackage] = field(default_factory=dict)
    _first: dict[str, FirstTrials] = field(default_factory=lambda: defaultdict(FirstTrials))
    _varied: dict[str, set[str]] = field(default_factory=dict)

    def judge(self, record: TrialRecord, levels: Mapping[str, str] | None = None) -> StoppedPackage | None:
        """Return the package of a trial that has just ended if it is to be stopped now.

        `levels` take the place of those that the record names, as where these do not tell machines apart.
        """
        package, failure = record.package, record.failure
        if package in self.stopped or package in self.sound:
            return None
        if record.outcome == "completed":
            self.sound.add(package)
        elif failure is None or wants_another_attempt(record):
            return None
        first = judge_trial(
            self._first[package], failure, record.levels if levels is None else levels, self._vary(package)
        )
        self._first[package] = first
        if failure is None or first.verdict != "stopped":
            return None
        self.stopped[package] = StoppedPackage(package, first.failures, failure.message, failure.remedy)
        return self.stopped[package]

    def leaves_none(self) -> bool:
        """Tell whether every package of the plan is stopped."""
        return self.stopped.keys() >= {trial.package for trial in self.trials}

    def _vary(self, package: str) -> set[str]:
        if package not in self._varied:
            planned = (trial.levels for trial in self.trials if trial.package == package)
            self._varied[package] = list_varied_factors(planned)
        return self._varied[package]


def list_stopped_packages(
    trials: Sequence[PlannedTrial], records: Iterable[TrialRecord]
) -> dict[str, StoppedPackage]:
    """Return the packages whose first trials failed alike, by name, as records in their order show it."""
    failing = FailingPackages(trials)
    levels = {trial.trial_id: trial.levels for trial in trials}
    for record in records:
        failing.judge(record, levels.get(record.trial_id))
    return failing.stopped


def _digest_reason(failure: Failure) -> str:
    told = f"{failure.phase}\n{failure.kind}\n{re.sub(r'[0-9]+', '#', failure.message)}"
    return hashlib.sha256(told.encode(errors="replace")).hexdigest()
