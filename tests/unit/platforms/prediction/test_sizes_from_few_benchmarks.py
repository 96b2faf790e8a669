"""Sizes of error that few benchmarks tell: small ones are doubted by as much as they are chance."""

from __future__ import annotations

import numpy as np
import pytest

from datamill.platforms.ensemble.few_benchmarks import doubt_small_sizes, expect_from_others

SIZES = np.array([0.01, 0.1, 1.0])


def make_errors(
    benchmarks: int, told: float, *, targets: int = 12, seed: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Difficulties (P × m × 5), of which the first tells so much of the logarithm of the errors' sizes."""
    random = np.random.default_rng(seed)
    difficulty = random.normal(size=(benchmarks, targets, 5))
    sizes = np.exp(-2 + told * difficulty[..., 0])
    return difficulty, sizes * random.normal(size=(benchmarks, targets))


@pytest.mark.parametrize("benchmarks", [20, 40])
def test_sizes_that_many_benchmarks_tell_are_believed(benchmarks: int) -> None:
    difficulty, errors = make_errors(benchmarks, 0.0)
    own = np.full(errors.shape, 0.2)
    sizes, theirs = doubt_small_sizes(SIZES, own, difficulty, errors)
    assert sizes is SIZES
    assert theirs is own


def test_small_sizes_are_raised_where_difficulties_tell_nothing_and_large_ones_stay() -> None:
    difficulty, errors = make_errors(8, 0.0)
    sizes, own = doubt_small_sizes(SIZES, np.full(errors.shape, 0.2), difficulty, errors)
    assert sizes[0] > 5 * SIZES[0]
    assert sizes[2] == SIZES[2]
    assert own.shape == errors.shape
    assert (own > 0).all()


def test_sizes_are_believed_more_where_difficulties_tell_of_errors() -> None:
    raised = []
    for told in (0.0, 0.5, 1.0):
        difficulty, errors = make_errors(8, told, targets=60)
        sizes, _ = doubt_small_sizes(SIZES, np.full(errors.shape, 0.2), difficulty, errors)
        raised.append(sizes[0] / SIZES[0])
    assert raised[0] > raised[1] > raised[2] >= 1
    assert raised[2] < 1.5


def test_the_more_benchmarks_the_less_is_doubted() -> None:
    raised = []
    for benchmarks in (10, 15, 19):
        difficulty, errors = make_errors(benchmarks, 0.0)
        sizes, _ = doubt_small_sizes(SIZES, np.full(errors.shape, 0.2), difficulty, errors)
        raised.append(sizes[0] / SIZES[0])
    assert raised[0] > raised[1] > raised[2] > 1


def test_what_a_pseudo_application_errs_by_is_not_in_the_sizes_expected_of_it() -> None:
    difficulty, errors = make_errors(6, 0.3)
    poisoned = errors.copy()
    poisoned[2] *= 1000
    plain, other = (expect_from_others(difficulty, given) for given in (errors, poisoned))
    assert other[2].tolist() == plain[2].tolist()
    assert (other[3] != plain[3]).all()


def test_errors_that_are_unknown_or_none_leave_sizes_finite() -> None:
    difficulty, errors = make_errors(5, 0.2)
    errors[0] = 0.0
    errors[1, 3:] = np.nan
    errors[:, 5] = np.nan
    sizes, own = doubt_small_sizes(SIZES, np.full(errors.shape, 0.2), difficulty, errors)
    assert np.isfinite(sizes).all()
    assert np.isfinite(own).all()
    assert (sizes >= SIZES).all()
