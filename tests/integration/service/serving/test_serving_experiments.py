"""A whole coordinator with its broker, and workers over the wire: whatever fails, each trial counts once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from django.db import OperationalError, connections
from integration.service.brokers import make_keys
from integration.service.clusters import running_cluster
from integration.service.played_fleet import (
    Coordinator,
    PlayedWorker,
    enrol,
    playing,
    standing_by,
    submit,
)
from running.nightly import choose_count

from datamill.service.broker.keys import Keys
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.models import Attempt, Event, FleetExperiment, Trial

MOST_S = 300.0
#: How often a broker, a coordinator, a leader or a connection is ended under way.
BROKER_KILLS = choose_count(3, 10)
OTHER_KILLS = choose_count(2, 3)
Chaos = Callable[[Coordinator, int], Awaitable[None]]


@pytest.fixture(params=["sqlite", "postgresql"])
def coordinator(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Coordinator]:
    """A coordinator on each kind of database, not started; whatever it started is ended."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    options = ("--database", url) if url else ()
    with standing_by(tmp_path / "data", url, options) as coordinator:
        yield coordinator


def count_counted(experiment: int) -> int:
    try:
        return Trial.objects.filter(experiment_id=experiment, state="counted").count()
    except OperationalError:  # our own connection was cut as well
        connections["default"].close()
        return 0


def is_completed(experiment: int) -> bool:
    try:
        return FleetExperiment.objects.filter(pk=experiment, state="completed").exists()
    except OperationalError:
        connections["default"].close()
        return False


async def run_fleet(
    coordinator: Coordinator,
    *,
    workers: int,
    trials: int,
    chaos: Chaos | None = None,
    keys: Keys | None = None,
    **behaviour: float,
) -> list[PlayedWorker]:
    """Run an experiment to its end while something goes wrong; return the workers."""
    identities = await asyncio.to_thread(enrol, [f"m{number:02d}" for number in range(workers)])
    experiment = await asyncio.to_thread(submit, trials)
    coordinator.start()
    await asyncio.to_thread(coordinator.wait_until_well)
    keys = keys or coordinator.keys()
    fleet = [
        PlayedWorker(identity, coordinator.broker_url, keys, Random(number), **behaviour)  # type: ignore[arg-type]
        for number, identity in enumerate(identities)
    ]
    async with playing(fleet):
        making = asyncio.create_task(chaos(coordinator, experiment)) if chaos else None
        async with asyncio.timeout(MOST_S):
            while not await asyncio.to_thread(is_completed, experiment):
                await asyncio.sleep(0.1)
        if making is not None:
            await making
    await asyncio.to_thread(check, coordinator, experiment, trials)
    # No worker made an attempt twice.
    assert all(count == 1 for worker in fleet for count in worker.executed.values())
    return fleet


def check(coordinator: Coordinator, experiment: int, trials: int) -> None:
    assert find_violations() == []
    assert count_counted(experiment) == trials, coordinator.log()
    assert Attempt.objects.filter(trial__experiment=experiment, state="counted").count() == trials


def test_an_experiment_runs_to_its_end_with_delays_losses_and_duplicates(coordinator: Coordinator) -> None:
    asyncio.run(
        run_fleet(
            coordinator,
            workers=10,
            trials=choose_count(150, 300),
            duration_s=0.02,
            repeated=0.3,
            lost=0.2,
            again_s=0.5,
            delay_s=0.05,
        )
    )
    assert not Attempt.objects.exclude(state="counted").exists()


def test_nothing_is_lost_when_the_broker_is_killed_again_and_again(coordinator: Coordinator) -> None:
    async def kill_broker(served: Coordinator, experiment: int) -> None:
        for round_ in range(1, BROKER_KILLS + 1):
            await until_counted(experiment, 25 * round_)
            pid = served.broker_pid
            os.kill(pid, signal.SIGKILL)
            while served.broker_pid in (0, pid):
                await asyncio.sleep(0.05)

    trials = 50 + 25 * BROKER_KILLS
    asyncio.run(run_fleet(coordinator, workers=10, trials=trials, chaos=kill_broker, duration_s=0.1))
    assert not Attempt.objects.exclude(state="counted").exists()


def test_it_goes_on_when_the_coordinator_is_killed_in_mid_experiment(coordinator: Coordinator) -> None:
    async def kill_coordinator(served: Coordinator, experiment: int) -> None:
        for round_ in range(1, OTHER_KILLS + 1):
            await until_counted(experiment, 40 * round_)
            served.kill(signal.SIGKILL)
            served.start()
            await asyncio.to_thread(served.wait_until_well)

    asyncio.run(
        run_fleet(
            coordinator, workers=8, trials=40 + 40 * OTHER_KILLS, chaos=kill_coordinator, duration_s=0.2
        )
    )
    assert not Event.objects.filter(kind="lost").exists()


@pytest.mark.parametrize("coordinator", ["postgresql"], indirect=True)
def test_it_goes_on_when_the_database_cut_its_connections(coordinator: Coordinator) -> None:
    def cut() -> None:
        with connections["default"].cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )

    async def cut_connections(_: Coordinator, experiment: int) -> None:
        for round_ in range(1, OTHER_KILLS + 1):
            await until_counted(experiment, 20 * round_)
            with contextlib.suppress(OperationalError):
                await asyncio.to_thread(cut)

    asyncio.run(
        run_fleet(coordinator, workers=4, trials=20 + 20 * OTHER_KILLS, chaos=cut_connections, duration_s=0.2)
    )


async def until_counted(experiment: int, count: int) -> None:
    while await asyncio.to_thread(count_counted, experiment) < count:
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("coordinator", ["sqlite"], indirect=True)
def test_a_cluster_of_three_goes_on_when_any_server_is_killed(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    keys = make_keys()
    seed = tmp_path / "account.seed"
    seed.write_text(keys.account_seed)
    with running_cluster(tmp_path / "cluster", keys) as cluster:
        for url in cluster.urls:
            coordinator.options += ("--nats", url)
        # What earlier versions asked for is still understood.
        coordinator.options += ("--nats-account-seed", str(seed), "--nats-replicas", "3")
        coordinator.external_url = ",".join(cluster.urls)

        async def kill_servers(_: Coordinator, experiment: int) -> None:
            for round_, node in enumerate(cluster.nodes, start=1):
                await until_counted(experiment, 30 * round_)
                node.kill()
                await until_counted(experiment, 30 * round_ + 10)
                node.start()

        asyncio.run(
            run_fleet(coordinator, workers=8, trials=160, chaos=kill_servers, keys=keys, duration_s=0.1)
        )
