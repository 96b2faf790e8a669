"""What `datamill queue` says of a coordinator's queue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import CliRunner

from datamill.cli.fleet import queue as verb
from datamill.protocol.api.fleet.queue import FleetQueue, QueuedExperiment, QueuedUser


def make_queue(*users: str, state: str = "running") -> FleetQueue:
    """Each user has an experiment that waits for the user's turn."""
    return FleetQueue(
        0.0,
        tuple(QueuedUser(user, 1.0, 0, 1.0, 1, 1 / len(users), 0.0, 0.0, 0.0) for user in users),
        tuple(
            QueuedExperiment(number, "loops", user, state, 1.0, "its turn", 1, 0, 0, 1, None, 0.0)
            for number, user in enumerate(users, start=1)
        ),
    )


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Say what the verb prints of a queue."""

    def show(queue: FleetQueue) -> str:
        class Coordinator:
            def get(self, path: str, kind: object) -> FleetQueue:
                assert (path, kind) == ("/queue", FleetQueue)
                return queue

        @contextmanager
        def connect(*_: object) -> Iterator[Coordinator]:
            yield Coordinator()

        monkeypatch.setattr(verb, "connect", connect)
        done = CliRunner().invoke(verb.queue, [])
        assert done.exit_code == 0, done.output
        return done.output

    return show


def test_one_user_is_not_spoken_of_as_several(shown: Any) -> None:
    assert "1 experiment has not ended; 1 user waits for machines or has some." in shown(make_queue("ann"))
    assert "2 experiments have not ended; 2 users wait for machines or have some." in shown(
        make_queue("ann", "kurt")
    )


def test_a_held_experiment_begins_when_it_is_released(shown: Any) -> None:
    assert "when released" in shown(make_queue("ann", state="held"))
    assert "no telling" in shown(make_queue("ann"))
