"""Whether trials are where they may be and should be, and go out in their order, to all who can take them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from simulation.evidence.plans import Plan
from simulation.evidence.tables import FAILED, OPEN, Tables, TrialRow, describe_hardware, read_policy

from datamill.experiment.experiment import PackageNeeds
from datamill.protocol.fleet import Policy

#: Silence or absence after which another worker is asked, in seconds.
PATIENCE_S = 3600.0
#: Attempts that fail on a trial's own worker before another is asked.
OWN_ATTEMPTS = 2
#: Refusals that the same worker would repeat.
LASTING = ("policy:", "version:", "factor:")
ABLE = ("idle", "busy")
ABSENT = ("away", "silent")
LIVE = ("debugging", "running")


class PlaceJudge:
    """Compares where trials are with the machines that there are.

    Args:
        plans: plans of experiments by their numbers, as they are submitted.
        object_to: takes what is wrong, as a sentence.
    """

    def __init__(self, plans: dict[int, Plan], object_to: Callable[[str], None]) -> None:
        self._plans = plans
        self._object = object_to

    def judge(self, before: Tables, after: Tables, now_s: float, *, stepped: bool) -> Iterator[int]:
        """Check one turn, of which `stepped` says that it did all that was due; yield the trials that moved.

        `before` is what the tables said a turn ago.
        """
        waiting: dict[str, list[TrialRow]] = defaultdict(list)
        for number, row in after.trials.items():
            was = before.trials.get(number)
            if row.state == "planned" and row.experiment_state in LIVE:
                waiting[row.worker_id].append(row)
            if was is None:
                continue
            if was.worker_id != row.worker_id:
                yield number
                self._judge_move(before, after, was, row, now_s)
            elif row.state in ("planned", "waiting") and row.experiment_state != "cancelled":
                self._judge_stay(before, after, was, row, now_s, stepped=stepped)
        self._judge_order(before, after, waiting)
        if stepped:
            self._judge_idle(after, waiting, now_s)

    def _judge_move(self, before: Tables, after: Tables, was: TrialRow, row: TrialRow, now_s: float) -> None:
        name = f"trial {row.experiment}.{row.trial_id}"
        origin, target = was.worker_id, row.worker_id
        moments = [tables for tables in (before, after) if target in tables.workers]
        told = f"{name} went from {origin} to {target}"
        if not any(tables.workers[target].state in ABLE for tables in moments):
            self._object(f"{told}, which is {after.workers[target].state}")
        if not any(
            describe_hardware(one.workers[origin].inventory)
            == describe_hardware(other.workers[target].inventory)
            for one in (before, after)
            for other in moments
        ):
            self._object(f"{told}, a machine that is not its equal")
        if not any(self._allows(tables, target, row, all_files=False) for tables in moments):
            self._object(f"{told}, whose owner forbids it")
        spares = self._plans[row.experiment].spares
        if target not in spares:
            free = [spare for spare in sorted(spares) if self._is_fit(before, after, spare, was)]
            if free:
                self._object(f"{told}, and not to its spare {free[0]}")
        if not self._has_cause(before, after, was, row, now_s):
            self._object(f"{told}, which could have made it")

    def _has_cause(self, before: Tables, after: Tables, was: TrialRow, row: TrialRow, now_s: float) -> bool:
        """Tell whether there was a reason to take a trial from its worker."""
        states = {before.workers[was.worker_id].state, after.workers[was.worker_id].state}
        absent_s = now_s - before.workers[was.worker_id].heard_s
        return (
            bool(states & {"drained", "removed"})
            or (bool(states & set(ABSENT)) and absent_s >= PATIENCE_S)
            or row.attempts >= OWN_ATTEMPTS
            or self._is_unwelcome(after, row)
        )

    def _is_unwelcome(self, after: Tables, row: TrialRow) -> bool:
        """Tell whether its worker refused a trial for good."""
        latest = after.attempts.get(f"{row.experiment}.{row.trial_id}.{row.attempts}")
        return latest is not None and latest.state == "refused" and latest.reason.startswith(LASTING)

    def _judge_stay(
        self, before: Tables, after: Tables, was: TrialRow, row: TrialRow, now_s: float, *, stepped: bool
    ) -> None:
        """A trial that its worker cannot make goes to one that can, where there is one."""
        key = f"{row.experiment}.{row.trial_id}.{row.attempts}"
        if was.state == "leased" and after.attempts[key].state in FAILED:
            has_failed = row.attempts >= OWN_ATTEMPTS or self._is_unwelcome(after, row)
            must_go = has_failed or after.workers[row.worker_id].state == "removed"
        else:
            states = {before.workers[row.worker_id].state, after.workers[row.worker_id].state}
            is_gone = states <= {"drained", "removed"}
            is_absent = states <= set(ABSENT) and now_s - after.workers[row.worker_id].heard_s >= PATIENCE_S
            must_go = stepped and was.state == row.state == "planned" and (is_gone or is_absent)
        if not must_go:
            return
        for worker_id in sorted(after.workers):
            if self._is_fit(before, after, worker_id, was):
                self._object(
                    f"trial {row.experiment}.{row.trial_id} stays with {row.worker_id}, which is "
                    f"{after.workers[row.worker_id].state}, and {worker_id} could make it"
                )
                return

    def _is_fit(self, before: Tables, after: Tables, worker_id: str, row: TrialRow) -> bool:
        """Tell whether a worker could take a trial from its own all the time."""
        origin = row.worker_id
        if worker_id == origin or worker_id not in before.workers:
            return False
        machines = {
            describe_hardware(tables.workers[name].inventory)
            for tables in (before, after)
            for name in (origin, worker_id)
        }
        return len(machines) == 1 and all(
            tables.workers[worker_id].state in ABLE and self._allows(tables, worker_id, row, all_files=True)
            for tables in (before, after)
        )

    def _allows(self, tables: Tables, worker_id: str, row: TrialRow, *, all_files: bool) -> bool:
        """Tell whether a worker's owner allows a trial; with `all_files` all that its experiment brings."""
        policy = read_policy(tables.workers[worker_id].policy)
        plan = self._plans[row.experiment]
        files = plan.list_files(row.trial_id)
        if all_files:
            files |= {item.sha256: item.bytes for item in plan.submitted.head.loads}
        factors = {factor.name for factor in plan.submitted.plan.design.factors}
        loads = plan.experiment.loads if all_files else ()
        packages = [
            item
            for item in plan.experiment.packages
            if all_files or item.name == plan.trials[row.trial_id].trial.package
        ]
        isolation = plan.experiment.isolation
        return (
            (not policy.users or plan.submitted.owner in policy.users)
            and (not policy.packages or files.keys() <= set(policy.packages))
            and (not policy.package_bytes or max(files.values()) <= policy.package_bytes)
            and not factors & set(policy.forbidden_factors)
            and (policy.reboot or plan.experiment.fleet.reboot == "never")
            and all(gives(policy, item.needs) for item in (*packages, *loads))
            and (isolation != "plain" or policy.plain)
            and (isolation != "overlay" or policy.privileged)
        )

    def _judge_order(self, before: Tables, after: Tables, waiting: dict[str, list[TrialRow]]) -> None:
        """Within an experiment the plan's order holds on each worker; between them shares: `share_judge`."""
        for key, attempt in after.attempts.items():
            if key in before.attempts or attempt.state not in OPEN:
                continue
            leased = after.trials[attempt.trial]
            rank = self._rank(leased)
            for row in waiting.get(attempt.worker_id, ()):
                if row.experiment == leased.experiment and self._rank(row) < rank:
                    self._object(
                        f"{key} was leased before {row.experiment}.{row.trial_id}, which is due first"
                    )

    def _rank(self, row: TrialRow) -> int:
        return self._plans[row.experiment].trials[row.trial_id].rank

    def _judge_idle(self, after: Tables, waiting: dict[str, list[TrialRow]], now_s: float) -> None:
        """After a whole step nobody is idle who has something to do."""
        for worker_id, rows in waiting.items():
            worker = after.workers[worker_id]
            if worker.state == "idle" and worker.rests_until_s <= now_s:
                row = rows[0]
                self._object(
                    f"{worker_id} is idle and gets no trial, though {row.experiment}.{row.trial_id} is due"
                )


def gives(policy: Policy, needs: PackageNeeds) -> bool:
    """Tell whether an owner gives a package what it needs."""
    return (
        (policy.privileged or not needs.privileged)
        and (policy.network or not needs.network)
        and set(needs.devices) <= set(policy.devices)
        and set(needs.kernel) <= set(policy.kernel)
    )
