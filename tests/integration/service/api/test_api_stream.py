"""What is told live of an experiment, and what the client makes of it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from django.conf import settings
from integration.service.api_users import ApiUser, make_submission
from integration.service.fleets import START_S, join, list_leases, say, tell_record

from datamill.cli.coordinator.event_stream import StreamEvent, parse_events
from datamill.protocol.api.events import EventLine
from datamill.protocol.fleet import Output
from datamill.service.coordinator.experiments.experiments import cancel_experiment
from datamill.service.coordinator.step import step
from datamill.service.watching import feed
from datamill.service.watching.changes import Cursor, parse_cursor


@pytest.fixture(autouse=True)
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "DATA_FOLDER", tmp_path / "data")
    monkeypatch.setattr(feed, "_POLL_S", 0.001)


def read_stream(user: ApiUser, number: int, **headers: str) -> list[StreamEvent]:
    """The whole stream of an experiment that has ended."""
    return list(parse_events(user.read(f"/experiments/{number}/stream", **headers).decode().split("\n")))


@pytest.mark.usefixtures("database")
def test_a_stream_ends_without_an_end_when_the_coordinator_does() -> None:
    ada = ApiUser("ada")
    join("one")
    number = ada.post("/experiments", make_submission(ada.user))[1]["id"]
    feed.ENDING.set()
    try:
        kinds = [event.kind for event in read_stream(ada, number)]
    finally:
        feed.ENDING.clear()
    assert "progress" in kinds
    assert "end" not in kinds


@pytest.mark.usefixtures("database")
def test_a_stream_tells_output_events_progress_and_the_end_in_order() -> None:
    ada = ApiUser("ada")
    join("one")
    number = ada.post("/experiments", make_submission(ada.user, debug="first"))[1]["id"]
    now_s = START_S
    step(now_s)
    ((worker_id, lease),) = list_leases(now_s).items()
    assert lease.live_output
    for piece, text in enumerate(("half a li", "ne\nand another\n")):
        say(worker_id, Output(lease.attempt, "run", piece, text), now_s)
    say(worker_id, tell_record(lease), now_s)
    cancel_experiment(number, ada.user, now_s)
    events = read_stream(ada, number)
    pieces = [event.content.text for event in events if event.kind == "output"]
    assert "".join(pieces) == "half a line\nand another\n"
    kinds = [event.content.kind for event in events if event.kind == "event"]
    assert kinds[0] == "experiment submitted"
    assert "experiment cancelled" in kinds
    leased = next(event for event in events if getattr(event.content, "kind", "") == "attempt leased")
    assert leased.content.worker == "one"
    progress = [event.content for event in events if event.kind == "progress"][-1]
    assert progress.trials == {"cancelled": 4}
    assert progress.debug_trials == {"cancelled": 1, "done": 1}
    assert (events[-1].kind, events[-1].content.state) == ("end", "cancelled")


@pytest.mark.usefixtures("database")
def test_a_stream_goes_on_where_it_broke_off(monkeypatch: pytest.MonkeyPatch) -> None:
    # As many at once as it takes several looks to tell them all.
    monkeypatch.setattr("datamill.service.watching.changes._MOST_AT_ONCE", 3)
    ada = ApiUser("ada")
    join("one")
    number = ada.post("/experiments", make_submission(ada.user))[1]["id"]
    now_s = START_S
    while True:
        now_s += 1.0
        step(now_s)
        leases = list_leases(now_s)
        if not leases:
            break
        for worker_id, lease in leases.items():
            say(worker_id, tell_record(lease), now_s)
    whole = [event for event in read_stream(ada, number) if event.kind == "event"]
    assert len({event.content.id for event in whole}) == len(whole) > 8
    assert whole[-1].content.kind == "experiment completed"
    for middle in (whole[0], whole[4], whole[-1]):
        rest = read_stream(ada, number, **{"Last-Event-ID": middle.identity})
        told = [event.content.id for event in rest if event.kind == "event"]
        assert told == [event.content.id for event in whole if event.content.id > middle.content.id]
        assert rest[-1].kind == "end"


@pytest.mark.usefixtures("database")
def test_streams_of_others_are_not_there() -> None:
    ada, bob = ApiUser("ada"), ApiUser("bob")
    join("one")
    number = ada.post("/experiments", make_submission(ada.user))[1]["id"]
    assert bob.get(f"/experiments/{number}/stream")[0] == 404


@pytest.mark.parametrize("text", ["", "x", "1", "1.", ".2", "-1.2", "1.2.3", "१.२", "1e3.4"])
def test_a_cursor_that_is_none_begins_at_the_beginning(text: str) -> None:
    assert parse_cursor(text) == Cursor()


@pytest.mark.usefixtures("memory_database")
def test_a_cursor_beyond_everything_is_one() -> None:
    assert parse_cursor(f"{10**40}.7").event == 2**63 - 1
    assert parse_cursor(Cursor(3, 4).to_text()) == Cursor(3, 4)


def test_events_are_read_whatever_stands_between_them() -> None:
    told = EventLine(1, 0.0, "attempt leased", "", "pi", 7, "", "", "")
    data = msgspec.json.encode(told).decode()
    lines = [
        ": nothing new", "", "id: 1.0", "event: event", f"data: {data}", "",
        "id: 2.0", "event: of a newer coordinator", "data: {}", "", "data: torn off",
    ]  # fmt: skip
    assert list(parse_events(lines)) == [StreamEvent("event", told, "1.0")]
