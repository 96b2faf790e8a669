"""What happened in an experiment between two points, as server-sent events that any number of people get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from django.db.models import Max

from datamill.protocol.api.events import News, OutputNews
from datamill.service.models import Event, FleetWorker, OutputPiece, Trial
from datamill.service.progress import describe_event
from datamill.service.states import TrialPurpose

#: Most events, and most pieces of output, that are read at once.
_MOST_AT_ONCE = 500
_EVENT_FIELDS = (
    "id", "unix_s", "kind", "user", "worker_id", "experiment_id", "attempt", "package_sha256", "detail",
)  # fmt: skip
_OUTPUT_FIELDS = (
    "pk", "attempt__key", "attempt__worker__name", "attempt__trial__trial_id", "number", "phase", "text",
)  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class Cursor:
    """Up to where someone has been told: the latest event, and the latest piece of output."""

    event: int = 0
    output: int = 0

    def to_text(self) -> str:
        """Return the cursor as the identity of a server-sent event."""
        return f"{self.event}.{self.output}"

    def limit(self, latest: Cursor) -> Cursor:
        """Return this cursor, moved back to what there is."""
        return Cursor(min(self.event, latest.event), min(self.output, latest.output))


def parse_cursor(text: str) -> Cursor:
    """Return the cursor of a `Last-Event-ID`; anything else begins at the beginning."""
    event, _, output = text.partition(".")
    if event.isascii() and event.isdigit() and output.isascii() and output.isdigit():
        most = 2**63 - 1
        return Cursor(_parse_number(event, most), _parse_number(output, most))
    return Cursor()


def _parse_number(digits: str, most: int) -> int:
    return most if len(digits) > 19 else min(int(digits), most)


@dataclass(frozen=True, slots=True)
class Page:
    """What happened from one cursor to another: all of it, and for pages only what they show.

    `brief` has every piece of output, and of the events the last alone: there is something to see, it says.
    """

    begin: Cursor
    end: Cursor
    whole: bytes
    brief: bytes
    full: bool  # as many rows as are read at once: there may be more


def find_latest(experiment_id: int, debug_trials: Sequence[int]) -> Cursor:
    """Return the latest event and piece of output of an experiment."""
    event = Event.objects.filter(experiment_id=experiment_id).aggregate(latest=Max("pk"))["latest"]
    output = None
    if debug_trials:
        pieces = OutputPiece.objects.filter(attempt__trial__in=debug_trials)
        output = pieces.aggregate(latest=Max("pk"))["latest"]
    return Cursor(event or 0, output or 0)


def find_debug_trials(experiment_id: int) -> list[int]:
    """Return the debug trials of an experiment: the few with output, all there from its beginning."""
    # In the index of names, which coordinator/submission.py gives them, they stand side by side.
    debug = Trial.objects.filter(
        experiment_id=experiment_id, trial_id__gte="debug", trial_id__lt="debuh", purpose=TrialPurpose.DEBUG
    )
    return list(debug.order_by("pk").values_list("pk", flat=True))


def read_page(
    experiment_id: int,
    debug_trials: Sequence[int],
    begin: Cursor,
    names: dict[str, str],
    latest: Cursor | None = None,
) -> Page:
    """Return what happened behind a cursor, up to another if there is one, and no more than is read at once.

    `names` are workers' by identity; what is missing is read and added.
    """
    whole: list[bytes] = []
    cursor, full = begin, False
    for pk, told in _read_output(debug_trials, begin, latest):
        cursor = Cursor(cursor.event, pk)
        whole.append(write_event("output", cursor, told))
    output = list(whole)
    full = len(output) >= _MOST_AT_ONCE
    events = Event.objects.filter(experiment_id=experiment_id, pk__gt=begin.event)
    if latest is not None:
        events = events.filter(pk__lte=latest.event)
    rows = list(events.order_by("pk").values_list(*_EVENT_FIELDS, named=True)[:_MOST_AT_ONCE])
    full = full or len(rows) >= _MOST_AT_ONCE
    _add_names({row.worker_id for row in rows}, names)
    for row in rows:
        cursor = Cursor(row.id, cursor.output)
        whole.append(write_event("event", cursor, describe_event(row, names.get(row.worker_id, ""))))
    brief = [*output, whole[-1]] if rows else output
    return Page(begin, cursor, b"".join(whole), b"".join(brief), full)


def write_event(kind: str, cursor: Cursor, told: News) -> bytes:
    """Return a server-sent event; JSON has no line breaks in it."""
    return f"id: {cursor.to_text()}\n".encode() + write_body(kind, told)


def write_body(kind: str, told: News) -> bytes:
    """Return a server-sent event without its identity."""
    return b"event: " + kind.encode() + b"\ndata: " + msgspec.json.encode(told) + b"\n\n"


def _read_output(
    debug_trials: Sequence[int], begin: Cursor, latest: Cursor | None
) -> list[tuple[int, OutputNews]]:
    if not debug_trials:
        return []
    pieces = OutputPiece.objects.filter(attempt__trial__in=debug_trials, pk__gt=begin.output)
    if latest is not None:
        pieces = pieces.filter(pk__lte=latest.output)
    rows = pieces.order_by("pk").values_list(*_OUTPUT_FIELDS)[:_MOST_AT_ONCE]
    return [
        (pk, OutputNews(attempt, worker, trial, number, phase, text))
        for pk, attempt, worker, trial, number, phase, text in rows
    ]


def _add_names(worker_ids: set[str], names: dict[str, str]) -> None:
    missing = worker_ids - names.keys() - {""}
    if missing:
        names |= dict(FleetWorker.objects.filter(pk__in=missing).values_list("pk", "name"))
