"""Draws that are the same on every machine and in every version, from the seed of an experiment."""

from __future__ import annotations

import hashlib


def rank_by_seed(seed: int, *names: str) -> bytes:
    """Return the sort key of a named thing under a seed: the same on every machine and in every version.

    Sorting by it draws a uniformly random order, as far as SHA-256 is random.
    """
    return hashlib.sha256("\x1f".join((str(seed), *names)).encode()).digest()


def derive_seed(seed: int, *names: str) -> int:
    """Return the seed of something named, below 2^48, drawn from the experiment's."""
    return int.from_bytes(rank_by_seed(seed, *names)[:6], "big")
