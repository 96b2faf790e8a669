"""Attempts whose report is overdue are lost, and their workers silent until they are heard again."""

from __future__ import annotations

from django.db import transaction

from datamill.service.coordinator.leasing.ledger import Ledger
from datamill.service.coordinator.state.rows import select_rows
from datamill.service.states import AttemptState

#: Attempts that one transaction looks at.
_MOST_AT_ONCE = 2000


def expire_leases(now_s: float) -> int:
    """End the attempts whose deadline has passed, and return how many they were."""
    expired = 0
    while True:
        with transaction.atomic():
            ledger = Ledger(now_s)
            keys = select_rows(
                "SELECT key FROM datamill_attempt "
                "WHERE state IN ('leased', 'taken') AND deadline_unix_s <= %s "
                "ORDER BY deadline_unix_s, id LIMIT %s",
                [now_s, _MOST_AT_ONCE],
            )
            if not keys:
                return expired
            overdue = ledger.load_attempts("a.key IN {list}", [key for (key,) in keys])
            ledger.load_workers({attempt.worker_id for attempt in overdue})
            for attempt in sorted(overdue, key=lambda item: item.id):
                reason = f"{attempt.key} is overdue"
                ledger.silence(attempt.worker_id, f"{reason}: the worker has not been heard of")
                ledger.fail(
                    attempt, AttemptState.LOST, f"no report before its deadline; it was {attempt.state}"
                )
            ledger.write()
            expired += len(overdue)


def find_next_deadline() -> float | None:
    """Return when the next attempt is overdue, None when none is under way."""
    ((deadline_s,),) = select_rows(
        "SELECT MIN(deadline_unix_s) FROM datamill_attempt WHERE state IN ('leased', 'taken')"
    )
    return None if deadline_s is None else float(deadline_s)
