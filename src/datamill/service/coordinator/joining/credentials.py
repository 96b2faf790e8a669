"""How long the credentials of workers for the broker last, who gets a new one, and whose are void."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q

from datamill.service.broker.credentials import LIFE_S
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
from datamill.service.models import Worker, WorkerState

#: Credentials made before this time are void: the year 2200.
FOR_EVER_UNIX_S = 7_258_118_400.0


def is_half_over(made_unix_s: float | None, now_s: float) -> bool:
    """Tell whether a credential is to be made anew: more than half of its life has passed.

    One of an unknown time is as well, and one from the future: the coordinator's clock was wrong when it was
    made.
    """
    return made_unix_s is None or not 0.0 <= now_s - made_unix_s <= LIFE_S / 2


def note_credential(worker_id: str, now_s: float) -> None:
    """Note that a worker has a new credential."""
    Worker.objects.filter(pk=worker_id).update(credential_unix_s=now_s)
    add_events([NewEvent(EventKind.CREDENTIAL_MADE, worker_id=worker_id)], now_s)


def void_credentials(worker_ids: Iterable[str], reason: str, now_s: float) -> None:
    """Have the broker refuse workers, until they are resumed and have a new credential.

    The broker reads whole seconds, and takes a credential that is not younger for void: that of a worker
    which was resumed in the same second is made a second later.
    """
    for worker_id in worker_ids:
        Worker.objects.filter(pk=worker_id).update(credential_void_unix_s=now_s)
        add_events([NewEvent(EventKind.CREDENTIAL_VOID, worker_id=worker_id, detail=reason)], now_s)


def has_void_credential(worker_id: str) -> bool:
    """Tell whether the broker refuses a worker: its newest credential is no younger than what is void."""
    found = Worker.objects.filter(pk=worker_id).values_list("credential_unix_s", "credential_void_unix_s")
    made_s, void_s = found.first() or (None, None)
    return void_s is not None and (made_s is None or made_s <= void_s)


def list_void_credentials() -> dict[str, float]:
    """Return times by public keys of workers, whose credentials from before are void."""
    concerned = Worker.objects.filter(Q(credential_void_unix_s__isnull=False) | Q(state=WorkerState.REMOVED))
    return {
        key: FOR_EVER_UNIX_S if void_s is None or state == WorkerState.REMOVED else void_s
        for key, state, void_s in concerned.values_list("public_key", "state", "credential_void_unix_s")
    }
