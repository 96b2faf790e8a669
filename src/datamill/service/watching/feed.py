"""One feed for each experiment that is watched: what is new is read once, and all viewers get the same bytes.

A feed begins with its first viewer and ends with its last. It looks every second, less often when a look
takes long, and keeps what it told lately as pages. A viewer is a place in these pages: nothing waits for it
anywhere, and one that reads too slowly for them goes on with pages from the database.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import msgspec

from datamill.protocol.api.events import EndNews, ProgressNews
from datamill.service.coordinator.experiments.follow_ups import awaits_follow_up
from datamill.service.models import FleetExperiment
from datamill.service.progress import count_progress
from datamill.service.states import ENDED_EXPERIMENTS
from datamill.service.watching.changes import (
    Cursor,
    Page,
    find_debug_trials,
    find_latest,
    read_page,
    write_body,
)
from datamill.service.watching.reading import read_history, read_news

log = logging.getLogger("datamill.service")

#: Set when the coordinator ends: streams end by themselves then, and their readers come back.
ENDING = threading.Event()
_POLL_S = 1.0
#: How long who watches a screening that has ended waits for the experiment that follows it.
_LONGEST_FOLLOW_S = 600.0
#: Looking takes at most this share of the time of a feed, and it looks at least so often.
_LOOKING_SHARE = 0.05
_LONGEST_PAUSE_S = 30.0
#: Bytes of the pages that a feed keeps: of what it told lately, and of what those asked for who were away.
_MOST_KEPT_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class FeedLook:
    """What one look at an experiment gave."""

    latest: Cursor
    page: Page | None
    progress: bytes  # without its identity
    counts: object  # what of it matters: without the estimate, which changes all the time
    end: bytes  # empty while the experiment goes on
    took_s: float


class ExperimentReader:
    """Looks at one experiment; in one thread at a time."""

    def __init__(self, experiment_id: int) -> None:
        self.experiment_id = experiment_id
        self._names: dict[str, str] = {}
        self._debug_trials: list[int] | None = None

    def look(self, cursor: Cursor | None) -> FeedLook:
        """Return how far the experiment is, and what is new behind a cursor; None: from now on."""
        began_s = time.monotonic()
        experiment = FleetExperiment.objects.only("id", "state", "state_reason", "ended_unix_s").get(
            pk=self.experiment_id
        )
        # Asked before what is new is read: what follows is then among that, or still awaited.
        ended = experiment.state in ENDED_EXPERIMENTS and not self._awaits_follow_up(experiment)
        debug_trials = self._find_debug_trials()
        page = None
        if cursor is None:
            latest = find_latest(self.experiment_id, debug_trials)
        else:
            page = read_page(self.experiment_id, debug_trials, cursor, self._names)
            latest = page.end
        found = count_progress(experiment, time.time())
        state, reason = experiment.state, experiment.state_reason
        progress = ProgressNews(
            state, reason, found.trials, found.debug_trials, found.workers, found.finish_s
        )
        # What ended it may have come in more pieces than are told at once.
        over = ended and (page is None or page.begin == page.end)
        return FeedLook(
            latest,
            page,
            write_body("progress", progress),
            msgspec.structs.replace(progress, finish_s=None),
            write_body("end", EndNews(state, reason)) if over else b"",
            time.monotonic() - began_s,
        )

    def read_earlier(self, begin: Cursor, latest: Cursor) -> Page:
        """Return what happened behind one cursor, up to another."""
        # Names of its own: the other thread may be adding to those.
        return read_page(self.experiment_id, self._find_debug_trials(), begin, dict(self._names), latest)

    def _awaits_follow_up(self, experiment: FleetExperiment) -> bool:
        """Whether who watches a screening will soon hear which experiment follows it."""
        is_recent = time.time() - (experiment.ended_unix_s or 0.0) < _LONGEST_FOLLOW_S
        return is_recent and awaits_follow_up(self.experiment_id)

    def _find_debug_trials(self) -> list[int]:
        if self._debug_trials is None:
            self._debug_trials = find_debug_trials(self.experiment_id)
        return self._debug_trials


class KeptPages:
    """Pages by where they begin, the oldest of which are dropped; bounded in bytes."""

    def __init__(self) -> None:
        self._pages: OrderedDict[Cursor, Page] = OrderedDict()
        self._bytes = 0

    def find(self, begin: Cursor) -> Page | None:
        """Return the page that begins there, if it is kept."""
        return self._pages.get(begin)

    def keep(self, page: Page) -> None:
        """Keep a page."""
        if page.begin in self._pages:
            return
        self._pages[page.begin] = page
        self._bytes += len(page.whole) + len(page.brief)
        while self._bytes > _MOST_KEPT_BYTES and len(self._pages) > 1:
            _, dropped = self._pages.popitem(last=False)
            self._bytes -= len(dropped.whole) + len(dropped.brief)


class Feed:
    """What is told of one experiment; used in the event loop alone."""

    def __init__(self, experiment_id: int) -> None:
        self._reader = ExperimentReader(experiment_id)
        self._experiment_id = experiment_id
        self.viewers = 0
        self.latest: Cursor | None = None
        self.progress = b""
        self.told = 0  # how often the progress changed
        self.end = b""
        self.over = False  # no more will come: the coordinator ends, or looking failed
        self.looks = 0
        self._began_s = 0.0
        self._counts: object = None
        self._news = KeptPages()
        self._history = KeptPages()
        self._reading: dict[Cursor, asyncio.Task[Page]] = {}
        self._changed = asyncio.Event()
        self._looking = asyncio.create_task(self._look_on(), name=f"feed of experiment {experiment_id}")

    async def wait_for_change(self, timeout_s: float | None = None) -> None:
        """Wait until something is new, or for so long."""
        changed = self._changed
        try:
            await asyncio.wait_for(changed.wait(), timeout_s)
        except TimeoutError:
            return

    async def find_start(self, cursor: Cursor) -> Cursor:
        """Return a viewer's cursor, moved back to what there is: one from elsewhere may be beyond it."""
        asked_s = time.monotonic()
        while True:
            latest = self.latest
            is_new = self.over or self._began_s >= asked_s
            if latest is not None and (is_new or cursor.limit(latest) == cursor):
                return cursor.limit(latest)
            if self.over:
                return cursor
            await self.wait_for_change(_POLL_S)

    async def read_page(self, begin: Cursor) -> Page:
        """Return the page that begins at a cursor before the latest; the same one for all who ask for it."""
        page = self._news.find(begin) or self._history.find(begin)
        if page is not None:
            return page
        reading = self._reading.get(begin)
        if reading is None:
            reading = self._reading[begin] = asyncio.create_task(self._read_earlier(begin))
        # Of several who wait for it one may go.
        return await asyncio.shield(reading)

    def close(self) -> None:
        """End with the last viewer."""
        self._looking.cancel()
        for reading in self._reading.values():
            reading.cancel()

    async def _read_earlier(self, begin: Cursor) -> Page:
        assert self.latest is not None
        try:
            page = await read_history(self._reader.read_earlier, begin, self.latest)
        finally:
            del self._reading[begin]
        if page.full:
            self._history.keep(page)
        return page

    async def _look_on(self) -> None:
        try:
            while self.latest is None or not ENDING.is_set():
                self._began_s = time.monotonic()
                look = await read_news(self._reader.look, self.latest)
                self._take_in(look)
                if look.page is None or not look.page.full:
                    await _wait_for_end(min(max(_POLL_S, look.took_s / _LOOKING_SHARE), _LONGEST_PAUSE_S))
        except asyncio.CancelledError:
            raise
        except Exception as error:
            # Viewers come back, and find a feed that is well or none.
            log.warning("live views of experiment %s broke off: %r", self._experiment_id, error)
        finally:
            self.over = True
            self._tell()

    def _take_in(self, look: FeedLook) -> None:
        first = self.latest is None
        if look.page is not None and look.page.begin != look.page.end:
            self._news.keep(look.page)
        changed = first or look.latest != self.latest or look.counts != self._counts or look.end != self.end
        if look.counts != self._counts:
            self._counts = look.counts
            self.progress = look.progress
            self.told += 1
        self.latest, self.end = look.latest, look.end
        self.looks += 1
        if changed:
            self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


async def _wait_for_end(wait_s: float) -> None:
    """Wait, no longer than the coordinator works."""
    until_s = time.monotonic() + wait_s
    while not ENDING.is_set() and (left_s := until_s - time.monotonic()) > 0:
        await asyncio.sleep(min(left_s, _POLL_S))


_feeds: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, Feed]] = WeakKeyDictionary()


def join_feed(experiment_id: int) -> Feed:
    """Return the feed of an experiment, which begins with its first viewer; `leave_feed` must follow."""
    feeds = _feeds.setdefault(asyncio.get_running_loop(), {})
    feed = feeds.get(experiment_id)
    if feed is None or feed.over:
        feed = feeds[experiment_id] = Feed(experiment_id)
    feed.viewers += 1
    return feed


def leave_feed(experiment_id: int, feed: Feed) -> None:
    """Note that a viewer left; the last one ends the feed."""
    feed.viewers -= 1
    if feed.viewers:
        return
    feed.close()
    feeds = _feeds.get(asyncio.get_running_loop(), {})
    if feeds.get(experiment_id) is feed:
        del feeds[experiment_id]
