"""The account of what happened: who, what package, where, when; the database lets nobody change it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from datamill.service.coordinator.state.rows import insert_rows
from datamill.service.models import Event

#: Characters of an event's sentence: workers may have a say in it.
MOST_DETAIL = 2000


class EventKind(StrEnum):
    """What happened."""

    JOINED = "worker joined"
    REBOOTED = "worker rebooted"
    CHANGED = "worker changed"
    SILENT = "worker silent"
    HEARD = "worker heard again"
    LEFT = "worker left"
    DRAINED = "worker drained"
    RESUMED = "worker resumed"
    REMOVED = "worker removed"
    CLOCK_OFF = "clock off"
    TWINS = "worker is two machines"
    REPORT_REFUSED = "report refused"
    SUBMITTED = "experiment submitted"
    RELEASED = "experiment released"
    HELD = "experiment held"
    LOOKED = "experiment looked at"
    COMPLETED = "experiment completed"
    FOLLOWED = "screening followed"
    CANCELLED = "experiment cancelled"
    SHARE_SET = "share set"
    PRIORITY_SET = "priority set"
    LEASED = "attempt leased"
    TAKEN = "attempt taken"
    COUNTED = "attempt counted"
    DONE = "attempt done"
    LATE = "attempt late"
    FAULTY = "attempt faulty"
    REFUSED = "attempt refused"
    LOST = "attempt lost"
    ATTEMPT_CANCELLED = "attempt cancelled"
    GIVEN_UP = "trial given up"
    MOVED = "trial moved"
    BUILD_MISSING = "build missing"
    PROFILE_MISSING = "profile missing"
    STOPPED = "package stopped"
    QUARANTINED = "package quarantined"
    QUARANTINE_LIFTED = "quarantine lifted"
    PUBLISHED = "result published"
    WITHDRAWN = "publication withdrawn"
    RUN_AGAIN = "experiment run again"
    FACTOR_REGISTERED = "factor registered"
    FACTOR_FORBIDDEN = "factor forbidden"
    FACTOR_ALLOWED = "factor allowed"
    REPEATED = "report repeated"
    COORDINATOR_STARTED = "coordinator started"
    BROKER_CONNECTED = "broker connected"
    BROKER_EMPTIED = "broker lost orders"  # of earlier versions
    BROKER_CAPTURED = "broker keeps messages"
    CREDENTIAL_MADE = "credential made"
    CREDENTIAL_VOID = "credential void"


@dataclass(frozen=True, slots=True)
class NewEvent:
    """One thing that happened; what does not apply is empty."""

    kind: EventKind
    user: str = ""
    worker_id: str = ""
    experiment_id: int | None = None
    attempt: str = ""
    package_sha256: str = ""
    detail: str = ""


def add_events(events: Iterable[NewEvent], now_s: float) -> None:
    """Append what happened to the account, in order."""
    insert_rows(
        Event,
        ("unix_s", "kind", "user", "worker_id", "experiment_id", "attempt", "package_sha256", "detail"),
        (
            (
                now_s,
                str(event.kind),
                event.user,
                event.worker_id,
                event.experiment_id,
                event.attempt,
                event.package_sha256,
                clean_text(event.detail, MOST_DETAIL),
            )
            for event in events
        ),
    )


def clean_text(text: str, most: int) -> str:
    """Return what a worker wrote as any database keeps it: no zero characters, and no more than `most`."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}")[:most]
