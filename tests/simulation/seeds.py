"""Running seeds, here or in processes of their own."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable, Iterator
from functools import cache

from simulation.results import SeedResult


@cache
def prepare(plant: str, *, trace: bool = False) -> Callable[..., SeedResult]:
    """Set up Django on a database in memory, once a process, and return what runs a seed there."""
    from simulation.database import Database

    if not trace:
        # Refused reports and crashes are the point here; what is wrong, the oracle tells.
        logging.disable(logging.CRITICAL)
    database = Database()
    from simulation.planting import plant_bug
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
    # Spawned, not forked: each process has a database of its own.
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(run_job, work, chunksize=5)
