"""Over several machines, too, rules that stop by what they saw err as seldom as they say."""

import numpy as np
import pytest
from planted.decisions.test_sequential_rules import (
    ALPHA,
    EXPERIMENTS,
    POWER,
    Draw,
    assert_at_most,
    draw_normal,
    draw_skewed,
)

from datamill.analysis.sequential.boundaries import find_anytime_critical
from datamill.design.batches import FEWEST_ROUNDS

ROUNDS = 150
#: How long a trial of the first package takes on each machine: the slowest would decide a plain mean.
SPEEDS = (1.0, 3.0, 40.0)


class Fleet:
    """Rounds of two packages over machines, and what every look makes of them.

    At each look all values so far are taken relative to the levels that the machines have then, as
    `gather_rounds` does, here by sums of squares and products.
    """

    def __init__(self, draw: Draw, ratios: list[float], noise: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        means = [speed * mean for speed, ratio in zip(SPEEDS, ratios, strict=True) for mean in (1.0, ratio)]
        values = np.stack([mean * (1 + noise * draw(rng, (EXPERIMENTS, ROUNDS))) for mean in means], axis=-1)
        self._sums = values.cumsum(axis=1)
        self._products = (values[..., :, None] * values[..., None, :]).cumsum(axis=1)
        self._n = np.arange(1, ROUNDS + 1)[:, None]
        averages = self._sums / self._n
        self._levels = np.sqrt(averages[..., ::2] * averages[..., 1::2])

    def refute(self, ratio: float, alpha: float) -> np.ndarray:
        """The sign of the departure from a ratio where its interval excludes that, else 0; a row each."""
        weights = np.empty_like(self._sums)
        weights[..., ::2], weights[..., 1::2] = -ratio / self._levels, 1 / self._levels
        n = self._n[:, 0]
        means = (weights * self._sums).sum(axis=-1) / n
        squares = np.einsum("eri,erij,erj->er", weights, self._products, weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            statistics = means / np.sqrt((squares - n * means**2) / (n - 1) / n)
        late = n >= FEWEST_ROUNDS
        critical = np.full(n.shape, np.inf)
        critical[1:] = find_anytime_critical(n[1:], alpha)
        return np.where(late & (np.abs(statistics) > critical), np.sign(means), 0.0)


@pytest.mark.parametrize("draw", [draw_normal, draw_skewed], ids=["normal", "skewed"])
@pytest.mark.parametrize("ratios", [[1.0, 1.0, 1.0], [1.2, 1.0, 1 / 1.2]], ids=["alike", "opposed"])
def test_packages_that_are_alike_on_the_average_of_machines_are_seldom_said_to_differ(
    draw: Draw, ratios: list[float]
) -> None:
    fleet = Fleet(draw, ratios, 0.1, seed=2)
    assert_at_most(float(fleet.refute(1.0, ALPHA).any(axis=1).mean()), ALPHA)


def test_a_difference_of_the_stated_size_on_each_machine_is_found_and_seldom_overlooked() -> None:
    fleet = Fleet(draw_normal, [1.1, 1.1, 1.1], 0.1, seed=3)
    changed = (fleet.refute(1.0, ALPHA) > 0).any(axis=1)
    less = 2 * (1 - POWER)
    small = ((fleet.refute(0.9, less) > 0) & (fleet.refute(1.1, less) < 0)).any(axis=1)
    assert changed.mean() > 0.9
    assert_at_most(float(small.mean()), 1 - POWER)
