"""A coordinator that is killed again and again, and started at once: trials go on within ten seconds."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from django.db import OperationalError, connections
from integration.hostile.recovery.quiet_time import QuietTime
from integration.service.databases import use_database
from integration.service.played_fleet import Coordinator, PlayedWorker, enrol, playing, submit
from running.nightly import choose_count

from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.models import Trial

#: Longest time from a death to the next trial that counts, in seconds of a machine with nothing else to do.
MOST_RECOVERY_S = 10.0
KILLS = choose_count(3, 20)


@pytest.fixture(params=["sqlite", "postgresql"])
def coordinator(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Coordinator]:
    """A coordinator on each kind of database, not started; whatever it started is ended."""
    data = tmp_path / "data"
    data.mkdir()
    url = f"sqlite:///{data / 'coordinator.sqlite3'}"
    options: tuple[str, ...] = ()
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_url")
        options = ("--database", url)
    use_database(url)
    served = Coordinator(data, options)
    yield served
    if served.process is not None and served.process.poll() is None:
        served.kill(signal.SIGTERM)
    connections["default"].close()
    use_database("sqlite://")


def count_counted() -> int:
    try:
        return Trial.objects.filter(state="counted").count()
    except OperationalError:
        connections["default"].close()
        return 0


async def until_more(count: int, coordinator: Coordinator) -> None:
    """Wait until more trials count than a moment ago."""
    deadline = time.monotonic() + 240
    while await asyncio.to_thread(count_counted) <= count:
        assert coordinator.process is not None
        assert coordinator.process.poll() is None, coordinator.log()
        assert time.monotonic() < deadline, coordinator.log()
        await asyncio.sleep(0.02)


def test_trials_go_on_within_ten_seconds_of_a_coordinators_death(coordinator: Coordinator) -> None:
    async def run() -> list[float]:
        identities = await asyncio.to_thread(enrol, ["m1", "m2", "m3", "m4"])
        await asyncio.to_thread(submit, 4000)
        coordinator.start()
        await asyncio.to_thread(coordinator.wait_until_well)
        fleet = [
            PlayedWorker(identity, coordinator.broker_url, coordinator.keys(), Random(number), 0.1)
            for number, identity in enumerate(identities)
        ]
        took = []
        async with playing(fleet):
            await until_more(20, coordinator)
            for _ in range(KILLS):
                await asyncio.to_thread(coordinator.kill)
                since = QuietTime()
                counted = await asyncio.to_thread(count_counted)
                coordinator.start()
                await until_more(counted, coordinator)
                took.append(since.quiet_s())
                print(f"{since.elapsed_s():.1f} s, of which {took[-1]:.1f} s count")
                await until_more(counted + 20, coordinator)
        return took

    took = asyncio.run(run())
    assert max(took) < MOST_RECOVERY_S
    assert not find_violations()
