"""Alike commands are told apart as rarely as stated, however often one looks; planted ones are found."""

from collections.abc import Callable

import numpy as np
import pytest
from running.nightly import choose_count

from datamill.analysis.sequential.pairs import compare_pairs, list_undecided
from datamill.analysis.sequential.rounds import Rounds

Noise = Callable[[np.random.Generator, int, int], np.ndarray]
ALPHA, ROUNDS = 0.05, 100
EXPERIMENTS = choose_count(100, 2000)


def list_looks() -> list[int]:
    looks = [2]
    while looks[-1] < ROUNDS:
        looks.append(min(ROUNDS, looks[-1] + max(1, looks[-1] // 10)))
    return looks


def normal(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    return 1 + 0.03 * rng.standard_normal((n, k))


def spikes(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    return 1 + 0.01 * rng.standard_normal((n, k)) + (rng.random((n, k)) < 0.05) * rng.exponential(0.5, (n, k))


def heavy(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    return 1 + 0.02 * rng.pareto(2.2, (n, k))


def drifting(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    drift = 1 + 0.02 * np.abs(np.cumsum(rng.standard_normal((n, 1)), axis=0))
    return drift * (1 + 0.01 * rng.standard_normal((n, k)))


def count_verdicts(noise: Noise, factors: tuple[float, ...], seed: int) -> dict[str, int]:
    rng = np.random.default_rng(seed)
    names = tuple("abcd"[: len(factors)])
    counts: dict[str, int] = {}
    for _ in range(EXPERIMENTS):
        values = noise(rng, ROUNDS, len(factors)) * np.array(factors)
        for n in list_looks():
            pairs = compare_pairs(Rounds(names, tuple(range(n)), values[:n]), alpha=ALPHA, limit=0.01)
            if not list_undecided(pairs) or any(pair.verdict in ("less", "more") for pair in pairs):
                break
        told = [pair.verdict for pair in pairs if pair.verdict in ("less", "more")]
        word = told[0] if told else "none"
        counts[word] = counts.get(word, 0) + 1
    return counts


@pytest.mark.parametrize("noise", [normal, spikes, heavy, drifting])
def test_alike_commands_are_hardly_ever_told_apart(noise: Noise) -> None:
    counts = count_verdicts(noise, (1.0, 1.0), seed=1)
    wrong = counts.get("less", 0) + counts.get("more", 0)
    # The chance of more than this, at a rate of alpha exactly, is below one in a thousand.
    assert wrong <= np.ceil(EXPERIMENTS * ALPHA + 3.2 * np.sqrt(EXPERIMENTS * ALPHA * (1 - ALPHA))), counts


def test_of_three_alike_commands_no_pair_is_told_apart_more_often_than_stated() -> None:
    counts = count_verdicts(normal, (1.0, 1.0, 1.0), seed=2)
    assert counts.get("none", 0) >= EXPERIMENTS * (1 - 2 * ALPHA), counts


@pytest.mark.parametrize("noise", [normal, spikes, heavy, drifting])
def test_five_percent_are_found_whatever_the_noise_is(noise: Noise) -> None:
    counts = count_verdicts(noise, (1.0, 1.05), seed=3)
    assert counts.get("more", 0) >= 0.95 * EXPERIMENTS, counts
