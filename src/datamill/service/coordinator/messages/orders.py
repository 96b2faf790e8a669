"""What each worker is to do now, as one message: composed from the database whenever it has to be sent."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db import transaction

from datamill.protocol.fleet import FLEET_SCHEMA_VERSION, FileNeed, Orders
from datamill.service.coordinator.joining.credentials import is_half_over
from datamill.service.coordinator.leasing.leases import (
    LeasedTrial,
    build_lease,
    decode_planned_trial,
    lets_boot,
    list_files,
    load_stored_experiments,
)
from datamill.service.coordinator.messages.artifacts import BUILD_FILE
from datamill.service.coordinator.state.rows import execute, execute_for, select_rows, update_rows
from datamill.service.models import FleetWorker
from datamill.service.states import AttemptState, WorkerState

_ENCODER = msgspec.json.Encoder()
#: What is awaited of a worker that is silent.
HELLO = "hello"
#: Time between lease and sending that a deadline need not be told of, in seconds.
_UNDELAYED_S = 30.0
_UNSENT = """
SELECT worker_id, orders_sequence, receipts, sessions, credential_unix_s, state FROM datamill_worker
WHERE orders_sent_sequence < orders_sequence ORDER BY worker_id LIMIT %s
"""
_AGAIN = """
SELECT worker_id, orders_sequence, receipts, sessions, credential_unix_s, state FROM datamill_worker
WHERE worker_id IN {list} AND orders_sent_sequence = orders_sequence AND state <> 'removed'
"""
# The build of a trial that needs a profile is that of the profile.
# By workers that are named: in one query with them, PostgreSQL looks at all open attempts of the fleet.
_OPEN = """
SELECT a.worker_id, a.key, a.number, t.purpose, t.reboot, t.plan,
    CASE WHEN n.purpose = 'profile' THEN n.needs_id ELSE t.needs_id END, t.experiment_id, a.state, w.policy
FROM datamill_attempt a JOIN datamill_trial t ON t.id = a.trial_id
JOIN datamill_worker w ON w.worker_id = a.worker_id
LEFT JOIN datamill_trial n ON n.id = t.needs_id
WHERE a.state IN ('leased', 'taken') AND a.worker_id IN {list}
"""
_BUILDS = """
SELECT a.trial_id, f.sha256, f.size_bytes FROM datamill_attempt a
JOIN datamill_artifact r ON r.attempt_id = a.id AND r.name = '{name}'
JOIN datamill_storedfile f ON f.sha256 = r.file_id
WHERE a.state = 'counted' AND a.trial_id IN {{list}}
"""


@dataclass(frozen=True, slots=True)
class UnsentOrders:
    """Orders that are to go out: `payload` is the message on the worker's subject.

    `awaited` is the attempt that they order and of which nothing was heard yet, or the hello of a worker that
    is silent, empty where there is neither; `is_again` tells that they went out before and may not have come.
    """

    worker_id: str
    sequence: int
    payload: bytes
    awaited: str = ""
    is_again: bool = False


def list_unsent_orders(most: int, now_s: float, again: Collection[str] = ()) -> list[UnsentOrders]:
    """Return the orders that changed since they were last sent, of at most so many workers.

    Args:
        most: how many workers.
        now_s: the time, by which credentials are old.
        again: workers whose orders may not have come; theirs are returned too, unless the worker has spoken
            about its attempt.
    """
    rows = select_rows(_UNSENT, [most])
    new = {row[0] for row in rows}
    if repeated := sorted(set(again) - new):
        rows += select_rows(_AGAIN, repeated)
    leased = {row[0]: row[1:] for row in select_rows(_OPEN, [row[0] for row in rows])}
    questions = load_stored_experiments(row[6] for row in leased.values())
    needed = {row[5] for row in leased.values() if row[5] is not None}
    builds = {
        trial: FileNeed(sha256, size)
        for trial, sha256, size in select_rows(_BUILDS.format(name=BUILD_FILE), sorted(needed))
    }
    unsent = []
    for worker_id, sequence, receipts, sessions, credential_unix_s, known_as in rows:
        # Who is silent may be there and have nothing to say: orders that name no session ask for a hello.
        is_silent = known_as == WorkerState.SILENT
        lease, awaited = None, HELLO if is_silent else ""
        if worker_id in leased:
            key, number, purpose, reboot, plan, needs, experiment_id, state, policy = leased[worker_id]
            awaited = key if state == AttemptState.LEASED else ""
            trial = LeasedTrial(
                key,
                number,
                purpose,
                bool(reboot),
                decode_planned_trial(bytes(plan)),
                builds.get(needs),
                lets_boot(bytes(policy)),
            )
            lease = build_lease(questions[experiment_id], trial)
        if worker_id not in new and not awaited:
            continue
        # A report of it came before it was: of nobody knows what, or of what a database that was put back
        # does not know. Its worker would take the lease for over.
        over = tuple(key for key in _decode(receipts) if lease is None or key != lease.attempt)
        orders = Orders(
            schema=FLEET_SCHEMA_VERSION,
            worker_id=worker_id,
            sequence=sequence,
            sessions=() if is_silent else tuple(name for _, name in _decode(sessions) or ()),
            receipts=over,
            renew_credential=is_half_over(credential_unix_s, now_s),
            lease=lease,
        )
        unsent.append(
            UnsentOrders(worker_id, sequence, _ENCODER.encode(orders), awaited, worker_id not in new)
        )
    return unsent


def list_lease_files(worker_id: str) -> frozenset[str]:
    """Return the SHA-256 of the files that a worker's open attempt needs: those of its lease, no others."""
    rows = select_rows(_OPEN, [worker_id])
    if not rows:
        return frozenset()
    _, key, number, purpose, reboot, plan, needs, experiment_id, _, _ = rows[0]
    question = load_stored_experiments([experiment_id])[experiment_id]
    builds = select_rows(_BUILDS.format(name=BUILD_FILE), [needs] if needs is not None else [])
    leased = LeasedTrial(key, number, purpose, bool(reboot), decode_planned_trial(bytes(plan)))
    return frozenset(item.sha256 for item in list_files(question, leased)) | {row[1] for row in builds}


def mark_orders_sent(sent: Sequence[UnsentOrders], now_s: float) -> None:
    """Note that orders went out; those that changed meanwhile stay unsent.

    An attempt whose orders went out late, since the broker was away, gets its whole time from now.
    """
    sent = [item for item in sent if not item.is_again]
    with transaction.atomic():
        update_rows(
            FleetWorker, ("orders_sent_sequence",), [(item.worker_id, item.sequence) for item in sent]
        )
        execute_for(
            "UPDATE datamill_attempt "
            "SET deadline_unix_s = deadline_unix_s + %s - leased_unix_s, leased_unix_s = %s "
            "WHERE state = 'leased' AND leased_unix_s < %s AND worker_id IN {list}",
            [item.worker_id for item in sent],
            before=[now_s, now_s, now_s - _UNDELAYED_S],
        )


def mark_all_orders_unsent() -> None:
    """Have everybody's orders sent again: what was under way when a connection ended may be lost."""
    execute("UPDATE datamill_worker SET orders_sequence = orders_sequence + 1 WHERE state <> 'removed'")


def _decode(column: Any) -> Any:
    """Return a column of JSON as either database gives it."""
    return json.loads(column) if isinstance(column, str) else column
