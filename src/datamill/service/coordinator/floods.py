"""Workers that send more than can wait: told of, and in the end kept from the broker."""

from __future__ import annotations

from collections.abc import Mapping

from datamill.service.coordinator.ledger import Ledger
from datamill.service.coordinator.refusals import RefusalBook

#: Reports of a worker without room, at once, that are a flood: nobody waits so impatiently.
FLOOD = 1000
_REASON = "it floods the broker with reports"


def judge_floods(dropped: Mapping[str, int], now_s: float) -> list[str]:
    """Tell of workers for whose reports there was no room; drain those that flood, and have them refused.

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
