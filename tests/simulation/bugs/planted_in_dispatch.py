"""Bugs of what is leased to whom, to plant one at a time: the oracle must find each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from simulation.bugs.planting import plant

from datamill.protocol.fleet import Lease


def change_leases(change: Callable[[Lease], Lease]) -> None:
    """Let every lease go out changed."""
    from datamill.service.coordinator.messages import orders

    build = orders.build_lease

    def build_changed(question: Any, leased: Any) -> Lease:
        return change(build(question, leased))

    orders.build_lease = build_changed


def change_specs(**changes: Callable[[Any], Any]) -> None:
    """Let fields of the specification in every lease go out changed."""

    def change(lease: Lease) -> Lease:
        told = {name: function(getattr(lease.spec, name)) for name, function in changes.items()}
        return msgspec.structs.replace(lease, spec=msgspec.structs.replace(lease.spec, **told))

    change_leases(change)


@plant
def reboots_are_dropped() -> None:
    """No lease asks for a reboot."""
    change_leases(lambda lease: msgspec.structs.replace(lease, reboot=False))


@plant
def files_are_missing() -> None:
    """A lease names none but its first file."""
    change_leases(lambda lease: msgspec.structs.replace(lease, files=lease.files[:1]))


@plant
def seeds_are_anothers() -> None:
    """A lease has the seed of another trial."""
    change_specs(seed=lambda seed: seed ^ 1)


@plant
def levels_are_swapped() -> None:
    """A lease has another level of a factor."""
    other = {"-O0": "-O2", "-O2": "-O0"}
    change_specs(levels=lambda levels: {name: other.get(level, level) for name, level in levels.items()})


@plant
def limits_are_forgotten() -> None:
    """A lease has other limits than its experiment."""
    change_specs(limits=lambda limits: msgspec.structs.replace(limits, setup_timeout_s=1800.0))


@plant
def builds_are_not_shipped() -> None:
    """Who is to measure a build made elsewhere builds itself."""
    change_leases(lambda lease: msgspec.structs.replace(lease, prebuilt=None))


@plant
def builds_are_mixed_up() -> None:
    """A trial gets whichever build came in last."""
    from datamill.service.coordinator.messages import orders

    orders._BUILDS = orders._BUILDS.replace(
        "SELECT a.trial_id, f.sha256",
        "SELECT a.trial_id, (SELECT o.file_id FROM datamill_artifact o WHERE o.name = '{name}'"
        " ORDER BY o.id DESC LIMIT 1)",
    )


@plant
def silent_workers_stay_silent() -> None:
    """Who missed a deadline never counts as heard again."""
    from datamill.service.coordinator.leasing import ledger

    hear = ledger.Ledger.hear

    def hear_others(self: ledger.Ledger, worker: ledger.WorkerEntry) -> None:
        if worker.state != "silent":
            hear(self, worker)

    ledger.Ledger.hear = hear_others  # type: ignore[method-assign]


@plant
def hellos_are_ignored_after_silence() -> None:
    """The hello of a worker that missed a deadline is taken for an old one."""
    from datamill.service.coordinator.messages import ingest

    take = ingest._Batch._take_report

    def take_some(self: Any, worker: Any, form: Any) -> None:
        if not (worker.state == "silent" and isinstance(form.content, ingest.HelloForm)):
            take(self, worker, form)

    ingest._Batch._take_report = take_some  # type: ignore[method-assign]


@plant
def hellos_of_those_away_are_ignored() -> None:
    """Who left stays away when it comes back."""
    from datamill.service.coordinator.leasing import ledger

    greet = ledger.Ledger.greet

    def greet_some(self: ledger.Ledger, worker: ledger.WorkerEntry, session: Any) -> None:
        if worker.state != "away" or not worker.sessions:
            greet(self, worker, session)

    ledger.Ledger.greet = greet_some  # type: ignore[method-assign]


@plant
def trials_move_to_other_hardware() -> None:
    """Any machine stands in for any other."""
    from datamill.service.coordinator.joining import enrolment, hardware
    from datamill.service.coordinator.presence import machines

    for module in (machines, enrolment, hardware):
        module.digest_hardware = lambda _hardware: ""  # type: ignore[attr-defined]


@plant
def owners_are_not_asked() -> None:
    """Trials move to machines whose owners forbid them."""
    from datamill.protocol.fleet import Policy
    from datamill.service.coordinator.leasing import moves

    moves.read_policy = lambda _worker: Policy(reboot=True)


@plant
def spares_are_not_used() -> None:
    """Who stands by is passed over."""
    from datamill.service.coordinator.leasing import moves

    find = moves.list_equivalent_workers

    def find_others(experiment_id: int, worker_id: str, sha256: str) -> list[str]:
        spares = set(moves.Spare.objects.filter(experiment=experiment_id).values_list("worker_id", flat=True))
        return [worker for worker in find(experiment_id, worker_id, sha256) if worker not in spares]

    moves.list_equivalent_workers = find_others


@plant
def spares_are_nothing_special() -> None:
    """Others are asked as well where somebody stands by."""
    from datamill.service.coordinator.leasing import moves

    class Nobody:
        class objects:  # noqa: N801
            @staticmethod
            def filter(**_wanted: Any) -> Any:
                return moves.FleetWorker.objects.none()

    moves.Spare = Nobody  # type: ignore[misc, assignment]


@plant
def trials_never_move() -> None:
    """The worker that has a trial keeps it."""
    from datamill.service.coordinator.leasing import moves

    moves.list_equivalent_workers = lambda _experiment, _worker, _sha256: []


@plant
def trials_of_the_absent_stay() -> None:
    """Nobody looks after the trials of workers that are gone for long."""
    from datamill.service.coordinator.presence import members

    members._STRANDED = members._STRANDED.replace("'away', 'silent', ", "")


@plant
def shares_are_forgotten() -> None:
    """Everybody has the same share, whatever administrators say and owners lend."""
    from datamill.service.coordinator.sharing import waiting

    waiting.weigh_user = lambda _own, _lent: 1.0


@plant
def trials_go_backwards() -> None:
    """A worker's trials are leased in reverse."""
    from datamill.service.coordinator.sharing import waiting

    waiting._WAITING = waiting._WAITING.replace("ORDER BY f.position LIMIT", "ORDER BY f.position DESC LIMIT")


@plant
def quarantine_is_forgotten_at_the_lease() -> None:
    """Only who submits and who releases asks about quarantines, and not of what is under way."""
    from datamill.service.coordinator.experiments import dispatch, experiments

    dispatch.list_quarantined = dict
    experiments.find_quarantine_of_rest = lambda _experiment: ""


@plant
def one_worker_is_forgotten() -> None:
    """The first of all workers never gets a trial."""
    from datamill.service.coordinator.sharing import waiting

    waiting._IDLE = waiting._IDLE.replace(
        "w.state = 'idle'",
        "w.state = 'idle' AND w.worker_id <> (SELECT MIN(o.worker_id) FROM datamill_worker o)",
    )


@plant
def rests_never_end() -> None:
    """Who had no room once gets nothing any more."""
    from datamill.service.coordinator.leasing import ledger

    ledger.LEAST_REST_S = ledger.MOST_REST_S = 1e9


@plant
def accounts_drift() -> None:
    """An attempt that a worker gave up counts twice against it."""
    from datamill.service.coordinator.leasing import ledger

    fail = ledger.Ledger.fail

    def fail_twice(self: ledger.Ledger, attempt: Any, state: Any, reason: str, **more: Any) -> None:
        fail(self, attempt, state, reason, **more)
        self.workers[attempt.worker_id].failed += state == "lost"

    ledger.Ledger.fail = fail_twice  # type: ignore[method-assign]


@plant
def subjects_are_not_compared() -> None:
    """A report is believed whatever subject it came on."""
    from datamill.service.coordinator.messages import ingest

    decode = ingest.decode_report
    take = ingest._Batch.ingest

    def ingest_claimed(self: Any, reports: Any) -> Any:
        claimed = []
        for report in reports:
            form, _ = decode(report.payload)
            worker_id = form.worker_id if form is not None else report.worker_id_of_subject
            claimed.append(ingest.ReceivedReport(worker_id, report.payload))
        return take(self, claimed)

    ingest._Batch.ingest = ingest_claimed  # type: ignore[method-assign]


@plant
def deadlines_are_too_short() -> None:
    """An attempt is overdue before its scripts may end."""
    from datamill.service.coordinator.experiments import dispatch

    dispatch.estimate_lease_s = lambda _question, _leased: 60.0


@plant
def leases_are_of_another_user() -> None:
    """A lease names another user than the experiment's owner."""
    change_leases(lambda lease: msgspec.structs.replace(lease, user="kurt"))


@plant
def batches_do_not_wait() -> None:
    """Trials of all batches may go with those of the first."""
    from datamill.service.coordinator.experiments import experiments

    experiments._RELEASE = experiments._RELEASE.replace("e.open_position IS NULL OR", "1 = 1 OR")


@plant
def looks_come_early() -> None:
    """A batch counts as ended while trials of it are under way."""
    from datamill.service.coordinator.experiments import due_looks

    due_looks._DUE = due_looks._DUE.replace("IN ('planned', 'leased')", "IN ('planned')")


@plant
def stopping_is_forgotten() -> None:
    """A look that stops an experiment lets the next batch go all the same."""
    from datamill.service.coordinator.experiments import experiments

    def release(stored: Any) -> bool:
        experiments.execute(
            "UPDATE datamill_trial SET state = 'planned' WHERE experiment_id = %s AND state = 'waiting'",
            [stored.id],
        )
        return False

    decide = experiments.enter_decision

    def enter_and_release(experiment_id: int, decision: Any, now_s: float) -> bool:
        cancel, experiments._cancel_trials = experiments._cancel_trials, release
        try:
            return decide(experiment_id, decision, now_s)
        finally:
            experiments._cancel_trials = cancel

    from simulation.coordinator import coordinator_process

    coordinator_process.enter_decision = enter_and_release


@plant
def profiles_are_not_waited_for() -> None:
    """A trial goes when its build is made, whether that was profiled or not."""
    from datamill.service.coordinator.experiments.stages import Stages

    Stages.find_need = Stages.find_build  # type: ignore[method-assign]


@plant
def trials_wait_for_failed_profiles() -> None:
    """A profile that failed is waited for like one that is under way."""
    from datamill.service.coordinator.leasing import dependents

    dependents._give_up_unprofiled = lambda _profile: []
