"""Requests are answered by threads that stay, by one call each, and none waits behind a view that goes on."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import path

from datamill.service.front_door.kept_threads import MOST_IDLE, KeptThreads, make_application

#: Threads that a step of a request ran in, in their order.
_seen: list[int] = []
_release = threading.Event()


def note_thread(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware of the test."""

    def answer(request: HttpRequest) -> HttpResponse:
        _seen.append(threading.get_ident())
        return get_response(request)

    return answer


def answer_soon(_: HttpRequest) -> HttpResponse:
    _seen.append(threading.get_ident())
    return HttpResponse("soon")


def answer_late(_: HttpRequest) -> HttpResponse:
    _seen.append(threading.get_ident())
    _release.wait(60)
    return HttpResponse("late")


urlpatterns = [path("soon", answer_soon), path("late", answer_late)]


@pytest.fixture
def application() -> Iterator[KeptThreads]:
    _seen.clear()
    _release.clear()
    with override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[f"{__name__}.note_thread"]):
        yield make_application()
    _release.set()


async def ask(application: KeptThreads, where: str, leaves: asyncio.Event | None = None) -> int:
    """Send one request; return its status, 0 where the client left before there was one."""
    status, sent = 0, False
    stays = leaves or asyncio.Event()

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": b""}
        await stays.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)

    scope = {"type": "http", "method": "GET", "path": where, "query_string": b"", "headers": []}
    await application(scope, receive, send)
    return status


async def work_late(application: KeptThreads, leaves: asyncio.Event) -> asyncio.Task[int]:
    """Ask for what takes until it is released; return once a thread works on it."""
    before = len(_seen)
    asked = asyncio.create_task(ask(application, "/late", leaves))
    while len(_seen) < before + 2:
        await asyncio.sleep(0.005)
    return asked


def test_requests_that_follow_each_other_have_the_same_thread_in_every_step(application: KeptThreads) -> None:
    async def ask_thrice() -> list[int]:
        found = []
        for _ in range(3):
            found.append(await ask(application, "/soon"))
            await asyncio.sleep(0.05)
        return found

    assert asyncio.run(ask_thrice()) == [200, 200, 200]
    assert len(_seen) == 6
    assert len(set(_seen)) == 1


def test_a_request_does_not_wait_behind_a_view_whose_client_has_left(application: KeptThreads) -> None:
    async def leave_and_ask() -> int:
        leaves = asyncio.Event()
        late = await work_late(application, leaves)
        leaves.set()
        await asyncio.sleep(0.05)
        status = await asyncio.wait_for(ask(application, "/soon"), 30)
        assert not late.done()
        _release.set()
        assert await late == 0
        return status

    assert asyncio.run(leave_and_ask()) == 200
    late, soon = set(_seen[:2]), set(_seen[2:])
    assert len(late) == len(soon) == 1
    assert late != soon


def test_a_thread_is_used_again_once_its_view_has_ended(application: KeptThreads) -> None:
    async def leave_and_ask() -> None:
        leaves = asyncio.Event()
        late = await work_late(application, leaves)
        leaves.set()
        _release.set()
        await late
        await ask(application, "/soon")

    asyncio.run(leave_and_ask())
    assert len(set(_seen)) == 1


def test_few_threads_stay_after_many_requests_at_once(application: KeptThreads) -> None:
    async def ask_together() -> None:
        late = [await work_late(application, asyncio.Event()) for _ in range(MOST_IDLE + 4)]
        _release.set()
        assert await asyncio.gather(*late) == [200] * len(late)

    before = threading.active_count()
    asyncio.run(ask_together())
    assert len(set(_seen)) == MOST_IDLE + 4
    assert len(application._idle) == MOST_IDLE
    deadline_s = time.monotonic() + 30
    while threading.active_count() > before + MOST_IDLE:
        assert time.monotonic() < deadline_s, "threads stay"
        time.sleep(0.01)
