"""One seed's world, from its first moment until nothing can happen any more."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable

from datamill.service.coordinator.state.invariants import find_violations
from simulation.coordinator.coordinator_process import CoordinatorProcess
from simulation.coordinator.database import Database, seeded_entropy
from simulation.faults import Faults
from simulation.judges.ability_judge import LOOK_EVERY_S, AbilityJudge
from simulation.judges.oracle import Oracle
from simulation.machines.machine import Machine, MachineKind, Surroundings
from simulation.machines.packages import SimulatedPackage
from simulation.results import SeedResult
from simulation.scenario import Scenario, draw_scenario
from simulation.timeline import BEGINNING_S, Timeline
from simulation.users.people import People
from simulation.wire.broker import Broker
from simulation.wire.network import Chances, Network

KINDS = (
    MachineKind("x86_64", "Simulated Xeon", 8),
    MachineKind("x86_64", "Simulated Xeon", 8),
    MachineKind("x86_64", "Simulated Atom", 2),
    MachineKind("aarch64", "Simulated Cortex-A57", 4),
)
#: Steps for each machine, and virtual time, after which what has not ended never will.
MOST_STEPS = 20_000
MOST_S = 40 * 86_400.0
#: Steps between two looks of the coordinator's own `find_violations`.
INVARIANTS_EVERY = 40
#: Machines from which on the tables are looked at after some steps only.
LARGE = 100
LARGE_EVERY = 500
#: How much less often able machines are looked for among them.
LARGE_LESS = 16
LATEST = 40


class World:
    """Everything simulated, around the real coordinator."""

    def __init__(self, scenario: Scenario, database: Database, trace: Callable[[str], None] | None) -> None:
        self._scenario = scenario
        self._database = database
        self._trace = trace
        self._digest = hashlib.sha256()
        self._latest: deque[str] = deque(maxlen=LATEST)
        self.steps = 0
        self.timeline = timeline = Timeline()
        self.oracle = Oracle(database.read, lambda: timeline.now_s, database.count_changes)
        self.broker = Broker()
        self.chances = Chances(scenario, timeline)
        self.network = Network(timeline, self.broker, self.chances, scenario.random("network"))
        self.process = CoordinatorProcess(
            timeline,
            self.broker,
            self.network,
            self.chances,
            database,
            self.oracle,
            scenario.random("coordinator"),
            scenario.random("looks"),
            scenario.batch_delay_s,
            self.note,
        )
        packages: dict[str, SimulatedPackage] = {}
        self.people = People(scenario, timeline, self.process, database, self.oracle, packages, self.note)
        self._around = Surroundings(
            scenario, timeline, self.broker, self.network, self.chances, self.oracle, packages
        )
        self.machines: list[Machine] = []
        self.faults = Faults(
            timeline,
            self.broker,
            self.network,
            self.chances,
            self.process,
            self.people,
            self.machines,
            self._add_machine,
            self.oracle,
            scenario.random("faults"),
        )
        self.network.coordinator_up = lambda: self.process.up
        self.network.give_status = self.process.hear_report
        self.broker.give_report = self.process.hear_report
        self.network.store_file = self._store_file
        self._random = scenario.random("world")
        self._ability = AbilityJudge(self.oracle.object)

    def run(self) -> None:
        """Live until everything has ended, something is wrong, or it is plain that it never ends."""
        scenario, timeline = self._scenario, self.timeline
        self.process.start()
        for number in range(scenario.workers):
            self._enrol(self._make_machine(), safe=number == 0)
        for number in range(scenario.failing_workers):
            self.machines[number % len(self.machines)].host_trouble = self._random.uniform(0.3, 1.0)
            self.chances.struck["failing_worker"] += 1
        for _ in range(scenario.experiments):
            timeline.after(self._random.uniform(0.0, scenario.faults_end_s / 4), "submission", self._submit)
        for at_s, kind in scenario.timed:
            timeline.after(at_s, f"fault {kind}", lambda kind=kind: self.faults.strike(kind))  # type: ignore[misc]
        timeline.after(scenario.faults_end_s, "faults end", self._end_faults)
        timeline.after(LOOK_EVERY_S, "ability", self._look_at_ability)
        while not self.oracle.violations and not self._is_over():
            happening = timeline.next_happening()
            if happening is None or happening.action is None:
                self.oracle.object("nothing will happen any more, and not everything has ended")
                break
            self.steps += 1
            self.note(happening.label)
            happening.action()
            self._look()
            if self.steps >= MOST_STEPS * len(self.machines) or timeline.now_s - BEGINNING_S > MOST_S:
                self._explain_endless()
                break
        if not self.oracle.violations:
            self._check_end()

    def note(self, text: str) -> None:
        """Put a line into the trace."""
        line = f"{self.timeline.now_s - BEGINNING_S:.6f} {text}"
        self._digest.update(line.encode() + b"\n")
        self._latest.append(f"step {self.steps} {line}")
        if self._trace is not None:
            self._trace(f"{self.steps} {line}")

    def make_result(self) -> SeedResult:
        count = self._database.read
        for table in ("attempt", "event"):
            for row in count(f"SELECT * FROM datamill_{table} ORDER BY id"):
                self._digest.update(repr(row).encode())
        return SeedResult(
            seed=self._scenario.seed,
            digest=self._digest.hexdigest()[:32],
            steps=self.steps,
            workers=len(self.machines),
            experiments=count("SELECT COUNT(*) FROM datamill_experiment")[0][0],
            trials=count("SELECT COUNT(*) FROM datamill_trial")[0][0],
            counted=count("SELECT COUNT(*) FROM datamill_trial WHERE state = 'counted'")[0][0],
            attempts=count("SELECT COUNT(*) FROM datamill_attempt")[0][0],
            executions=self.oracle.executions,
            events=count("SELECT COUNT(*) FROM datamill_event")[0][0],
            virtual_s=self.timeline.now_s - BEGINNING_S,
            faults=Counter({str(kind): number for kind, number in self.chances.struck.items()}),
            violations=list(self.oracle.violations),
            latest=[*self._latest, *(f"event {told}" for told in self.oracle.list_latest_events(15))]
            if self.oracle.violations
            else [],
        )

    # Machines.

    def _make_machine(self) -> Machine:
        number = len(self.machines)
        machine = Machine(f"m{number:04d}", KINDS[number % len(KINDS)], self._around)
        self.machines.append(machine)
        return machine

    def _add_machine(self) -> Machine:
        machine = self._make_machine()
        self.timeline.after(
            self._random.uniform(1.0, 600.0), "joins", lambda: self._enrol(machine, safe=False)
        )
        return machine

    def _enrol(self, machine: Machine, *, safe: bool) -> None:
        """Let a machine join and switch it on; again later when the coordinator did not answer."""
        if machine.worker_id or machine.gone:
            return
        if self.people.enrol(machine, safe=safe):
            machine.boot(self._random.uniform(0.0, 30.0))
        else:
            self.timeline.after(30.0, "joins", lambda: self._enrol(machine, safe=safe))

    def _store_file(self, worker_id: str, sha256: str, size_bytes: int) -> None:
        self._database.read(
            "INSERT OR IGNORE INTO datamill_storedfile (sha256, size_bytes, kind, name, stored_unix_s)"
            " VALUES (?, ?, 'artifact', '', ?)",
            (sha256, size_bytes, self.timeline.now_s),
        )
        self._database.read(
            "INSERT OR IGNORE INTO datamill_fileholder (file_id, holder) VALUES (?, ?)", (sha256, worker_id)
        )

    # People.

    def _submit(self) -> None:
        if not self.people.submit():
            if self.timeline.now_s - BEGINNING_S > 30 * 86_400:
                self.people.owed -= 1
                return
            self.timeline.after(120.0, "submission", self._submit)

    def _end_faults(self) -> None:
        self.faults.end()
        if not any(not machine.gone for machine in self.machines):
            self._add_machine()
        self._look_after()

    def _look_after(self) -> None:
        self.people.look_after_held()
        self.people.lift_quarantines()
        self.people.resume_all()
        self.timeline.after(1800.0, "people look after what is held", self._look_after)

    # Judging.

    def _look(self) -> None:
        every = LARGE_EVERY if len(self.machines) > LARGE else 1
        if self.process.acted and self.steps % every == 0:
            self.process.acted = False
            self.oracle.check_tables(each_step=every == 1)
            self.oracle.check_events()
            self.oracle.cloned = self._list_cloned()
            self.oracle.check_sessions()
        if self.steps % (INVARIANTS_EVERY * every) == 0:
            self._ask_coordinator()

    def _look_at_ability(self) -> None:
        """Hold who serves in truth against who does for the coordinator."""
        service = (self.process.starts, self.broker.starts) if self.process.up and self.broker.up else None
        serving = [
            (machine.name, machine.worker_id, (service, connection))
            for machine in self._list_honest()
            if service is not None and (connection := machine.find_service()) is not None
        ]
        states = dict(self._database.read("SELECT worker_id, state FROM datamill_worker"))
        self._ability.look(serving, states)
        every_s = LOOK_EVERY_S * (LARGE_LESS if len(self.machines) > LARGE else 1)
        self.timeline.after(every_s, "ability", self._look_at_ability)

    def _ask_coordinator(self) -> None:
        for sentence in find_violations():
            self.oracle.object(f"find_violations: {sentence}")

    def _is_over(self) -> bool:
        if self.timeline.now_s < self.chances.faults_end_s or self.people.owed > 0 or self.process.acted:
            return False
        if self.steps % 20:
            return False
        unended = self._database.read(
            "SELECT 1 FROM datamill_experiment WHERE ended_unix_s IS NULL UNION ALL"
            " SELECT 1 FROM datamill_worker"
            " WHERE orders_sent_sequence < orders_sequence AND state <> 'removed' LIMIT 1"
        )
        if unended or self.process.waiting or not self.process.up or not self.broker.up:
            return False
        return all(
            machine.powered and not machine.disk.list_names("spool/") and machine.disk.read("journal") is None
            for machine in self._list_honest()
        )

    def _list_honest(self) -> list[Machine]:
        """Machines that will come to rest: members that are not gone and share their identity with none."""
        return [
            machine
            for machine in self.machines
            if machine.worker_id
            and not machine.gone
            and machine.name not in self.faults.cloned | self.faults.hostile
            and machine.worker_id not in self.network.revoked
        ]

    def _list_cloned(self) -> set[str]:
        """Workers that several machines believe to be."""
        return {machine.worker_id for machine in self.machines if machine.name in self.faults.cloned}

    def _explain_endless(self) -> None:
        self.oracle.check_tables(each_step=False)
        rows = self._database.read(
            "SELECT t.experiment_id, e.state, t.trial_id, t.state, w.name, w.state FROM datamill_trial t"
            " JOIN datamill_experiment e ON e.id = t.experiment_id"
            " JOIN datamill_worker w ON w.worker_id = t.worker_id"
            " WHERE e.ended_unix_s IS NULL AND t.state NOT IN ('counted', 'given_up', 'cancelled') LIMIT 5"
        )
        for machine in self._list_honest():
            left = machine.disk.list_names("spool/")
            if left or machine.disk.read("journal") is not None:
                rows.append((machine.name, machine.worker_id, "still has", left, machine.powered))
        self.oracle.object(f"no end after {self.steps} steps: {rows[:8]}, waiting {self.process.waiting}")

    def _check_end(self) -> None:
        self._ask_coordinator()
        honest = self._list_honest()
        self.oracle.cloned = self._list_cloned()
        self.oracle.check_end(
            {machine.name: machine.worker_id for machine in honest},
            {
                machine.name: [name.removeprefix("spool/") for name in machine.disk.list_names("spool/")]
                for machine in honest
            },
            self.broker.jobs,
        )


def run_seed(seed: int, database: Database, trace: Callable[[str], None] | None = None) -> SeedResult:
    """Run one seed; the same seed gives the same digest on any machine."""
    scenario = draw_scenario(seed)
    database.begin()
    with seeded_entropy(scenario.random("entropy")):
        world = World(scenario, database, trace)
        try:
            world.run()
        except Exception as error:
            import traceback

            world.oracle.object(f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-6)}")
        return world.make_result()
