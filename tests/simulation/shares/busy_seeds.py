"""Running seeds of busy fleets, here or in processes of their own."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Iterator
from functools import cache

from simulation.coordinator.database import Database
from simulation.shares.busy_fleet import BusyFleet, Outcome


@cache
def _open_database() -> Database:
    """Set up Django on a database in memory, once a process."""
    logging.disable(logging.CRITICAL)
    return Database()


def run_seed(seed: int) -> Outcome:
    """Run a seed in this process."""
    _open_database().begin()
    return BusyFleet(seed).run()


def run_seeds(seeds: range, jobs: int) -> Iterator[Outcome]:
    """Run seeds, several processes at a time, and yield what they gave as it comes."""
    if jobs == 1:
        yield from map(run_seed, seeds)
        return
    # Spawned, not forked: each process has a database of its own.
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(run_seed, seeds, chunksize=5)
