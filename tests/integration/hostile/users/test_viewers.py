"""Users who look on, many at once and for ever: they are told everything, and cost those who work nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import socket
import sys
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from integration.service.databases import use_database
from integration.service.fleets import START_S, join, list_leases, make_user, submit
from integration.service.played_fleet import Coordinator, enrol
from integration.service.played_fleet import submit as submit_played

from datamill.service.accounts import make_api_key
from datamill.service.coordinator.experiments.experiments import cancel_experiment
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
from datamill.service.coordinator.step import step
from datamill.service.models import Attempt, Event, OutputPiece
from datamill.service.watching import changes, feed
from datamill.service.watching.changes import Cursor, parse_cursor
from datamill.service.watching.places import BUNDLES, PLACES, FullError
from datamill.service.watching.viewing import follow

VIEWERS = 50


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "_POLL_S", 0.01)


@pytest.fixture(autouse=True)
def nobody_is_left() -> Iterator[None]:
    yield
    gc.collect()
    assert PLACES.taken == 0


def note(number: int, count: int = 1) -> None:
    """Have something happen in an experiment."""
    with transaction.atomic():
        add_events([NewEvent(EventKind.MOVED, experiment_id=number, detail="x" * 50)] * count, START_S)


def begin() -> int:
    """An experiment with a debug trial under way, whose output may be told."""
    number = submit([join().worker_id], debug="first")
    step(START_S)
    assert list_leases(START_S)
    return number


def print_something(number: int) -> None:
    attempt = Attempt.objects.get(trial__experiment=number)
    OutputPiece.objects.create(
        attempt=attempt, number=OutputPiece.objects.count(), phase="run", text="some words\n"
    )


def end(number: int) -> None:
    cancel_experiment(number, User.objects.get(username="ada"), START_S)


def parse(text: bytes) -> list[tuple[str, str, dict[str, Any]]]:
    """Identity, kind and content of what was told."""
    told = []
    for block in text.decode().split("\n\n"):
        fields = dict(line.partition(": ")[::2] for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            told.append((fields["id"], fields["event"], json.loads(fields["data"])))
    return told


async def read_all(number: int, cursor: Cursor = Cursor(), *, brief: bool = False) -> bytes:  # noqa: B008
    place = PLACES.take(1)
    return b"".join([piece async for piece in follow(number, cursor, place, brief=brief)])


def play(script: Callable[[], Awaitable[Any]]) -> Any:
    """Run a coroutine whose database work is done in this thread."""

    async def run() -> Any:
        return await script()

    return async_to_sync(run)()


class Counted:
    """A feed whose looks at the database are counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.looks = self.pages = 0
        reader: Any = feed.ExperimentReader
        look, read_earlier = reader.look, reader.read_earlier

        def counted_look(self_: Any, cursor: Cursor | None) -> Any:
            self.looks += 1
            return look(self_, cursor)

        def counted_read(self_: Any, first: Cursor, latest: Cursor) -> Any:
            self.pages += 1
            return read_earlier(self_, first, latest)

        monkeypatch.setattr(reader, "look", counted_look)
        monkeypatch.setattr(reader, "read_earlier", counted_read)


@pytest.mark.usefixtures("database")
def test_fifty_viewers_cost_the_database_what_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "_POLL_S", 0.05)
    number = begin()
    counted = Counted(monkeypatch)

    async def look_on() -> list[bytes]:
        viewers = [asyncio.create_task(read_all(number)) for _ in range(VIEWERS)]
        for _ in range(5):
            await sync_to_async(note)(number, 3)
            await asyncio.sleep(0.06)
        await sync_to_async(end)(number)
        return await asyncio.gather(*viewers)

    with CaptureQueriesContext(connection) as asked:
        told = play(look_on)
    reads = [query for query in asked.captured_queries if query["sql"].startswith("SELECT")]
    # Experiment, debug trials, output, events, names, counts and paces of a look; a few for the ending.
    assert len(reads) <= 8 * (counted.looks + counted.pages) + 40
    assert counted.pages <= 3
    assert all(parse(text)[-1][1] == "end" for text in told)
    events = list(Event.objects.filter(experiment_id=number).order_by("pk").values_list("pk", flat=True))
    for text in told:
        assert [content["id"] for _, kind, content in parse(text) if kind == "event"] == events


def read_in_parts(number: int, chance: Random, between: Callable[[], None]) -> list[tuple[str, str, Any]]:
    """Follow an experiment, break off again and again after any piece of news, and go on behind it."""
    told: list[tuple[str, str, Any]] = []

    async def follow_once() -> bool:
        cursor = parse_cursor(told[-1][0] if told else "")
        place = PLACES.take(1)
        stream: Any = follow(number, cursor, place, brief=False)
        most = chance.randint(1, 12)
        try:
            async for piece in stream:
                for news in parse(piece):
                    told.append(news)
                    most -= 1
                    if news[1] == "end":
                        return True
                    if most <= 0:
                        return False
                await sync_to_async(between)()
        finally:
            await stream.aclose()
        return False

    while not play(follow_once):
        between()
    return told


@pytest.mark.usefixtures("database", "quick")
@pytest.mark.parametrize(("seed", "kept_bytes"), [(0, 0), (1, 8 << 20)])
def test_whoever_breaks_off_anywhere_misses_nothing_and_hears_nothing_twice(
    monkeypatch: pytest.MonkeyPatch, seed: int, kept_bytes: int
) -> None:
    # Pages of a few rows, kept or dropped at once: both ways, and the change from one to the other.
    monkeypatch.setattr(changes, "_MOST_AT_ONCE", 4)
    monkeypatch.setattr(feed, "_MOST_KEPT_BYTES", kept_bytes)
    number, chance = begin(), Random(seed)
    note(number, 10)
    left = [25]

    def go_on() -> None:
        if left[0]:
            left[0] -= 1
            note(number, chance.randint(0, 6))
            print_something(number)
            if not left[0]:
                end(number)

    told = read_in_parts(number, chance, go_on)
    events = Event.objects.filter(experiment_id=number).order_by("pk").values_list("pk", flat=True)
    pieces = OutputPiece.objects.order_by("pk").values_list("number", flat=True)
    assert [content["id"] for _, kind, content in told if kind == "event"] == list(events)
    assert [content["number"] for _, kind, content in told if kind == "output"] == list(pieces)
    assert told[-1][1] == "end"


@pytest.mark.usefixtures("memory_database", "quick")
def test_many_who_come_at_once_from_the_beginning_have_it_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    number = begin()
    note(number, 5000)
    end(number)
    counted = Counted(monkeypatch)

    async def look_on() -> list[bytes]:
        return await asyncio.gather(*(read_all(number) for _ in range(VIEWERS)))

    told = play(look_on)
    assert counted.pages <= 5000 // changes._MOST_AT_ONCE + 2
    assert len({len(parse(text)) for text in told}) == 1
    assert len(parse(told[0])) > 5000


@pytest.mark.usefixtures("memory_database", "quick")
def test_pages_are_told_that_something_happened_and_not_all_of_it() -> None:
    number = begin()
    note(number, 2000)
    print_something(number)
    end(number)
    told = parse(play(lambda: read_all(number, brief=True)))
    kinds = [kind for _, kind, _ in told]
    assert kinds.count("event") <= 2000 // changes._MOST_AT_ONCE + 1
    assert (kinds.count("output"), kinds[-1]) == (1, "end")
    assert told[-1][0].startswith(f"{Event.objects.order_by('-pk')[0].pk}.")


@pytest.mark.usefixtures("memory_database", "quick")
def test_a_place_beyond_everything_that_happened_is_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    number = begin()
    counted = Counted(monkeypatch)

    async def look_on() -> bytes:
        viewer = asyncio.create_task(read_all(number, parse_cursor(f"{10**18}.{10**18}")))
        async with asyncio.timeout(60):
            while counted.looks < 2:
                await asyncio.sleep(0.01)
        await sync_to_async(end)(number)
        return await viewer

    kinds = [content["kind"] for _, kind, content in parse(play(look_on)) if kind == "event"]
    assert kinds[-1] == "experiment cancelled"
    assert "attempt leased" not in kinds


@pytest.mark.usefixtures("memory_database", "quick")
def test_views_end_when_the_database_fails_and_come_back_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    number = begin()
    end(number)
    look = feed.ExperimentReader.look
    monkeypatch.setattr(feed.ExperimentReader, "look", lambda *_: 1 / 0)
    assert play(lambda: read_all(number)) == b""
    monkeypatch.setattr(feed.ExperimentReader, "look", look)
    assert parse(play(lambda: read_all(number)))[-1][1] == "end"


@pytest.mark.usefixtures("memory_database")
def test_one_user_cannot_take_the_places_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "MOST_VIEWERS_A_USER", 3, raising=False)
    monkeypatch.setattr(settings, "MOST_VIEWERS", 5, raising=False)
    number = begin()
    ada, bob = User.objects.get(username="ada"), make_user("bob", staff=True)
    places = [PLACES.take(ada.pk) for _ in range(3)]
    client = Client(headers={"Authorization": f"Bearer {make_api_key(ada, 'a')}"})
    refused = client.get(f"/api/experiments/{number}/stream")
    assert refused.status_code == 429
    assert "3 live views" in refused.json()["message"]
    page = Client()
    page.force_login(ada)
    assert page.get(f"/experiments/{number}/stream").status_code == 429
    places += [PLACES.take(bob.pk) for _ in range(2)]
    with pytest.raises(FullError, match="5 live views are open"):
        PLACES.take(bob.pk)
    for place in places:
        place.leave()
        place.leave()
    PLACES.take(ada.pk).leave()


@pytest.mark.usefixtures("memory_database")
def test_one_user_cannot_have_many_bundles_made_at_once() -> None:
    number = begin()
    ada = User.objects.get(username="ada")
    client = Client(headers={"Authorization": f"Bearer {make_api_key(ada, 'a')}"})
    page = Client()
    page.force_login(ada)
    places = [BUNDLES.take(ada.pk) for _ in range(settings.MOST_BUNDLES_A_USER)]
    refused = client.get(f"/api/experiments/{number}/bundle")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "30")
    assert "3 bundles" in refused.json()["message"]
    assert page.get(f"/experiments/{number}/bundle").status_code == 429
    for place in places:
        place.leave()
    # One that fails, as its packages are not there, or is not read, holds no place either.
    for _ in range(2 * settings.MOST_BUNDLES_A_USER):
        assert client.get(f"/api/experiments/{number}/bundle").status_code == 500
    gc.collect()
    assert BUNDLES.taken == 0


@pytest.mark.usefixtures("memory_database")
def test_a_view_that_never_began_gives_its_place_back() -> None:
    number = begin()
    ada = User.objects.get(username="ada")
    client = Client(headers={"Authorization": f"Bearer {make_api_key(ada, 'a')}"})
    answer = client.get(f"/api/experiments/{number}/stream")
    assert answer.status_code == 200
    assert PLACES.taken == 1
    answer.close()
    del answer
    # That nobody is left is checked after each of these tests.


@contextlib.contextmanager
def serving(folder: Path, database: str = "") -> Iterator[tuple[Coordinator, int, str]]:
    """A coordinator with an experiment in which much happened, and a key to look at it."""
    data = folder / "data"
    data.mkdir()
    url = database or f"sqlite:///{data / 'coordinator.sqlite3'}"
    use_database(url)
    enrol(["one", "two"])
    number = submit_played(40)
    key = make_api_key(User.objects.get(username="ada"), "viewer")
    coordinator = Coordinator(data, ("--database", database) if database else ())
    try:
        yield coordinator, number, key
    finally:
        if coordinator.process is not None and coordinator.process.poll() is None:
            coordinator.kill()
        connection.close()
        use_database("sqlite://")


def open_stream(coordinator: Coordinator, number: int, key: str, last: str = "") -> socket.socket:
    viewer = socket.socket()
    viewer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    viewer.connect(("127.0.0.1", coordinator.port))
    viewer.sendall(
        f"GET /api/experiments/{number}/stream HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {key}\r\n"
        f"Last-Event-ID: {last}\r\n\r\n".encode()
    )
    return viewer


def read_memory_mib(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def ask_for_login_s(coordinator: Coordinator) -> float:
    began_s = time.monotonic()
    with urllib.request.urlopen(f"{coordinator.url}/login", timeout=30) as answer:
        assert answer.status == 200
    return time.monotonic() - began_s


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_viewers_that_never_read_hold_no_memory_and_no_one_up(tmp_path: Path) -> None:
    with serving(tmp_path) as (coordinator, number, key):
        # Twenty megabytes for each of them, if it were kept.
        note(number, 80_000)
        coordinator.start()
        coordinator.wait_until_well()
        assert coordinator.process is not None
        ask_for_login_s(coordinator)
        before = read_memory_mib(coordinator.process.pid)
        viewers = [open_stream(coordinator, number, key) for _ in range(VIEWERS)]
        try:
            waits = []
            for _ in range(10):
                waits.append(ask_for_login_s(coordinator))
                time.sleep(0.3)
            grown = read_memory_mib(coordinator.process.pid) - before
            assert grown < 120, f"{grown:.0f} MiB"
            # A busy machine takes its time; held up by the viewers, it would take minutes.
            assert sorted(waits)[5] < 10.0, waits
            assert coordinator.is_well()
            # What they were sent is the beginning of what happened.
            assert b"event: event" in viewers[0].recv(1 << 16)
        finally:
            for viewer in viewers:
                viewer.close()


def test_viewers_hold_no_connections_to_the_database(tmp_path: Path, postgres_url: str) -> None:
    with serving(tmp_path, postgres_url) as (coordinator, number, key):
        coordinator.start()
        coordinator.wait_until_well()
        viewers = [open_stream(coordinator, number, key) for _ in range(VIEWERS)]
        try:
            for viewer in viewers:
                viewer.settimeout(60)
                heard = b""
                while b"event: progress" not in heard:
                    heard += viewer.recv(1 << 16)
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT COUNT(*) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
                # The writer, two that read for viewers, and what a request just answered had.
                assert cursor.fetchone()[0] <= 8
        finally:
            for viewer in viewers:
                viewer.close()
