"""What is read for viewers is read in threads of their own, which rest most of the time.

The thread that writes shares one interpreter and one database with them. However many experiments are
watched, reading for viewers takes at most a share of one processor: after each piece of work a thread rests.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import DatabaseError, connection

P = ParamSpec("P")
T = TypeVar("T")
#: Share of the time that a thread works, and longest rest between two pieces of work, in seconds.
_WORKING_SHARE = 0.1
_LONGEST_REST_S = 5.0
#: Time after which other long work rests.
_WORKED_S = 0.005


class Rests:
    """Rests of a long piece of work, so that threads which wait for the interpreter get it meanwhile."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()

    def rest(self) -> None:
        """Rest for as long as was worked, when that was a while and there are other threads at all."""
        worked_s = time.monotonic() - self._began_s
        if worked_s >= _WORKED_S and threading.active_count() > 1:
            time.sleep(min(worked_s, _LONGEST_REST_S))
            self._began_s = time.monotonic()


class RestingReader:
    """One thread with a database connection of its own that works at most a tenth of the time.

    Args:
        name: the thread's.
    """

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._ended = threading.Event()
        self._rests_until_s = 0.0

    async def read(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Return what a function returns that reads, when its turn has come."""

        def call() -> T:
            self._ended.wait(max(0.0, self._rests_until_s - time.monotonic()))
            began_s = time.monotonic()
            try:
                return function(*arguments, **options)
            except DatabaseError:
                connection.close()
                raise
            finally:
                now_s = time.monotonic()
                rest_s = (now_s - began_s) * (1 / _WORKING_SHARE - 1)
                self._rests_until_s = now_s + min(rest_s, _LONGEST_REST_S)

        return await asyncio.wrap_future(self._executor.submit(call))

    def close(self) -> None:
        """End the thread with its connection; what has not begun is dropped."""
        self._ended.set()
        self._executor.shutdown(wait=False, cancel_futures=True)


class Readers:
    """The threads that read for viewers: one for what is new, one for those who were away."""

    def __init__(self) -> None:
        self.news = RestingReader("news")
        self.history = RestingReader("history")

    def close(self) -> None:
        """End both."""
        self.news.close()
        self.history.close()


_serving: Readers | None = None


def set_readers(readers: Readers | None) -> None:
    """Say which threads read from now on; None: the thread of the request."""
    global _serving
    _serving = readers


async def read_news(function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Read what is new about an experiment."""
    if _serving is None:
        return await sync_to_async(function)(*arguments, **options)
    return await _serving.news.read(function, *arguments, **options)


async def read_history(function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Read what happened before, for somebody who was away."""
    if _serving is None:
        return await sync_to_async(function)(*arguments, **options)
    return await _serving.history.read(function, *arguments, **options)
