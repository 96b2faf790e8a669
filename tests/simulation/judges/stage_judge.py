"""Whether builds come before profiles, profiles before trials, and nobody waits for what never comes."""

from __future__ import annotations

from collections.abc import Callable

from simulation.evidence.plans import Plan
from simulation.evidence.tables import ENDED_TRIALS, Read, Tables, TrialRow

_DONE = """
SELECT t.experiment_id, t.trial_id FROM datamill_attempt a JOIN datamill_trial t ON t.id = a.trial_id
WHERE a.state = 'counted' AND a.outcome = 'completed' AND t.purpose IN ('build', 'profile')
"""
#: States of a trial that may be, or was, lent to a worker.
_GOING = ("planned", "leased")


class StageJudge:
    """Holds what goes, and what is given up, against what it needs by its plan.

    Args:
        read: reads tables past Django.
        plans: plans of experiments by their numbers, as they are submitted.
        object_to: takes what is wrong, as a sentence.
    """

    def __init__(self, read: Read, plans: dict[int, Plan], object_to: Callable[[str], None]) -> None:
        self._read = read
        self._plans = plans
        self._object = object_to

    def judge(self, after: Tables) -> None:
        """Check every trial that needs another one."""
        staged = {number for number, plan in self._plans.items() if plan.has_stages}
        if not staged:
            return
        done = set(self._read(_DONE))
        rows = {
            (row.experiment, row.trial_id): row for row in after.trials.values() if row.experiment in staged
        }
        for (experiment, trial_id), row in rows.items():
            expected = self._plans[experiment].trials.get(trial_id)
            if expected is None or not expected.needs or row.experiment_state == "cancelled":
                continue
            needed = rows.get((experiment, expected.needs))
            if needed is not None:
                is_required = needed.purpose == "profile" or row.purpose == "profile"
                self._judge_pair(row, needed, is_required, is_done=(experiment, needed.trial_id) in done)

    def _judge_pair(self, row: TrialRow, needed: TrialRow, is_required: bool, *, is_done: bool) -> None:
        name = f"trial {row.experiment}.{row.trial_id}"
        of = f"{needed.trial_id}, which it needs, is {needed.state}"
        has_ended = needed.state in ENDED_TRIALS
        if row.state in _GOING and not is_done and (is_required or not has_ended):
            self._object(f"{name} is {row.state}, and {of}")
        if row.attempts and not is_done and is_required:
            self._object(f"{name} was made, and {of}")
        if row.state == "waiting" and is_required and not is_done and needed.state in ("counted", "given_up"):
            self._object(f"{name} waits for ever: {of}")

    def check_end(self, after: Tables) -> None:
        """Every missing profile for which trials were given up has its event."""
        told = {
            (experiment, detail.split(" ", 1)[0])
            for experiment, detail in self._read(
                "SELECT experiment_id, detail FROM datamill_event WHERE kind = 'profile missing'"
            )
        }
        by_itself = self._list_given_up()
        for row in after.trials.values():
            plan = self._plans.get(row.experiment)
            expected = plan.trials.get(row.trial_id) if plan else None
            if expected is None or row.state != "given_up" or row.attempts or row.purpose != "design":
                continue
            of = (row.experiment, expected.needs)
            if expected.needs and of not in told and (row.experiment, row.trial_id) not in by_itself:
                self._object(f"no event says why trial {row.experiment}.{row.trial_id} was given up")

    def _list_given_up(self) -> set[tuple[int, str]]:
        """Trials of which an event of their own says that they were given up."""
        rows = self._read("SELECT attempt FROM datamill_event WHERE kind = 'trial given up'")
        keys = (attempt.split(".") for (attempt,) in rows)
        return {(int(key[0]), key[1]) for key in keys}
