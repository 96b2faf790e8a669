"""Whether a package whose first trials fail alike is stopped in its experiment, and no other is."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from simulation.evidence.plans import Plan
from simulation.evidence.tables import Read, Tables, TrialRow
from simulation.judges.look_judge import LookJudge

#: Trials that must have failed alike.
ENOUGH = 3
NOT_BEGUN = ("waiting", "planned")
Of = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Ended:
    """A trial of the design that counts: its levels, where it was made, and how it failed if it did."""

    levels: dict[str, str]
    reason: str


class StopJudge:
    """Knows how the trials of each package ended, and holds what became of the others against that.

    Args:
        read: reads tables past Django.
        plans: plans of experiments by their numbers, as they are submitted.
        object_to: takes what is wrong, as a sentence.
        looks: knows which experiments were stopped by looks.
    """

    def __init__(
        self, read: Read, plans: dict[int, Plan], object_to: Callable[[str], None], looks: LookJudge
    ) -> None:
        self._looks = looks
        self._read = read
        self._plans = plans
        self._object = object_to
        self._ended: dict[Of, list[Ended]] = defaultdict(list)
        self._seen: set[str] = set()
        self._stopped: set[Of] = set()

    def judge(self, before: Tables, after: Tables) -> None:
        """Check what ended and what was cancelled since the last look."""
        new = self._list_new(after)
        cancelled = self._list_cancelled(before, after)
        for of in sorted(cancelled - self._stopped):
            if not self._may_be_stopped(of, new[of]):
                name = f"package {of[1][:12]} of experiment {of[0]}"
                self._object(f"trials of {name} were cancelled, and its first ones did not fail alike")
        for of, ended in new.items():
            self._ended[of] += ended
        earlier = set(self._stopped)
        self._stopped |= cancelled | {of for of in new if self._is_to_be_stopped(of)}
        for of in sorted(self._stopped - earlier):
            self._check_told(of)
        self._check_stopped(earlier, before, after)

    def _list_cancelled(self, before: Tables, after: Tables) -> set[Of]:
        """Return of what trials were cancelled, but by a person."""
        found = set()
        for number, row in after.trials.items():
            was = before.trials.get(number)
            if row.state != "cancelled" or was is None or was.state == "cancelled":
                continue
            by_look = row.experiment in self._looks.stopped
            if row.experiment_state != "cancelled" and row.purpose != "debug" and not by_look:
                found.add((row.experiment, row.package))
        return found

    def _list_new(self, after: Tables) -> dict[Of, list[Ended]]:
        new: dict[Of, list[Ended]] = defaultdict(list)
        for key, row in after.attempts.items():
            trial = after.trials[row.trial]
            if row.state != "counted" or trial.purpose != "design" or key in self._seen:
                continue
            self._seen.add(key)
            ((record,),) = self._read("SELECT record FROM datamill_attempt WHERE key = ?", (key,))
            new[trial.experiment, trial.package].append(self._describe(trial, row.worker_id, bytes(record)))
        return new

    def _describe(self, trial: TrialRow, worker_id: str, record: bytes) -> Ended:
        failure = json.loads(record)["failure"]
        levels = {**self._plans[trial.experiment].trials[trial.trial_id].trial.levels, "machine": worker_id}
        if failure is None:
            return Ended(levels, "")
        return Ended(
            levels, re.sub(r"\d+", "0", f"{failure['phase']} {failure['kind']} {failure['message']}")
        )

    def _may_be_stopped(self, of: Of, new: list[Ended]) -> bool:
        """Tell whether a package may be stopped, in whatever order its new trials were judged."""
        old = self._ended[of]
        if any(not item.reason for item in old) or len({item.reason for item in old}) > 1:
            return False
        failed = [item for item in (*old, *new) if item.reason]
        return any(
            count >= ENOUGH
            and (not old or old[0].reason == reason)
            and self._differ(of, [item for item in failed if item.reason == reason])
            for reason, count in Counter(item.reason for item in failed).items()
        )

    def _is_to_be_stopped(self, of: Of) -> bool:
        """Tell whether a package must be stopped, in whatever order its trials were judged."""
        ended = self._ended[of]
        reasons = {item.reason for item in ended}
        return len(ended) >= ENOUGH and len(reasons) == 1 and "" not in reasons and self._differ(of, ended)

    def _differ(self, of: Of, failed: list[Ended]) -> bool:
        """Tell whether failed trials differ in every factor of which their package has several levels."""
        planned: dict[str, set[str]] = defaultdict(set)
        head = self._plans[of[0]].submitted.head
        name = next(item.name for item in head.packages if item.sha256 == of[1])
        for expected in self._plans[of[0]].trials.values():
            if expected.purpose == "design" and expected.trial.package == name:
                for factor, level in expected.trial.levels.items():
                    planned[factor].add(level)
        return all(
            len({item.levels[factor] for item in failed}) > 1
            for factor, levels in planned.items()
            if len(levels) > 1
        )

    def _check_told(self, of: Of) -> None:
        told = self._read(
            "SELECT kind FROM datamill_event WHERE experiment_id = ? AND package_sha256 = ?", of
        )
        if ("package stopped",) not in told:
            self._object(f"no event says that package {of[1][:12]} of experiment {of[0]} is stopped")

    def _check_stopped(self, earlier: set[Of], before: Tables, after: Tables) -> None:
        """Nothing of a stopped package is leased, nor may be."""
        if not self._stopped:
            return
        for row in after.trials.values():
            of = (row.experiment, row.package)
            if row.state in NOT_BEGUN and of in self._stopped and row.experiment_state != "cancelled":
                self._object(
                    f"trial {row.experiment}.{row.trial_id} is {row.state}, and its package failed from its "
                    "first trials on"
                )
        for key in after.attempts.keys() - before.attempts.keys():
            trial = after.trials[after.attempts[key].trial]
            if (trial.experiment, trial.package) in earlier:
                self._object(f"{key} was leased, and its package was stopped")
