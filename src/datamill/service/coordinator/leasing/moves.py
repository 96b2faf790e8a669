"""Which worker takes the trials of another: a spare that is equivalent, or any equivalent worker."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from datamill.design.design import DesignFactor
from datamill.service.coordinator.joining.hardware import (
    find_guest_objection,
    list_worker_offers,
    read_inventory,
    read_policy,
)
from datamill.service.coordinator.joining.policies import (
    find_isolation_objection,
    find_needs_objection,
    find_policy_objection,
    list_all_needs,
    list_shipped_files,
)
from datamill.service.coordinator.leasing.leases import load_stored_experiments
from datamill.service.coordinator.state.events import EventKind, NewEvent
from datamill.service.models import FleetExperiment, FleetWorker, Spare
from datamill.service.states import WorkerState

#: Equivalent workers among which the trials of one are divided.
MOST_TARGETS = 8
#: States of workers that can take another's trials.
_ABLE = (WorkerState.IDLE, WorkerState.BUSY)


class _StoredFactors(msgspec.Struct, frozen=True):
    """The part of a stored design that workers must be able to set."""

    factors: tuple[DesignFactor, ...]


@dataclass(frozen=True, slots=True)
class MovePlanner:
    """Finds equivalent workers, each (experiment, worker, package) once, and gives them turns."""

    _targets: dict[tuple[int, str, str], list[str]] = field(default_factory=dict)
    _turns: dict[tuple[int, str, str], int] = field(default_factory=dict)

    def find_target(self, experiment_id: int, worker_id: str, package_sha256: str) -> str | None:
        """Return an equivalent worker for a trial of this worker; None where there is none."""
        key = (experiment_id, worker_id, package_sha256)
        targets = self._targets.get(key)
        if targets is None:
            targets = self._targets[key] = list_equivalent_workers(experiment_id, worker_id, package_sha256)
        if not targets:
            return None
        turn = self._turns.get(key, 0)
        self._turns[key] = turn + 1
        return targets[turn % len(targets)]


def list_equivalent_workers(experiment_id: int, worker_id: str, package_sha256: str) -> list[str]:
    """Return workers that can stand in for another in an experiment, its spares first.

    Equivalent is who has the same hardware levels but `machine`, offers the same levels of the design's
    factors, and whose owner allows the experiment.
    """
    question = load_stored_experiments([experiment_id])[experiment_id]
    stored = FleetExperiment.objects.only("design", "reboot").get(pk=experiment_id)
    origin = FleetWorker.objects.get(pk=worker_id)
    factors = msgspec.json.decode(bytes(stored.design), type=_StoredFactors).factors
    names = [factor.name for factor in factors]
    isolation = question.experiment.isolation
    needed = {
        offer.name: set(offer.levels)
        for offer in list_worker_offers(origin, isolation)
        if offer.name in names
    }
    designed = {factor.name: set(factor.levels) for factor in factors}
    spares = set(Spare.objects.filter(experiment=experiment_id).values_list("worker_id", flat=True))
    named = question.experiment.constraints.workers
    # Of its packages only the trial's own goes there.
    shipped = [
        item
        for item in list_shipped_files(question.head)
        if item.kind != "package" or item.sha256 == package_sha256
    ]

    needs = list_all_needs(question.experiment)

    def is_fit(worker: FleetWorker) -> bool:
        policy = read_policy(worker)
        inventory = read_inventory(worker)
        offers = {offer.name: set(offer.levels) for offer in list_worker_offers(worker, isolation)}
        return (
            (not named or worker.name in named or worker.worker_id in spares)
            and not find_policy_objection(policy, question.user, shipped)
            and not find_needs_objection(policy, needs)
            and not find_isolation_objection(policy, question.experiment.isolation, inventory.isolation)
            and not find_guest_objection(worker, isolation)
            and (policy.reboot or stored.reboot == "never")
            and not set(policy.forbidden_factors).intersection(names)
            and all(levels & designed[name] <= offers.get(name, set()) for name, levels in needed.items())
        )

    same = FleetWorker.objects.filter(hardware_key=origin.hardware_key, state__in=_ABLE).exclude(pk=worker_id)
    found: list[str] = []
    for worker in sorted(same.order_by("worker_id"), key=lambda item: item.worker_id not in spares):
        if is_fit(worker):
            found.append(worker.worker_id)
        if len(found) == MOST_TARGETS:
            break
    # Spares stand by for this very purpose: others only where there is none.
    return [worker for worker in found if worker in spares] or found


def describe_move(user: str, experiment_id: int, trial_id: str, origin: str, target: str) -> NewEvent:
    """Return the event of a trial that goes to another worker."""
    return NewEvent(
        EventKind.MOVED,
        user=user,
        worker_id=target,
        experiment_id=experiment_id,
        attempt=f"{experiment_id}.{trial_id}",
        detail=f"Trial {trial_id} goes from {origin} to an equivalent worker, {target}.",
    )
