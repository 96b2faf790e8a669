"""What notices are about, and whom each event concerns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from datamill.service.coordinator.state.events import EventKind
from datamill.service.models import Event, FleetExperiment, FleetWorker, TrialCount
from datamill.service.states import ENDED_TRIALS


@dataclass(frozen=True, slots=True)
class Subject:
    """What a user may want to hear of: `words` say it on the page, `kinds` are the events."""

    words: str
    kinds: tuple[EventKind, ...]


SUBJECTS: Mapping[str, Subject] = MappingProxyType(
    {
        "ended": Subject("an experiment of mine ended", (EventKind.COMPLETED, EventKind.CANCELLED)),
        "waits": Subject(
            "an experiment of mine waits for me, or a package in it was stopped",
            (EventKind.HELD, EventKind.STOPPED, EventKind.FOLLOWED),
        ),
        "machine": Subject(
            "a machine of mine, or one that my experiments wait for, fell silent or gets no more trials",
            (EventKind.SILENT, EventKind.DRAINED, EventKind.HEARD),
        ),
    }
)
#: All kinds of events that notices are made of, each with its subject.
KINDS: Mapping[str, str] = MappingProxyType(
    {str(kind): name for name, subject in SUBJECTS.items() for kind in subject.kinds}
)


def list_concerned(event: Event) -> set[int]:
    """Return the users whom an event concerns: owners of its experiment, its machine, trials left there."""
    if event.experiment_id is not None:
        owner = FleetExperiment.objects.filter(pk=event.experiment_id).values_list("owner_id", flat=True)
        return set(owner)
    owners = set(FleetWorker.objects.filter(pk=event.worker_id).values_list("owner_id", flat=True))
    waiting = TrialCount.objects.filter(worker_id=event.worker_id, trials__gt=0)
    waiting = waiting.exclude(state__in=ENDED_TRIALS)
    return owners | set(waiting.values_list("experiment__owner_id", flat=True).distinct())


def list_events_of(user: User, subjects: Collection[str], most: int) -> list[Event]:
    """Return the latest events about experiments and machines of a user, the latest first."""
    kinds = [kind for kind, subject in KINDS.items() if subject in subjects]
    return list(_concern(user).filter(kind__in=kinds).order_by("-id")[:most])


def _concern(user: User) -> QuerySet[Event]:
    experiments = FleetExperiment.objects.filter(owner=user).values("pk")
    machines = FleetWorker.objects.filter(owner=user).values("pk")
    return Event.objects.filter(
        Q(experiment_id__in=experiments) | Q(experiment_id=None, worker_id__in=machines)
    )


def read_subjects(names: Iterable[str]) -> tuple[str, ...]:
    """Return the subjects that a form names, in their order."""
    asked = set(names)
    return tuple(name for name in SUBJECTS if name in asked)
