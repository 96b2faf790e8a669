"""Running seeds, here or in processes of their own."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from simulation.results import SeedResult

if TYPE_CHECKING:
    from simulation.coordinator.database import Database


@cache
def load() -> Database:
    """Set up Django on a database in memory and load what runs a seed, once, for its forks too."""
    from simulation.coordinator.database import Database

    database = Database()
    import simulation.world  # noqa: F401

    return database


@cache
def prepare(plant: str, *, trace: bool = False) -> Callable[..., SeedResult]:
    """Return what runs a seed in this process, with a bug planted in it where one is named."""
    database = load()
    if not trace:
        # Refused reports and crashes are the point here; what is wrong, the oracle tells.
        logging.disable(logging.CRITICAL)
    from simulation.bugs.planting import plant_bug
    from simulation.world import run_seed

    plant_bug(plant)
    return lambda seed, trace=None: run_seed(seed, database, trace)


def run_job(job: tuple[int, str]) -> SeedResult:
    """Run one seed in this process."""
    seed, plant = job
    return prepare(plant)(seed)


def run_seeds(seeds: range, jobs: int, plant: str) -> Iterator[SeedResult]:
    """Run seeds, several processes at a time, and yield their results as they come."""
    work = [(seed, plant) for seed in seeds]
    if jobs == 1:
        yield from map(run_job, work)
        return
    # Forked after loading, which takes longer than a seed. Each process has the database in its own memory.
    load()
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        yield from pool.imap_unordered(run_job, work, chunksize=5)
