"""Whatever happens in whatever order: nothing is lost or counted twice, and every experiment ends."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from integration.service.databases import empty_database
from integration.service.fleets import (
    START_S,
    bring,
    digest,
    fail_record,
    hello,
    join,
    list_leases,
    make_record,
    make_user,
    report,
    submit,
    tell_record,
)
from running.nightly import choose_count

from datamill.experiment.errors import InputError
from datamill.protocol.fleet import ArtifactFile, GaveUp, Lease, Refused, Taken
from datamill.service.coordinator.experiments.experiments import cancel_experiment, release_experiment
from datamill.service.coordinator.messages.ingest import ReceivedReport, ingest_reports
from datamill.service.coordinator.messages.orders import mark_all_orders_unsent
from datamill.service.coordinator.presence.health import lift_quarantine
from datamill.service.coordinator.presence.members import (
    GIVE_UP_AFTER_S,
    drain_worker,
    remove_worker,
    resume_worker,
)
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.step import step
from datamill.service.models import Attempt, Event, FleetExperiment, FleetWorker, Quarantine, Trial

BUILD = ArtifactFile("build.tar.gz", digest("a build"), 9)


@dataclass
class Play:
    """A fleet that does what chance says."""

    chance: Random
    now_s: float = START_S
    leases: dict[str, Lease] = field(default_factory=dict)
    sent: list[ReceivedReport] = field(default_factory=list)

    def play(self, name: str) -> None:
        with suppress(InputError):
            MOVES[name](self)
        assert find_violations() == [], name

    def pick_worker(self) -> FleetWorker:
        return self.chance.choice(list(FleetWorker.objects.order_by("joined_unix_s", "name")))

    def pick_experiment(self) -> int:
        return self.chance.choice(
            list(FleetExperiment.objects.order_by("id").values_list("id", flat=True)) or [0]
        )

    def join(self) -> None:
        joined = join(cpu_model=self.chance.choice("AAB"), cores=self.chance.choice([2, 2, 64]))
        bring(joined.worker_id, BUILD.sha256, BUILD.bytes)

    def submit(self) -> None:
        workers = list(
            FleetWorker.objects.exclude(state="removed").order_by("name").values_list("pk", flat=True)
        )
        submit(
            self.chance.sample(workers, min(len(workers), 2)),
            self.now_s,
            trials=self.chance.randint(1, 8),
            hold=self.chance.random() < 0.2,
            debug=self.chance.choice(["first", "never", "only"]),
            build_on=self.chance.choice(["worker", "strongest"]),
            most_attempts=self.chance.randint(1, 4),
        )

    def step(self) -> None:
        step(self.now_s)
        self.leases |= list_leases(self.now_s)

    def wait(self) -> None:
        self.now_s += self.chance.choice([1.0, 100.0, 3000.0, 90_000.0])

    def tell(self, worker_id: str, lease: Lease, kind: str) -> None:
        clock_s = self.now_s + self.chance.choice([0.0, -50.0, 1e5])
        record = make_record(lease)
        if lease.task == "build":
            record = make_record(lease, run=None, collect=None)
        content = {
            "taken": Taken(lease.attempt),
            "record": tell_record(lease, record, (BUILD,) if lease.task == "build" else ()),
            "own failure": tell_record(lease, fail_record(lease)),
            "host failure": tell_record(lease, fail_record(lease, "internal")),
            "other seed": tell_record(lease, make_record(lease, seed=1)),
            "refused": Refused(lease.attempt, self.chance.choice(["policy", "disk"]), "no"),
            "gave up": GaveUp(lease.attempt, "power"),
            "hello": hello(*self.chance.choice([(), (lease.attempt,)])),
        }[kind]
        message = report(worker_id, content, clock_s=clock_s)
        self.sent.append(message)
        ingest_reports([message] * self.chance.choice([1, 1, 2]), self.now_s)

    def answer(self) -> None:
        if self.leases:
            worker_id = self.chance.choice(sorted(self.leases))
            kinds = ["taken", "record", "record", "own failure", "host failure", "other seed", "refused"]
            self.tell(worker_id, self.leases[worker_id], self.chance.choice([*kinds, "gave up", "hello"]))

    def repeat(self) -> None:
        if self.sent:
            ingest_reports(self.chance.choices(self.sent, k=3), self.now_s)

    def forget_orders(self) -> None:
        mark_all_orders_unsent()

    def drain(self) -> None:
        drain_worker(self.pick_worker().name, make_user(), self.now_s)

    def resume(self) -> None:
        resume_worker(self.pick_worker().name, make_user(), self.now_s)

    def remove(self) -> None:
        remove_worker(self.pick_worker().name, make_user(), self.now_s)

    def release(self) -> None:
        release_experiment(self.pick_experiment(), make_user(), self.now_s)

    def cancel(self) -> None:
        cancel_experiment(self.pick_experiment(), make_user(), self.now_s)

    def finish(self) -> None:
        """Let people do their part, workers answer or be away, and time pass: everything ends."""
        for _ in range(200):
            if not FleetExperiment.objects.filter(state__in=("debugging", "held", "running")).exists():
                return
            for quarantine in Quarantine.objects.filter(lifted_unix_s__isnull=True):
                lift_quarantine(quarantine.sha256, make_user("root", staff=True), self.now_s)
            for experiment in FleetExperiment.objects.filter(state="held"):
                release_experiment(experiment.pk, make_user(), self.now_s)
            self.leases.clear()
            mark_all_orders_unsent()
            self.step()
            for worker_id, lease in self.leases.items():
                if self.chance.random() < 0.8:
                    self.tell(worker_id, lease, "record")
            self.now_s += GIVE_UP_AFTER_S / 4
            assert find_violations() == []
        raise AssertionError("an experiment does not end")


MOVES: dict[str, Callable[[Play], None]] = {
    name: getattr(Play, name)
    for name in ("step", "answer", "wait", "repeat", "join", "submit", "forget_orders", "drain", "resume",
                 "remove", "release", "cancel")
}  # fmt: skip
#: What happens often in a fleet happens often here.
WEIGHTED = ["step"] * 4 + ["answer"] * 8 + ["wait", "repeat", "release", "resume"] * 2 + list(MOVES)


@settings(
    max_examples=choose_count(40, 1000),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(moves=st.lists(st.sampled_from(WEIGHTED), max_size=60), seed=st.integers(0, 1 << 32))
def test_any_sequence_of_events_keeps_the_invariants_and_ends(
    memory_database: str, moves: list[str], seed: int
) -> None:
    assert memory_database == "sqlite"
    empty_database()
    play = Play(Random(seed))
    for _ in range(3):
        play.join()
    play.submit()
    for name in moves:
        play.play(name)
    play.finish()
    assert find_violations() == []
    ended = Trial.objects.values_list("state", flat=True)
    assert set(ended) <= {"counted", "given_up", "cancelled"}
    counted = Attempt.objects.filter(state="counted").count()
    assert counted == Trial.objects.filter(state="counted").count()
    # An attempt whose lost record arrived after all tells of both.
    of_design = Attempt.objects.filter(state="counted", trial__purpose="design").count()
    assert Event.objects.filter(kind="attempt counted").count() == of_design
    assert Event.objects.filter(kind="attempt done").count() == counted - of_design
    assert Event.objects.filter(kind="attempt leased").count() == Attempt.objects.count()
