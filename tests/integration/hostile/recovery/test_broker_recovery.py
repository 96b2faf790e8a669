"""A broker that is killed, or hangs, again and again: trials go on within ten seconds."""

from __future__ import annotations

import asyncio
import os
import signal
from random import Random

import pytest
from django.db import OperationalError, connections
from integration.hostile.recovery.quiet_time import QuietTime
from integration.service.played_fleet import Coordinator, PlayedWorker, enrol, playing, submit
from running.nightly import choose_count

from datamill.service.models import Trial

#: Longest time from a death to the next trial that counts, in seconds of a machine with nothing else to do.
MOST_RECOVERY_S = 10.0
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
                since = QuietTime()
                if who == "broker":
                    os.kill(coordinator.broker_pid, signal.SIGKILL)
                else:
                    pid = coordinator.broker_pid
                    os.kill(pid, signal.SIGSTOP)
                    while (await asyncio.to_thread(coordinator.health) or {}).get("status") != "trouble":
                        assert since.quiet_s() < MOST_RECOVERY_S, "nobody noticed"
                        await asyncio.sleep(0.05)
                    os.kill(pid, signal.SIGCONT)
                    since = QuietTime()
                # What was under way in the database may still come in.
                await asyncio.sleep(0.3)
                await asyncio.wait_for(until_more(await asyncio.to_thread(count_counted)), 120)
                took.append(since.quiet_s())
                print(f"{since.elapsed_s():.1f} s, of which {took[-1]:.1f} s count")
                await asyncio.to_thread(coordinator.wait_until_well)
                await asyncio.wait_for(until_more(await asyncio.to_thread(count_counted) + 10), 120)
        return took

    took = asyncio.run(run())
    assert max(took) < MOST_RECOVERY_S
