"""Whether what changed has a cause that may change it: nobody's word moves what is another's."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable

import msgspec
from simulation.evidence.tables import FAILED, OPEN, AttemptRow, Read, Tables, WorkerRow, read_policy

from datamill.protocol.fleet import Inventory, Policy

#: What names an attempt, wherever it stands in a report.
ATTEMPT = re.compile(rb"\d+\.[a-z]+\d+(?:-r\d+)?\.\d+")
#: What stands in reports after which an attempt may be over.
ENDING = (b'"hello"', b'"gave_up"')
#: Longest time without a lease of a worker that had no room, in seconds.
MOST_REST_S = 3600.0
#: Lost attempts, and workers among them, without which no package is put apart.
POISON_LOST, POISON_WORKERS = 3, 2
#: Failures without which nobody is drained for them.
DRAIN_FAILURES = 3
#: What reports of a worker alone can change of it.
OWN = ("inventory", "policy", "rests_until_s", "heard_s", "sessions", "left_s", "receipts", "boot_id",
       "clock_offset_s")  # fmt: skip


class _Hello(msgspec.Struct):
    kind: str
    inventory: msgspec.Raw = msgspec.Raw(b"")
    policy: Policy | None = None


class _Told(msgspec.Struct):
    content: _Hello


class CauseJudge:
    """Knows what was told and asked, and holds what became of it against that.

    Args:
        read: reads tables past Django.
        object_to: takes what is wrong, as a sentence.
    """

    def __init__(self, read: Read, object_to: Callable[[str], None]) -> None:
        self._read = read
        self._object = object_to
        #: Attempts that the reports of a worker named since the last look; who said hello or goodbye.
        self._named: dict[str, set[str]] = defaultdict(set)
        self._came_or_went: set[str] = set()
        self._may_have_ended: set[str] = set()
        self._asked: set[tuple[str, object]] = set()
        #: Workers of whom a sound report is in the database since the last look.
        self._heard: set[str] = set()
        #: Inventories and policies that each worker ever told, on its own subject or when it joined.
        self._inventories: dict[str, set[bytes]] = defaultdict(set)
        self._policies: dict[str, list[Policy]] = defaultdict(list)

    def joined(self, worker_id: str, inventory: Inventory, policy: Policy) -> None:
        """Note what a machine told when it joined."""
        self._inventories[worker_id].add(msgspec.json.encode(inventory))
        self._policies[worker_id].append(policy)

    def offered(self, worker_id: str, payload: bytes) -> None:
        """Note a report on a worker's subject, which is about to be taken in."""
        self._named[worker_id].update(key.decode() for key in ATTEMPT.findall(payload))
        if any(word in payload for word in ENDING):
            self._may_have_ended.add(worker_id)
        if b'"hello"' not in payload and b'"goodbye"' not in payload:
            return
        self._came_or_went.add(worker_id)
        try:
            told = msgspec.json.decode(payload, type=_Told).content
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return
        if told.kind == "hello" and told.policy is not None:
            self._inventories[worker_id].add(bytes(told.inventory))
            if self._policies[worker_id][-1:] != [told.policy]:
                self._policies[worker_id].append(told.policy)

    def taken_in(self, worker_id: str) -> None:
        """Note that a sound report of a worker is in the database."""
        self._heard.add(worker_id)

    def asked(self, what: str, whom: object) -> None:
        """Note what a person is about to ask of a worker or an experiment."""
        self._asked.add((what, whom))

    def judge(self, before: Tables, after: Tables, now_s: float) -> None:
        """Check what changed since the last look, and forget what was told and asked until now."""
        ended: dict[str, list[AttemptRow]] = defaultdict(list)
        for key, row in after.attempts.items():
            was = before.attempts.get(key)
            if was is None or was.state == row.state:
                continue
            self._judge_attempt(key, was, row, after, now_s)
            if was.state in OPEN and row.state not in OPEN:
                ended[row.worker_id].append(row)
        for worker_id, worker in after.workers.items():
            known = before.workers.get(worker_id)
            if known is not None and (known is not worker or worker_id in self._heard):
                self._judge_worker(worker_id, known, worker, ended[worker_id], now_s)
        for sha256 in sorted(after.quarantined - before.quarantined):
            self._judge_quarantine(sha256)
        self.forget()

    def forget(self) -> None:
        """Begin another look."""
        self._named.clear()
        self._came_or_went.clear()
        self._may_have_ended.clear()
        self._asked.clear()
        self._heard.clear()

    def _judge_attempt(self, key: str, was: AttemptRow, row: AttemptRow, after: Tables, now_s: float) -> None:
        experiment = after.trials[row.trial].experiment
        is_told = key in self._named.get(row.worker_id, ())
        came = row.worker_id in self._came_or_went
        if row.state == "lost":
            is_told |= came or now_s >= was.deadline_s or ("remove", row.worker_id) in self._asked
        if row.state == "cancelled":
            is_told = came or ("cancel", experiment) in self._asked
        if not is_told:
            self._object(f"{key} was {was.state} and is {row.state}, and nobody who may said so")

    def _judge_worker(
        self, worker_id: str, was: WorkerRow, now: WorkerRow, ended: list[AttemptRow], now_s: float
    ) -> None:
        is_heard = worker_id in self._named or worker_id in self._came_or_went
        if not is_heard:
            changed = [name for name in OWN if _read(was, name) != _read(now, name)]
            if changed:
                self._object(f"{worker_id} said nothing, and its {', '.join(changed)} changed")
        if bytes(now.inventory) not in self._inventories[worker_id]:
            self._object(f"{worker_id} has an inventory that it never told")
        if read_policy(bytes(now.policy)) not in self._policies[worker_id]:
            self._object(f"{worker_id} has a policy that its owner never had")
        if now.rests_until_s > now_s + MOST_REST_S:
            self._object(f"{worker_id} rests for {now.rests_until_s - now_s:.0f} s")
        is_overdue = any("no report before its deadline" in row.reason for row in ended)
        if now.state == "silent" == was.state and worker_id in self._heard:
            self._object(f"{worker_id} was heard and is silent still")
        if now.state == "silent" != was.state and not is_overdue:
            self._object(f"{worker_id} is silent and missed no deadline")
        is_asked = is_heard or ("drain", worker_id) in self._asked
        if now.state == "drained" != was.state and now.failed < DRAIN_FAILURES and not is_asked:
            self._object(f"{worker_id} is drained after {now.failed} failures, and nobody asked for it")
        is_asked = bool({("resume", worker_id), ("remove", worker_id)} & self._asked)
        if was.state == "drained" != now.state and not is_asked:
            self._object(f"{worker_id} was drained and is {now.state}, and nobody asked for it")
        if now.state == "removed" != was.state and ("remove", worker_id) not in self._asked:
            self._object(f"{worker_id} was removed, and nobody asked for it")
        self._judge_account(worker_id, was, now, ended)

    def _judge_account(self, worker_id: str, was: WorkerRow, now: WorkerRow, ended: list[AttemptRow]) -> None:
        """Its account is of the attempts that ended, the fruitless ones that are no fault of it left out."""
        counting = [
            row
            for row in ended
            if row.state != "cancelled" and not (row.state == "refused" and row.reason.startswith("policy:"))
        ]
        expected = (
            was.ended + len(counting),
            was.failed + sum(row.state in FAILED for row in counting),
        )
        if ("resume", worker_id) in self._asked and (now.ended, now.failed) == (0, 0):
            return
        # What was lost, and counts all the same since its record came in the same turn, failed before.
        later = sum(row.state in ("counted", "late") for row in counting)
        most = expected[1] + (later if worker_id in self._may_have_ended else 0)
        if now.ended != expected[0] or not expected[1] <= now.failed <= most:
            self._object(
                f"the account of {worker_id} says {now.failed} of {now.ended} failed, "
                f"and {expected[1]} of {expected[0]} did"
            )

    def _judge_quarantine(self, sha256: str) -> None:
        ((lost, workers),) = self._read(
            "SELECT COUNT(*), COUNT(DISTINCT a.worker_id) FROM datamill_attempt a"
            " JOIN datamill_trial t ON t.id = a.trial_id WHERE a.state = 'lost' AND t.package_sha256 = ?",
            (sha256,),
        )
        if lost < POISON_LOST or workers < POISON_WORKERS:
            self._object(f"{sha256[:12]} is in quarantine after {lost} losses on {workers} workers")


def _read(row: WorkerRow, name: str) -> object:
    value = getattr(row, name)
    return json.loads(value or "[]") or [] if name in ("sessions", "receipts") else value
