"""Whether batches of experiments that grow wait for looks, and end by them."""

from __future__ import annotations

from collections.abc import Callable

from simulation.evidence.plans import Plan
from simulation.evidence.tables import ENDED_TRIALS, Read, Tables, TrialRow

from datamill.design.batches import number_batch

#: What becomes of trials whose batch was let go.
WENT = ("planned", "leased", "counted", "given_up")


class LookJudge:
    """Knows what was decided of each batch, and holds what went and what was cancelled against that.

    Args:
        read: reads tables past Django.
        plans: plans of experiments by their numbers, as they are submitted.
        object_to: takes what is wrong, as a sentence.
    """

    def __init__(self, read: Read, plans: dict[int, Plan], object_to: Callable[[str], None]) -> None:
        self._read = read
        self._plans = plans
        self._object = object_to
        self._decided: dict[tuple[int, int], bool] = {}
        self._batches: dict[int, dict[str, int]] = {}

    @property
    def stopped(self) -> set[int]:
        """The experiments that a look stopped."""
        return {experiment for (experiment, _), stops in self._decided.items() if stops}

    def judge(self, before: Tables, after: Tables) -> None:
        """Check what was decided and let go since the last look at the tables."""
        rows = self._read("SELECT experiment_id, number, stops FROM datamill_look WHERE stops IS NOT NULL")
        decided = {(experiment, number): bool(stops) for experiment, number, stops in rows}
        for of, stops in self._decided.items():
            if decided.get(of) != stops:
                self._object(f"the decision of look {of[1]} at experiment {of[0]} was changed")
        new = decided.keys() - self._decided.keys()
        self._decided = decided
        for row in after.trials.values():
            batch = self._find_batch(row.experiment, row.trial_id)
            if batch is None:
                continue
            name = f"trial {row.experiment}.{row.trial_id} of batch {batch}"
            # What its profile failed is given up, whenever its batch would have come.
            is_unprofiled = row.state == "given_up" and not row.attempts and self._is_profiled(row)
            if (
                batch > 1
                and row.state in WENT
                and not is_unprofiled
                and decided.get((row.experiment, batch - 1), True)
            ):
                self._object(f"{name} is {row.state}, and no look let it go")
        for number, row in before.trials.items():
            batch = self._find_batch(row.experiment, row.trial_id)
            if batch is None or not any(of[0] == row.experiment and of[1] >= batch for of in new):
                continue
            # Its end and the look may have come between two looks at the tables.
            if row.state not in ENDED_TRIALS and after.trials[number].state not in ENDED_TRIALS:
                self._object(f"experiment {row.experiment} was looked at, and {row.trial_id} had not ended")

    def check_end(self, after: Tables) -> None:
        """An experiment that was completed was looked at to its end."""
        # Nothing is left to decide where no trial of a later batch can be made any more.
        cancelled = {
            row.experiment
            for row in after.trials.values()
            if row.state == "cancelled" or (row.state == "given_up" and not row.attempts)
        }
        for experiment, plan in self._plans.items():
            state = after.experiments.get(experiment)
            design = plan.experiment.fleet.debug != "only"
            if plan.experiment.until is None or state != "completed" or experiment in cancelled or not design:
                continue
            if experiment not in self.stopped:
                self._object(f"experiment {experiment} was completed, and no look stopped it")

    def _is_profiled(self, row: TrialRow) -> bool:
        return self._plans[row.experiment].trials[row.trial_id].needs.startswith("profile")

    def _find_batch(self, experiment: int, trial_id: str) -> int | None:
        """The batch of a trial of the design; None where nothing waits for looks."""
        if experiment not in self._batches:
            plan = self._plans.get(experiment)
            grows = plan is not None and plan.experiment.until is not None
            self._batches[experiment] = (
                {
                    name: number_batch(plan.experiment, expected.trial)
                    for name, expected in plan.trials.items()
                    if expected.purpose == "design"
                }
                if plan is not None and grows
                else {}
            )
            if plan is None:
                del self._batches[experiment]
                return None
        return self._batches[experiment].get(trial_id)
