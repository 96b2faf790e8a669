"""What is new about an experiment, as server-sent events while it goes on."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections
from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router

from datamill.service.accounts import find_experiment
from datamill.service.api.experiments import ExperimentNumber
from datamill.service.api.schemas import Problem
from datamill.service.models import ENDED_EXPERIMENTS, Experiment
from datamill.service.progress import (
    Cursor,
    count_progress,
    find_debug_trials,
    list_changes,
    parse_cursor,
)

router = Router(tags=["experiments"])
#: Set when the coordinator ends: streams end by themselves then, and their readers come back.
ENDING = threading.Event()
_POLL_S = 1.0
#: Looking costs at most this share of the time, however large the experiment is.
_LOOKING_SHARE = 0.05
#: After so long without news a comment is sent, so that neither side takes the connection for dead.
_HEARTBEAT_S = 15.0


@router.get("/{number}/stream", response={200: None, 404: Problem})
def stream(request: HttpRequest, number: ExperimentNumber) -> StreamingHttpResponse:
    """Send `progress`, `output`, `event` and at last `end`; `Last-Event-ID` continues where it broke off."""
    experiment = find_experiment(request.user, number)
    return send_events(experiment.pk, request.headers.get("Last-Event-ID", ""))


def send_events(experiment_id: int, last_event_id: str) -> StreamingHttpResponse:
    """Answer with what is new about an experiment behind an event, from its beginning when that is empty."""
    news = follow(experiment_id, parse_cursor(last_event_id))
    response = StreamingHttpResponse(news, content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response


class Follower:
    """Looks for what is new about an experiment."""

    def __init__(self, experiment_id: int, cursor: Cursor) -> None:
        self._id = experiment_id
        self._cursor = cursor
        self._told: dict[str, Any] = {}
        self._debug_trials: list[int] | None = None
        self.ended = False

    def look(self) -> str:
        """Return what is new as server-sent events, empty when nothing is."""
        close_old_connections()
        experiment = Experiment.objects.only("id", "state", "state_reason", "ended_unix_s").get(pk=self._id)
        state = {"state": experiment.state, "reason": experiment.state_reason}
        parts = []
        before = self._cursor
        if self._debug_trials is None:
            self._debug_trials = find_debug_trials(self._id)
        for kind, told, cursor in list_changes(self._id, self._debug_trials, self._cursor):
            self._cursor = cursor
            parts.append(self._write(kind, told))
        progress = asdict(count_progress(experiment, time.time()))
        finish_s = progress.pop("finish_s")
        if {**state, **progress} != self._told:
            self._told = {**state, **progress}
            parts.append(self._write("progress", {**self._told, "finish_s": finish_s}))
        # What ended it may have come in more pieces than are told at once.
        if experiment.state in ENDED_EXPERIMENTS and self._cursor == before:
            parts.append(self._write("end", state))
            self.ended = True
        return "".join(parts)

    def _write(self, kind: str, told: dict[str, Any]) -> str:
        return f"id: {self._cursor.to_text()}\nevent: {kind}\ndata: {json.dumps(told)}\n\n"


async def follow(experiment_id: int, cursor: Cursor) -> AsyncIterator[str]:
    """Yield server-sent events until the experiment, or the coordinator, has ended."""
    follower = Follower(experiment_id, cursor)
    # In the thread of the request, which has a connection to the database of its own.
    look = sync_to_async(follower.look)
    quiet_since_s = time.monotonic()
    while True:
        began_s = time.monotonic()
        news = await look()
        took_s = time.monotonic() - began_s
        if news:
            quiet_since_s = time.monotonic()
            yield news
        elif time.monotonic() - quiet_since_s >= _HEARTBEAT_S:
            quiet_since_s = time.monotonic()
            yield ": nothing new\n\n"
        if follower.ended:
            return
        if await _wait_for_end(max(_POLL_S, took_s / _LOOKING_SHARE)):
            return


async def _wait_for_end(wait_s: float) -> bool:
    """Wait, and tell whether the coordinator ends meanwhile."""
    until_s = time.monotonic() + wait_s
    while not ENDING.is_set():
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            return False
        await asyncio.sleep(min(left_s, _POLL_S))
    return True
