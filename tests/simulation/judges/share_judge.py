"""Whether machines divide their time as users were promised, and nobody who waits is forgotten.

What is held against the coordinator is not its queue but what a fair one guarantees (Goyal, Vin and Cheng
1997, theorem 1): while two users wait for a machine, what they get over their shares differs by no more than
one turn of each. The same holds for two experiments of a user, by their priorities.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from simulation.evidence.plans import Plan
from simulation.evidence.tables import OPEN, Tables

LIVE = ("debugging", "running")
SERVING = ("idle", "busy")
#: What rounding may add, in seconds.
ROUNDING_S = 1e-3
#: Time after which a block may be interrupted.
LONGEST_BLOCK_S = 4 * 3600.0
Party = tuple[str, int]


@dataclass(slots=True)
class _Queue:
    """What parties got of one machine over their shares; their longest turns; since when pairs wait."""

    received_s: dict[Party, float] = field(default_factory=lambda: defaultdict(float))
    longest_s: dict[Party, float] = field(default_factory=lambda: defaultdict(float))
    turns_s: dict[tuple[Party, float], float] = field(default_factory=lambda: defaultdict(float))
    since: dict[tuple[Party, Party], float] = field(default_factory=dict)

    def charge(self, party: Party, turn_s: float, held_s: float) -> None:
        self.received_s[party] += held_s
        self.turns_s[party, turn_s] += held_s
        self.longest_s[party] = max(self.longest_s[party], self.turns_s[party, turn_s])


class ShareJudge:
    """Keeps accounts of machine time of its own, by what attempts held.

    Args:
        plans: plans of experiments by their numbers.
        object_to: takes what is wrong, as a sentence.
    """

    def __init__(self, plans: Mapping[int, Plan], object_to: Callable[[str], None]) -> None:
        self._plans = plans
        self._object = object_to
        self._queues: dict[str, _Queue] = defaultdict(_Queue)
        self._charged: set[str] = set()
        self._latest: dict[str, str] = {}

    def judge(self, before: Tables, after: Tables, now_s: float, *, each_step: bool) -> None:
        """Check one turn; without `each_step` much may have happened between the two."""
        for key, attempt in after.attempts.items():
            if attempt.held_s is not None and key not in self._charged:
                self._charged.add(key)
                experiment = after.trials[attempt.trial].experiment
                queue = self._queues[attempt.worker_id]
                user = ("user", after.owners[experiment])
                queue.charge(user, attempt.turn_s, attempt.held_s / attempt.share)
                held_s = attempt.held_s / attempt.priority
                queue.charge(("experiment", experiment), attempt.turn_s, held_s)
            elif attempt.held_s is None and attempt.state not in OPEN:
                self._object(f"{key} is {attempt.state} and nobody was charged for it")
            if key not in before.attempts:
                if each_step:
                    self._judge_share(key, before, after)
                    self._judge_block(key, before, after, now_s)
                self._latest[attempt.worker_id] = key
        waiting = self._list_waiting(after)
        for worker_id, parties in waiting.items():
            self._judge_pairs(worker_id, parties, after, keeps=each_step)
        for worker_id in self._queues.keys() - waiting.keys():
            self._queues[worker_id].since.clear()

    def _list_waiting(self, after: Tables) -> dict[str, set[Party]]:
        """The users and experiments that wait for each machine, or have it."""
        waiting: dict[str, set[Party]] = defaultdict(set)

        def wait(worker_id: str, experiment: int) -> None:
            waiting[worker_id] |= {("user", after.owners[experiment]), ("experiment", experiment)}

        for row in after.trials.values():
            if row.state == "planned" and row.experiment_state in LIVE:
                wait(row.worker_id, row.experiment)
        for attempt in after.attempts.values():
            if attempt.state in OPEN:
                wait(attempt.worker_id, after.trials[attempt.trial].experiment)
        return waiting

    def _judge_pairs(self, worker_id: str, parties: set[Party], after: Tables, *, keeps: bool) -> None:
        queue = self._queues[worker_id]
        pairs = {
            (one, other)
            for one, other in combinations(sorted(parties), 2)
            if one[0] == other[0] and (one[0] == "user" or after.owners[one[1]] == after.owners[other[1]])
        }
        for pair in queue.since.keys() - pairs if keeps else list(queue.since):
            del queue.since[pair]
        for one, other in pairs:
            apart_s = queue.received_s[one] - queue.received_s[other]
            more_s = abs(apart_s - queue.since.setdefault((one, other), apart_s))
            bound_s = queue.longest_s[one] + queue.longest_s[other]
            if more_s > bound_s + ROUNDING_S:
                self._object(
                    f"on {worker_id} {one} and {other} are {more_s:.3f} s over share apart since both wait, "
                    f"and one turn of each is {bound_s:.3f} s"
                )

    def _judge_share(self, key: str, before: Tables, after: Tables) -> None:
        """A share is the user's own, and one more for each doubling of the machines that the user lends."""
        attempt = after.attempts[key]
        owner = after.owners[after.trials[attempt.trial].experiment]
        latest = self._latest.get(attempt.worker_id)
        if latest is not None and after.attempts[latest].turn_s == attempt.turn_s:
            return  # Within a block the share is that of its beginning.
        mine = [worker_id for worker_id, worker in after.workers.items() if worker.owner == owner]
        states = [
            {tables.workers[name].state for tables in (before, after) if name in tables.workers}
            for name in mine
        ]
        least = sum(known <= set(SERVING) for known in states)
        most = sum(bool(known & set(SERVING)) for known in states)
        own = after.shares.get(owner, 1.0)
        low, high = own + math.log2(1 + least), own + math.log2(1 + most)
        if not low - 1e-9 <= attempt.share <= high + 1e-9:
            self._object(f"{key} has the share {attempt.share}, and its user has {low} to {high}")

    def _judge_block(self, key: str, before: Tables, after: Tables, now_s: float) -> None:
        """No other experiment comes between two trials of a block that can go on."""
        attempt = after.attempts[key]
        latest = after.attempts.get(self._latest.get(attempt.worker_id, ""))
        if latest is None:
            return
        last, now = after.trials[latest.trial], after.trials[attempt.trial]
        plan = self._plans.get(last.experiment)
        if plan is None or plan.experiment.fleet.reboot != "block" or last.purpose != "design":
            return
        if last.experiment == now.experiment or now_s - latest.turn_s >= LONGEST_BLOCK_S:
            return
        rest = [
            (plan.trials[row.trial_id].rank, number)
            for number, row in after.trials.items()
            if (row.experiment, row.worker_id) == (last.experiment, attempt.worker_id)
            and row.state == "planned"
        ]
        if not rest or min(rest)[1] not in before.trials:
            return
        row, was = after.trials[min(rest)[1]], before.trials[min(rest)[1]]
        is_first = plan.trials[row.trial_id].reboot
        moved = was.worker_id != row.worker_id or plan.trials[row.trial_id].worker_id != row.worker_id
        goes_on = row.purpose == "design" and not is_first and not moved and row.attempts == 0
        if goes_on and row.experiment_state in LIVE:
            self._object(f"{key} came between two trials of a block of experiment {last.experiment}")
