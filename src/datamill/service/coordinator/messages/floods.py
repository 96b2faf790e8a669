"""Workers that send too much or connect too often: an event names them, and the broker shuts them out."""

from __future__ import annotations

from collections.abc import Mapping

from datamill.service.coordinator.leasing.ledger import Ledger
from datamill.service.coordinator.messages.refusals import RefusalBook
from datamill.service.models import FleetWorker

#: Reports of a worker without room, at once, that are a flood: nobody waits so impatiently.
FLOOD = 1000
_REASON = "it floods the broker with reports"
_CROWD = "it holds too many connections to the broker"


def judge_floods(dropped: Mapping[str, int], now_s: float) -> list[str]:
    """Name workers for whose reports there was no room; drain those that flood, and have them refused.

    Args:
        dropped: by worker, how many of its reports were dropped since this was last called.
        now_s: the time.

    Returns:
        A sentence for each worker.
    """
    if not dropped:
        return []
    ledger, refusals = Ledger(now_s), RefusalBook(now_s)
    ledger.load_workers(set(dropped))
    for worker_id, count in sorted(dropped.items()):
        is_useless = refusals.add(worker_id, f"there was no room for {count} of its reports")
        worker = ledger.workers.get(worker_id)
        if worker is not None and (is_useless or count >= FLOOD):
            ledger.drain_abuser(worker, _REASON)
    ledger.events.extend(refusals.events)
    ledger.write()
    return refusals.sentences


def judge_crowds(crowds: Mapping[str, int], now_s: float) -> list[str]:
    """Drain workers that hold so many connections that others may find none, and have them refused.

    Args:
        crowds: by public key, how many connections it holds.
        now_s: the time.

    Returns:
        A sentence for each worker.
    """
    found = FleetWorker.objects.filter(public_key__in=list(crowds)).values_list("pk", "public_key")
    counts = {worker_id: crowds[key] for worker_id, key in found}
    if not counts:
        return []
    ledger = Ledger(now_s)
    ledger.load_workers(set(counts))
    for worker in ledger.workers.values():
        ledger.drain_abuser(worker, _CROWD)
    ledger.write()
    return [f"{worker_id}: it holds {count} connections" for worker_id, count in sorted(counts.items())]
