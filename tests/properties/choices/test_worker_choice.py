"""The choice of workers against all subsets: fewest first, then earliest, whatever the fleet looks like."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from running.nightly import choose_count
from scipy.optimize import Bounds, LinearConstraint, milp

from datamill.design.fleet import worker_choice
from datamill.design.fleet.worker_choice import NO_LEVEL, choose_workers, write_program


@st.composite
def draw_fleet(draw: st.DrawFn):
    workers = draw(st.integers(1, 8))
    dimensions = draw(st.integers(1, 4))
    most = draw(st.integers(0, 4))
    levels = np.array(
        [[draw(st.integers(NO_LEVEL, most)) for _ in range(dimensions)] for _ in range(workers)],
        dtype=np.int64,
    )
    needed = [
        draw(st.integers(0, np.unique(levels[levels[:, k] != NO_LEVEL, k]).size)) for k in range(dimensions)
    ]
    free_s = np.array([float(draw(st.integers(0, 3))) for _ in range(workers)])
    return levels, needed, free_s, draw(st.integers(1, workers))


def covers(levels: np.ndarray, needed: list[int], rows) -> bool:
    return all(
        np.unique([levels[row, k] for row in rows if levels[row, k] != NO_LEVEL]).size >= least
        for k, least in enumerate(needed)
    )


def find_best(levels: np.ndarray, needed: list[int], free_s: np.ndarray, at_least: int) -> tuple[int, float]:
    count = levels.shape[0]
    for size in range(at_least, count + 1):
        ends = [
            max(free_s[row] for row in rows)
            for rows in combinations(range(count), size)
            if covers(levels, needed, rows)
        ]
        if ends:
            return size, min(ends)
    raise AssertionError("no subset covers what exists")


@given(draw_fleet(), st.integers(0, 1000))
@settings(max_examples=choose_count(100, 300), deadline=None)
def test_no_other_set_of_workers_is_smaller_or_as_small_and_free_earlier(fleet, seed: int) -> None:
    levels, needed, free_s, at_least = fleet
    rows = choose_workers(levels, needed, free_s, at_least=at_least, seed=seed)
    assert covers(levels, needed, rows)
    assert (len(set(rows)), max(free_s[rows])) == find_best(levels, needed, free_s, at_least)


@pytest.mark.parametrize("steps", [0, 20_000])
@given(fleet=draw_fleet())
@settings(max_examples=150, deadline=None)
def test_solver_and_search_find_the_same_where_guessing_finds_nothing(fleet, steps: int) -> None:
    levels, needed, free_s, at_least = fleet
    with pytest.MonkeyPatch.context() as patch:
        # Guesses that take one worker after the other leave everything to the exact methods.
        patch.setattr(worker_choice._Search, "_grow", lambda _self, allowed, _enough: list(range(allowed)))
        patch.setattr(worker_choice, "_MOST_STEPS", steps)
        patch.setattr(worker_choice, "_FEW_STEPS", steps)
        rows = choose_workers(levels, needed, free_s, at_least=at_least)
    assert covers(levels, needed, rows)
    assert (len(set(rows)), max(free_s[rows])) == find_best(levels, needed, free_s, at_least)


@given(draw_fleet())
@settings(max_examples=100, deadline=None)
def test_the_program_as_published_needs_as_many_workers(fleet) -> None:
    levels, needed, free_s, _ = fleet
    columns, dimension = [], []
    for k in range(levels.shape[1]):
        for level in np.unique(levels[levels[:, k] != NO_LEVEL, k]):
            columns.append(levels[:, k] == level)
            dimension.append(k)
    if not columns:
        return
    has = np.stack(columns, axis=1)
    program = write_program(has, np.array(dimension), np.array(needed))
    solved = milp(
        program.costs,
        integrality=np.ones(program.costs.size),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(program.matrix, program.lower, np.inf),
    )
    x = solved.x.round().astype(int)
    workers, picked = x[: has.shape[0]], x[has.shape[0] :]
    # 1b and 1c together: a level is picked exactly when a chosen worker has it.
    assert np.array_equal(picked, (workers @ has > 0).astype(int))
    # The program allows nobody where nothing is needed; a plan has somebody.
    assert max(1, workers.sum()) == len(choose_workers(levels, needed, free_s))


def test_the_same_seed_chooses_the_same_workers() -> None:
    rng = np.random.default_rng(5)
    levels = rng.integers(0, 4, (200, 5))
    free_s = np.zeros(200)
    first = choose_workers(levels, [4] * 5, free_s, seed=1)
    assert first == choose_workers(levels, [4] * 5, free_s, seed=1)
    assert len({tuple(choose_workers(levels, [4] * 5, free_s, seed=seed)) for seed in range(20)}) > 1


def test_more_levels_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="dimension 0 has fewer than 2"):
        choose_workers(np.zeros((3, 1), dtype=np.int64), [2], np.zeros(3))
    with pytest.raises(ValueError, match="fewer than 4 workers"):
        choose_workers(np.zeros((3, 1), dtype=np.int64), [1], np.zeros(3), at_least=4)
