"""A broker that is killed, or hangs, again and again: trials go on within ten seconds."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from random import Random

import pytest
from django.db import OperationalError, connections
from integration.service.played_fleet import Coordinator, PlayedWorker, enrol, playing, submit
from nightly import choose_count

from datamill.service.models import Trial

#: Longest time from a death to the next trial that counts, in seconds, on a machine with nothing else to do.
QUIET_RECOVERY_S = 10.0
KILLS = choose_count(4, 20)


def count_counted() -> int:
    try:
        return Trial.objects.filter(state="counted").count()
    except OperationalError:
        connections["default"].close()
        return 0


async def until_more(count: int) -> None:
    while await asyncio.to_thread(count_counted) <= count:
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("who", ["broker", "hung broker"])
def test_trials_go_on_within_ten_seconds_of_a_death(coordinator: Coordinator, who: str) -> None:
    # What else runs here takes its share of the processors.
    most_s = QUIET_RECOVERY_S * max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))

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
            await asyncio.wait_for(until_more(20), 120)
            for _ in range(KILLS):
                began = time.monotonic()
                if who == "broker":
                    os.kill(coordinator.broker_pid, signal.SIGKILL)
                else:
                    pid = coordinator.broker_pid
                    os.kill(pid, signal.SIGSTOP)
                    while (await asyncio.to_thread(coordinator.health) or {}).get("status") != "trouble":
                        assert time.monotonic() - began < most_s, "nobody noticed"
                        await asyncio.sleep(0.05)
                    os.kill(pid, signal.SIGCONT)
                    began = time.monotonic()
                # What was under way in the database may still come in.
                await asyncio.sleep(0.3)
                await asyncio.wait_for(until_more(await asyncio.to_thread(count_counted)), 120)
                took.append(time.monotonic() - began)
                await asyncio.to_thread(coordinator.wait_until_well)
                await asyncio.wait_for(until_more(await asyncio.to_thread(count_counted) + 10), 120)
        return took

    took = asyncio.run(run())
    print(f"{who}: {', '.join(f'{seconds:.1f}' for seconds in took)} s")
    assert max(took) < most_s
