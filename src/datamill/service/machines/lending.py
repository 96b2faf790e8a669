"""What a machine did for others, and what that earned its owner: for the owner's eyes."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User

from datamill.service.accounts import list_visible_experiments
from datamill.service.coordinator.sharing.fair_queue import weigh_user
from datamill.service.models import Attempt, ExperimentTime, FleetWorker, UserTime
from datamill.service.queue.queue_state import describe_share

_MOST_EXPERIMENTS = 25


@dataclass(frozen=True, slots=True)
class MachineUser:
    """Who used a machine, for how long and in how many attempts; `part` is of all its machine time."""

    user: str
    attempts: int
    held_s: float
    part: float


@dataclass(frozen=True, slots=True)
class MachineUse:
    """An experiment that a machine worked for; `name` is empty where the viewer may not see it."""

    experiment: int
    name: str
    owner: str
    attempts: int
    held_s: float


@dataclass(frozen=True, slots=True)
class Lending:
    """Who used a machine, and the share that its owner has with and without lending it.

    `used` tells whether there was an attempt: one that has not ended is in none of the times. `others_s` of
    `held_s` went to others. `lent_machines` are those of the owner that serve now; `serves` tells whether
    this is one of them.
    """

    used: bool
    users: tuple[MachineUser, ...]
    experiments: tuple[MachineUse, ...]
    held_s: float
    others_s: float
    own_share: float
    share: float
    share_without: float
    lent_machines: int
    serves: bool


def describe_lending(worker: FleetWorker, viewer: User, *, serves: bool) -> Lending:
    """Return what a machine did for whom, by the ledger of machine time.

    Args:
        worker: the machine.
        viewer: who looks: its owner, or an administrator.
        serves: whether it counts as lent now.
    """
    times = UserTime.objects.filter(worker=worker).select_related("user").order_by("-held_s")
    rows = [(row.user.username, row.user_id, row.attempts, row.held_s) for row in times]
    held_s = sum(row[3] for row in rows)
    owner = describe_share(worker.owner)
    lent, own = owner.lent_machines, owner.own_share
    visible = list_visible_experiments(viewer)
    experiments = (
        ExperimentTime.objects.filter(worker=worker)
        .select_related("experiment__owner")
        .defer("experiment__text", "experiment__head", "experiment__design")
        .order_by("-held_s")[:_MOST_EXPERIMENTS]
    )
    uses = list(experiments)
    seen = set(visible.filter(pk__in=[use.experiment_id for use in uses]).values_list("pk", flat=True))
    return Lending(
        used=bool(rows) or Attempt.objects.filter(worker=worker).exists(),
        users=tuple(
            MachineUser(name, attempts, held, held / held_s if held_s else 0.0)
            for name, _, attempts, held in rows
        ),
        experiments=tuple(
            MachineUse(
                use.experiment_id,
                use.experiment.name if use.experiment_id in seen else "",
                use.experiment.owner.username,
                use.attempts,
                use.held_s,
            )
            for use in uses
        ),
        held_s=held_s,
        others_s=sum(held for _, user_id, _, held in rows if user_id != worker.owner_id),
        own_share=own,
        share=owner.share,
        share_without=weigh_user(own, lent - 1 if serves and lent else lent),
        lent_machines=lent,
        serves=serves,
    )
