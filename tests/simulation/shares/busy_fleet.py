"""One seed of a fleet with much to do: real dispatch and ledger, and machines that only take time.

Users have shares, lend machines, and submit experiments of all lengths for some machines or all, with
priorities, blocks and batches that wait for looks, early and late; machines leave and come back.
"""

from __future__ import annotations

import heapq
import json
import math
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import count
from random import Random

from simulation.shares.fluid import Promise

BEGINNING_S = 1.7e9
SHARES = (0.5, 1.0, 1.0, 2.0, 3.0)
#: Mean times of trials of an experiment, in seconds: it is time that is divided, not trials.
TRIAL_S = (20.0, 40.0, 80.0)
#: Machine time that a user asks for on each machine, in seconds: users wait beside each other for long.
WORK_S = 2_000.0
#: Trials of a block between two reboots.
BLOCK_TRIALS = 4
#: How many of the longest turns a user must have been promised to be judged.
LEAST_TURNS = 30.0


@dataclass(slots=True)
class Asked:
    """An experiment as it was drawn: how long its trials take, for whom, where, in what order."""

    owner: str
    trial_s: float
    machines: list[str]
    trials: int
    priority: float
    reboot: str
    after_s: float
    number: int = 0


@dataclass(slots=True)
class Outcome:
    """What a seed gave: errors of what users received, and what was wrong.

    `errors` are shares of what was promised, `turns_off` the same in longest turns for each machine.
    """

    seed: int
    errors: dict[str, float]
    turns_off: dict[str, float]
    turns: int
    longest_wait_turns: float
    violations: list[str] = field(default_factory=list)


class BusyFleet:
    """A fleet of a seed, from the first submission until all trials are made."""

    def __init__(self, seed: int) -> None:
        from django.contrib.auth.models import User

        from datamill.service.models import UserShare

        self.seed = seed
        self._random = random = Random(f"{seed}:shares")
        self._users = {name: User.objects.create(username=name) for name in ("ada", "grace", "kurt", "emmy")}
        names = list(self._users)[: random.choice((2, 3, 3, 4))]
        self._own = {name: random.choice(SHARES) for name in names}
        for name, share in self._own.items():
            if share != 1.0:
                UserShare.objects.create(user=self._users[name], share=share)
        self._owners = {f"w{number}": random.choice(names) for number in range(random.choice((2, 3)))}
        self._serving = set(self._owners)
        for worker_id, owner in self._owners.items():
            self._join(worker_id, owner)
        self._asked = [item for name in names for item in self._draw_experiments(name)]
        self._promise = Promise(
            max(1.5 * item.trial_s * (BLOCK_TRIALS if item.reboot == "block" else 1) for item in self._asked)
        )
        self._happenings: list[tuple[float, int, str, object]] = []
        self._order = count()
        self._left: dict[int, dict[str, int]] = {}
        self._waiting_at_lease: dict[str, dict[str, float]] = {}
        self._since: dict[tuple[str, str], tuple[float, int]] = {}
        self._served = defaultdict(int)
        self._longest_wait = 0.0
        self.violations: list[str] = []

    # Drawing.

    def _join(self, worker_id: str, owner: str) -> None:
        from datamill.service.models import FleetWorker

        FleetWorker.objects.create(
            worker_id=worker_id, name=worker_id, owner=self._users[owner], state="away",
            public_key=f"key {worker_id}", api_key_sha256=worker_id, joined_unix_s=BEGINNING_S,
            heard_unix_s=BEGINNING_S, hardware_key=worker_id, hardware={}, policy=b"{}", inventory=b"{}",
        )  # fmt: skip
        FleetWorker.objects.filter(pk=worker_id).update(state="idle")

    def _draw_experiments(self, owner: str) -> list[Asked]:
        random, found = self._random, []
        number = random.choice((1, 1, 2, 3))
        for _ in range(number):
            trial_s = random.choice(TRIAL_S)
            few = random.random() < 0.25
            # A block is one turn, and must not be longer than the longest trials are.
            reboot = random.choice(("never", "block")) if trial_s == TRIAL_S[0] else "never"
            machines = sorted(random.sample(sorted(self._owners), 1 if few else len(self._owners)))
            found.append(
                Asked(
                    owner,
                    trial_s,
                    machines,
                    round(WORK_S / number / trial_s),
                    random.choice((1.0, 1.0, 0.2, 5.0)),
                    reboot,
                    random.choice((0.0, 0.0, 700.0)),
                )
            )
        return found

    # Living.

    def run(self) -> Outcome:
        """Live until every trial is made."""
        from datamill.service.coordinator.experiments.dispatch import lease_trials
        from datamill.service.coordinator.state.invariants import find_violations

        for asked in self._asked:
            self._after(asked.after_s, "submit", asked)
        for worker_id in sorted(self._owners):
            if self._random.random() < 0.3:
                self._after(self._random.uniform(200.0, 3000.0), "leave", worker_id)
        while self._happenings:
            at_s, _, kind, what = heapq.heappop(self._happenings)
            getattr(self, f"_{kind}")(what, at_s)
            if self._happenings and self._happenings[0][0] == at_s:
                continue
            lease_trials(BEGINNING_S + at_s)
            self._note_leases(at_s)
        if any(left for machines in self._left.values() for left in machines.values()):
            self.violations.append("nothing happens any more, and trials are left")
        self.violations += find_violations()
        return Outcome(
            self.seed,
            self._promise.list_errors(LEAST_TURNS),
            self._promise.list_turns_off(),
            self._promise.turns,
            self._longest_wait,
            self.violations,
        )

    def _after(self, at_s: float, kind: str, what: object) -> None:
        heapq.heappush(self._happenings, (at_s, next(self._order), kind, what))

    def _submit(self, asked: Asked, at_s: float) -> None:
        from datamill.service.coordinator.state.rows import insert_rows
        from datamill.service.models import FleetExperiment, Trial

        head = {
            "format": 1, "datamill": "0", "created_unix_ns": 0, "experiment_file": "experiment.toml",
            "packages": [
                {"name": "p", "file": "packages/p.tar.gz", "sha256": "0" * 64, "bytes": 1, "files": 1,
                 "has_setup": False}
            ],
        }  # fmt: skip
        stored = FleetExperiment.objects.create(
            owner=self._users[asked.owner], name="busy", state="running", reboot=asked.reboot,
            text='[experiment]\nname = "busy"\n[[package]]\nname = "p"\npath = "p"\n',
            head=json.dumps(head).encode(), design=b"{}", priority=asked.priority,
            submitted_unix_s=BEGINNING_S + at_s,
        )  # fmt: skip
        asked.number = stored.id
        self._left[asked.number] = dict.fromkeys(asked.machines, asked.trials)
        rows = []
        for number in range(asked.trials):
            for machine in asked.machines:
                name = f"p{number:05d}-{machine}"
                plan = {
                    "trial_id": name, "order": len(rows) + 1, "point": 1, "replicate": number + 1,
                    "package": "p", "levels": {}, "block": "", "seed": number,
                }  # fmt: skip
                reboot = asked.reboot == "block" and number % BLOCK_TRIALS == 0
                rows.append(
                    (stored.id, name, "design", machine, len(rows) + 1, "", "0" * 64, reboot, "planned", 0,
                     None, json.dumps(plan).encode())
                )  # fmt: skip
        columns = ("experiment_id", "trial_id", "purpose", "worker_id", "position", "block", "package_sha256",
                   "reboot", "state", "attempts", "needs_id", "plan")  # fmt: skip
        insert_rows(Trial, columns, rows)

    def _end(self, key: str, at_s: float) -> None:
        """An attempt ends: mostly its record counts, now and then it failed and is made again."""
        from datamill.service.coordinator.leasing.ledger import Ledger
        from datamill.service.states import AttemptState

        ledger = Ledger(BEGINNING_S + at_s)
        (attempt,) = ledger.load_attempts("a.key IN {list}", [key])
        ledger.load_workers([attempt.worker_id])
        user = attempt.trial.user
        if self._random.random() < 0.03 and attempt.number < 2:
            ledger.fail(attempt, AttemptState.FAULTY, "chance")
        else:
            ledger.count(attempt, "completed", b"{}", rebooted=False)
            self._left[attempt.trial.experiment_id][attempt.worker_id] -= 1
        held_s = BEGINNING_S + at_s - attempt.leased_s
        self._promise.add(attempt.worker_id, user, self._waiting_at_lease.pop(attempt.worker_id), held_s)
        ledger.write()
        if attempt.worker_id not in self._serving:
            self._set_state(attempt.worker_id, "away")

    def _leave(self, worker_id: str, at_s: float) -> None:
        self._serving.discard(worker_id)
        if worker_id not in self._waiting_at_lease:
            self._set_state(worker_id, "away")
        self._after(at_s + self._random.uniform(100.0, 1000.0), "come_back", worker_id)

    def _come_back(self, worker_id: str, _at_s: float) -> None:
        self._serving.add(worker_id)
        if worker_id not in self._waiting_at_lease:
            self._set_state(worker_id, "idle")

    def _set_state(self, worker_id: str, state: str) -> None:
        from datamill.service.models import FleetWorker

        FleetWorker.objects.filter(pk=worker_id).update(state=state)

    def _list_waiting(self, worker_id: str) -> dict[str, float]:
        """The shares of users who have trials left for a worker."""
        away = self._owners.keys() - self._serving - self._waiting_at_lease.keys()
        found = {}
        for asked in self._asked:
            if self._left.get(asked.number, {}).get(worker_id, 0) > 0:
                lent = sum(owner == asked.owner for name, owner in self._owners.items() if name not in away)
                found[asked.owner] = self._own[asked.owner] + math.log2(1 + lent)
        return found

    def _note_leases(self, at_s: float) -> None:
        from datamill.service.coordinator.state.rows import select_rows

        for key, worker_id, experiment_id in select_rows(
            "SELECT a.key, a.worker_id, t.experiment_id FROM datamill_attempt a JOIN datamill_trial t"
            " ON t.id = a.trial_id WHERE a.state IN ('leased', 'taken') ORDER BY a.id"
        ):
            if worker_id in self._waiting_at_lease:
                continue
            waiting = self._list_waiting(worker_id)
            self._waiting_at_lease[worker_id] = waiting
            asked = next(item for item in self._asked if item.number == experiment_id)
            self._note_waits(worker_id, asked.owner, waiting)
            self._after(at_s + asked.trial_s * self._random.uniform(0.5, 1.5), "end", key)

    def _note_waits(self, worker_id: str, served: str, waiting: dict[str, float]) -> None:
        """Note after how many turns of others each user got one, over what the shares make usual."""
        self._served[worker_id] += 1
        for user, share in waiting.items():
            since = self._since.setdefault((worker_id, user), (share, self._served[worker_id]))
            if user == served:
                turns = self._served[worker_id] - since[1]
                self._longest_wait = max(self._longest_wait, turns)
                self._since[worker_id, user] = (share, self._served[worker_id])
