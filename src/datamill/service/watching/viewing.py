"""One viewer of an experiment: what it gets, from where it stands until the end."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.db import connections

from datamill.service.watching.changes import Cursor
from datamill.service.watching.feed import Feed, join_feed, leave_feed
from datamill.service.watching.places import Place

#: After so long without news a comment is sent, so that neither side takes the connection for dead.
_HEARTBEAT_S = 15.0
#: Bytes that are put together before they are sent.
_MOST_TOGETHER = 1 << 18
#: What browsers are told makes each of them ask for parts of its page: together so many times a second.
_BRIEF_A_S = 5.0


async def follow(experiment_id: int, cursor: Cursor, place: Place, *, brief: bool) -> AsyncIterator[bytes]:
    """Yield server-sent events until the experiment, or the coordinator, has ended.

    Args:
        experiment_id: which one.
        cursor: where the viewer stands.
        place: given back at the end.
        brief: whether only the last of several events is told, as for those who look at the page again then.
    """
    try:
        # The thread of the request is not needed any more, and must not hold a connection to the database.
        await sync_to_async(connections.close_all)()
        feed = join_feed(experiment_id)
        try:
            async for news in _tell(feed, await feed.find_start(cursor), brief=brief):
                yield news
        finally:
            leave_feed(experiment_id, feed)
    finally:
        place.leave()


async def _tell(feed: Feed, cursor: Cursor, *, brief: bool) -> AsyncIterator[bytes]:
    told = 0
    sent_s = time.monotonic()
    while True:
        parts: list[bytes] = []
        size = 0
        while feed.latest is not None and cursor != feed.latest and size < _MOST_TOGETHER:
            page = await feed.read_page(cursor)
            # A page without anything in it: what was there is gone, and is not waited for.
            cursor = page.end if page.end != cursor else feed.latest
            parts.append(page.brief if brief else page.whole)
            size += len(parts[-1])
        over = feed.over
        if cursor == feed.latest and told != feed.told:
            told = feed.told
            parts.append(_mark(cursor, feed.progress))
        if cursor == feed.latest and feed.end:
            over = True
            parts.append(_mark(cursor, feed.end))
        if parts:
            yield b"".join(parts)
            sent_s = time.monotonic()
        if over:
            return
        if parts and brief:
            # Not all at the same moment.
            await asyncio.sleep(random.uniform(0.5, 1.5) * feed.viewers / _BRIEF_A_S)
        if cursor != feed.latest or told != feed.told or feed.over:
            continue
        await feed.wait_for_change(max(0.0, sent_s + _HEARTBEAT_S - time.monotonic()))
        if time.monotonic() - sent_s >= _HEARTBEAT_S:
            yield b": nothing new\n\n"
            sent_s = time.monotonic()


def _mark(cursor: Cursor, body: bytes) -> bytes:
    return f"id: {cursor.to_text()}\n".encode() + body
