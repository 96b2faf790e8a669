"""Simulated users and administrators: they let machines join, submit, cancel, release, drain and remove."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import msgspec
from django.contrib.auth.models import User
from simulation.coordinator.coordinator_process import CoordinatorProcess
from simulation.coordinator.database import Database
from simulation.judges.oracle import Oracle
from simulation.machines.machine import Machine, make_public_key
from simulation.machines.made_records import make_inventory
from simulation.machines.packages import SimulatedPackage, draw_package
from simulation.scenario import Scenario
from simulation.timeline import Timeline
from simulation.users.experiments import OWN_FACTOR, Brought, Submitted, draw_experiment

from datamill.experiment.errors import InputError
from datamill.protocol.fleet import EnrolmentRequest
from datamill.service.coordinator.experiments.experiments import cancel_experiment, release_experiment
from datamill.service.coordinator.experiments.submission import NewExperiment, create_experiment
from datamill.service.coordinator.joining.enrolment import (
    EnrolledWorker,
    enrol_worker,
    make_token,
    name_worker,
)
from datamill.service.coordinator.joining.hardware import describe_candidate
from datamill.service.coordinator.presence.health import lift_quarantine
from datamill.service.coordinator.presence.members import drain_worker, remove_worker, resume_worker
from datamill.service.models import FleetExperiment, FleetWorker, RegisteredFactor, StoredFile, UserShare
from datamill.service.states import ExperimentState, WorkerState

#: Users; the first is an administrator and owns the machines.
USERS = ("ada", "grace", "kurt")
#: Times that somebody lets an experiment go on that is held, before giving it up.
MOST_RELEASES = 2
#: Shares that users have; of some nobody said anything.
SHARES = (None, None, 0.5, 2.0, 3.0)
PRIORITIES = (1.0, 1.0, 1.0, 0.1, 4.0)
#: Share of experiments that grow until they know enough.
GROWING = 0.25


class People:
    """What people do through the API: each call is one of the coordinator's functions."""

    def __init__(
        self,
        scenario: Scenario,
        timeline: Timeline,
        process: CoordinatorProcess,
        database: Database,
        oracle: Oracle,
        packages: dict[str, SimulatedPackage],
        note: Callable[[str], None],
    ) -> None:
        self._scenario = scenario
        self._timeline = timeline
        self._process = process
        self._database = database
        self._oracle = oracle
        self._packages = packages
        self._random: Random = scenario.random("people")
        #: What decides which experiments grow, so that others are what they are without them.
        self._growing = scenario.random("growing")
        self._sharing = scenario.random("sharing")
        self._note = note
        self._poison_left = scenario.poison
        self._tokens: dict[str, str] = {}
        self._released: dict[int, int] = {}
        self.users = [User.objects.create(username=name, is_staff=name == USERS[0]) for name in USERS]
        for user in self.users:
            if (share := self._sharing.choice(SHARES)) is not None:
                UserShare.objects.create(user=user, share=share)
        # Policies forbid it by its name, which the coordinator has to know.
        RegisteredFactor.objects.create(
            sha256="0" * 64, name=OWN_FACTOR, scope="host", owner=self.users[0], registered_unix_s=0.0
        )
        self.owed = scenario.experiments

    # Machines.

    def enrol(self, machine: Machine, *, safe: bool) -> bool:
        """Let a machine join; return whether it did (the coordinator may go down in it)."""
        now_s = self._timeline.now_s

        def join() -> EnrolledWorker:
            # Whoever lost the answer asks again with the same token.
            if machine.name not in self._tokens:
                self._tokens[machine.name] = make_token(self.users[0], now_s, 1e6)
            request = self._make_request(machine, self._tokens[machine.name])
            self._oracle.joined(name_worker(request.public_key), request.inventory, request.policy)
            return enrol_worker(request, now_s)

        enrolled = self._process.call(join, safe=safe)
        if enrolled is None:
            return False
        machine.worker_id, machine.fleet_name = enrolled.worker_id, enrolled.name
        return True

    def enrol_badly(self, member: Machine) -> None:
        """Ask to join with what must not let anybody in: a bad token, or the key of a member."""
        now_s = self._timeline.now_s
        wrong = self._random.choice(("expired", "unknown", "used", "identity"))

        def join() -> None:
            token = make_token(self.users[0], now_s, 0.0 if wrong == "expired" else 3600.0)
            if wrong == "unknown":
                token = "guessed"
            if wrong == "used":
                token = next(iter(self._tokens.values()), "guessed")
            request = self._make_request(member, token)
            if wrong != "identity":
                stranger = make_public_key(f"stranger {self._random.random()}")
                request = msgspec.structs.replace(request, public_key=stranger)
            try:
                enrol_worker(request, now_s)
            except InputError:
                return
            self._oracle.object(f"a machine joined with a bad token or identity: {wrong}")

        self._process.call(join, safe=True)

    def _make_request(self, machine: Machine, token: str) -> EnrolmentRequest:
        host = machine.describe_host()
        return EnrolmentRequest(
            token=token,
            name=machine.name,
            public_key=machine.public_key,
            inventory=make_inventory(machine.name, host, machine.clock_unix_ns()),
            policy=machine.policy,
        )

    def change_member(self, change: str) -> str:
        """Drain, resume or remove some worker; return its identity when that was done."""
        wanted = {"resume": (WorkerState.DRAINED,), "drain": (WorkerState.IDLE, WorkerState.BUSY)}
        rows = FleetWorker.objects.exclude(state=WorkerState.REMOVED).order_by("worker_id")
        if change in wanted:
            rows = rows.filter(state__in=wanted[change])
        workers = list(rows)
        if not workers:
            return ""
        at_work = [worker for worker in workers if worker.state == WorkerState.BUSY]
        worker = self._random.choice(at_work if at_work and self._random.random() < 0.7 else workers)
        function = {"drain": drain_worker, "resume": resume_worker, "remove": remove_worker}[change]

        self._oracle.causes.asked(change, worker.worker_id)

        def call() -> bool:
            try:
                function(worker.name, self.users[0], self._timeline.now_s)
            except InputError as refusal:
                self._note(f"{change} of {worker.name} refused: {refusal}")
                return False
            return True

        done = self._process.call(call)
        self._note(f"{change} {worker.name}: {done}")
        # It may have gone down with the answer: the table says what became of it.
        state = self._database.read(
            "SELECT state FROM datamill_worker WHERE worker_id = ?", (worker.worker_id,)
        )[0][0]
        return worker.worker_id if done or (change == "remove" and state == "removed") else ""

    # Experiments.

    def submit(self, *, safe: bool = False) -> bool:
        """Submit the next experiment; return whether it was stored."""
        workers = list(
            FleetWorker.objects.filter(state__in=(WorkerState.IDLE, WorkerState.BUSY)).order_by("worker_id")
        )
        if not workers:
            return False
        random = self._random
        random.shuffle(workers)
        large = len(workers) > 100
        count = len(workers) // 2 if large else min(len(workers), random.randrange(1, 5))
        candidates = [describe_candidate(worker, 0.0) for worker in workers]
        spares = candidates[count : count + random.choice((0, 0, 1, 2))]
        brought = self._draw_files()
        now_s = self._timeline.now_s
        owner = random.choice(self.users)
        submitted = draw_experiment(
            random,
            owner.username,
            brought,
            candidates[:count],
            spares,
            self._scenario.most_trials,
            grows=self._growing.random() < GROWING,
            priority=self._sharing.choice(PRIORITIES),
        )
        for _, item in brought.files:
            self._packages.setdefault(item.sha256, item)

        def store() -> int:
            for kind, item in brought.files:
                StoredFile.objects.get_or_create(
                    sha256=item.sha256,
                    defaults={
                        "size_bytes": item.bytes, "kind": kind, "stored_unix_s": now_s, "owner": owner,
                    },
                )  # fmt: skip
            return create_experiment(
                NewExperiment(
                    owner,
                    submitted.text,
                    submitted.experiment,
                    submitted.head,
                    submitted.plan,
                    submitted.hold,
                ),
                now_s,
            )

        known = self._find_newest()
        try:
            self._process.call(store, safe=safe)
        except InputError as refusal:
            self._note(f"submission refused: {refusal}")
        # It may have been stored although nobody heard of it.
        newest = self._find_newest()
        if newest == known:
            return False
        self._poison_left = False
        self.owed -= 1
        self._remember(newest, submitted)
        return True

    def list_files(self) -> list[str]:
        """Return the SHA-256 of all files that experiments ever brought."""
        return sorted(self._packages)

    def _draw_files(self) -> Brought:
        """Draw packages, and perhaps a load, which may be another experiment's package, and a factor."""
        random = self._random
        packages = [
            draw_package(random, name, poison=self._poison_left and number == 0)
            for number, name in enumerate(("one", "two")[: random.randrange(1, 3)])
        ]
        load = factor = None
        if random.random() < 0.3:
            known = sorted(self._packages)
            load = draw_package(random, "hog", poison=False)
            if known and random.random() < 0.5:
                load = replace(self._packages[random.choice(known)], name="hog")
        if random.random() < 0.2:
            factor = draw_package(random, "own", poison=False)
        return Brought(packages, load, factor)

    def _find_newest(self) -> int:
        return int(self._database.read("SELECT COALESCE(MAX(id), 0) FROM datamill_experiment")[0][0])

    def _remember(self, experiment_id: int, submitted: Submitted) -> None:
        self._oracle.experiment_planned(experiment_id, submitted)
        trials, fleet = len(submitted.plan.design.trials), submitted.experiment.fleet
        self._note(f"experiment {experiment_id}: {trials} trials, {fleet}")

    def cancel(self) -> None:
        self._decide(
            cancel_experiment, ExperimentState.RUNNING, ExperimentState.DEBUGGING, ExperimentState.HELD
        )

    def release(self) -> None:
        self._decide(release_experiment, ExperimentState.HELD, ExperimentState.DEBUGGING)

    def _decide(self, function: Callable[..., object], *states: ExperimentState) -> None:
        rows = FleetExperiment.objects.filter(state__in=states).order_by("id")
        experiments = list(rows.values_list("id", flat=True))
        if experiments:
            self._ask(function, self._random.choice(experiments))

    def _ask(self, function: Callable[..., object], experiment_id: int) -> None:
        self._oracle.causes.asked("cancel" if function is cancel_experiment else "release", experiment_id)

        def call() -> None:
            try:
                function(experiment_id, self.users[0], self._timeline.now_s)
            except InputError as refusal:
                self._note(f"{function.__name__} of {experiment_id} refused: {refusal}")

        self._process.call(call)
        self._note(f"{function.__name__} {experiment_id}")

    def look_after_held(self) -> None:
        """Let what is held go on, and give it up when that does not help."""
        held = FleetExperiment.objects.filter(state=ExperimentState.HELD).order_by("id")
        for experiment_id in list(held.values_list("id", flat=True)):
            releases = self._released.get(experiment_id, 0)
            self._released[experiment_id] = releases + 1
            self._ask(release_experiment if releases < MOST_RELEASES else cancel_experiment, experiment_id)

    def lift_quarantines(self) -> None:
        """Let packages be leased again that some think harmless."""
        for (sha256,) in self._database.read(
            "SELECT sha256 FROM datamill_quarantine WHERE lifted_unix_s IS NULL ORDER BY id"
        ):
            if self._random.random() < 0.3:
                self._process.call(
                    lambda sha256=sha256: lift_quarantine(sha256, self.users[0], self._timeline.now_s)  # type: ignore[misc]
                )

    def resume_all(self) -> None:
        """Let drained workers work again, so that nothing waits for them."""
        for worker in list(FleetWorker.objects.filter(state=WorkerState.DRAINED).order_by("worker_id")):
            if self._random.random() < 0.3:
                self._oracle.causes.asked("resume", worker.worker_id)
                self._process.call(
                    lambda name=worker.name: resume_worker(name, self.users[0], self._timeline.now_s)  # type: ignore[misc]
                )
