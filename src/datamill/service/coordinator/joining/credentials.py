"""How long the credentials of workers for the broker last, who gets a new one, and whose are void."""

from __future__ import annotations

import math
from collections.abc import Iterable

from django.db.models import Q

from datamill.service.broker.credentials import LIFE_S
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
from datamill.service.models import FleetWorker
from datamill.service.states import WorkerState

#: Credentials made before this time are void: the year 2200.
FOR_EVER_UNIX_S = 7_258_118_400.0


def is_half_over(made_unix_s: float | None, now_s: float) -> bool:
    """Tell whether a credential is to be made anew: more than half of its life has passed.

    One of an unknown time is as well, and one from the future, but for the second by which `note_credential`
    dates on: the coordinator's clock was wrong when it was made.
    """
    return made_unix_s is None or not -1.0 <= now_s - made_unix_s <= LIFE_S / 2


def note_credential(worker_id: str, now_s: float) -> float:
    """Note that a worker has a new credential; return the time at which it is made, in seconds.

    The broker reads whole seconds, and takes a credential that is not younger than what is void for void: one
    of a worker that was resumed in the same second is dated a second later. The broker asks when a credential
    ends, not when it began.
    """
    void_s = FleetWorker.objects.values_list("credential_void_unix_s", flat=True).get(pk=worker_id)
    made_s = now_s if void_s is None else max(now_s, math.floor(void_s) + 1.0)
    FleetWorker.objects.filter(pk=worker_id).update(credential_unix_s=made_s)
    add_events([NewEvent(EventKind.CREDENTIAL_MADE, worker_id=worker_id)], now_s)
    return made_s


def void_credentials(worker_ids: Iterable[str], reason: str, now_s: float) -> None:
    """Have the broker refuse workers, until they are resumed and have a new credential.

    What is made after is dated by `note_credential`.
    """
    for worker_id in worker_ids:
        FleetWorker.objects.filter(pk=worker_id).update(credential_void_unix_s=now_s)
        add_events([NewEvent(EventKind.CREDENTIAL_VOID, worker_id=worker_id, detail=reason)], now_s)


def has_void_credential(worker_id: str) -> bool:
    """Tell whether the broker refuses a worker: its newest credential is no younger than what is void."""
    found = FleetWorker.objects.filter(pk=worker_id).values_list(
        "credential_unix_s", "credential_void_unix_s"
    )
    made_s, void_s = found.first() or (None, None)
    return void_s is not None and (made_s is None or made_s <= void_s)


def list_void_credentials() -> dict[str, float]:
    """Return times by public keys of workers, whose credentials from before are void."""
    concerned = FleetWorker.objects.filter(
        Q(credential_void_unix_s__isnull=False) | Q(state=WorkerState.REMOVED)
    )
    return {
        key: FOR_EVER_UNIX_S if void_s is None or state == WorkerState.REMOVED else void_s
        for key, state, void_s in concerned.values_list("public_key", "state", "credential_void_unix_s")
    }
