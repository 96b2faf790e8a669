"""D-optimal designs: as much as a budget of points can tell about a linear model."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datamill.design.seeds import rank_by_seed
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_count

FloatArray = NDArray[np.float64]
#: Floating-point operations that the search may take, about, and the most restarts.
_BUDGET = 1e8
_MOST_RESTARTS = 10
#: Numbers in the model matrix, and operations of one pass over all points, beyond which nothing is searched.
_MOST_NUMBERS, _MOST_WORK = 5_000_000, 2e11
#: Gains of the determinant below this are rounding.
_SMALLEST_GAIN = 1e-9


@dataclass(frozen=True, slots=True)
class OptimalDesign:
    """Points as indices of levels, and what they are worth.

    `efficiency` is the D-efficiency, from 0 to 1: |X'X / n| to the power 1/p, with contrasts coded so that
    the full factorial design has 1; `parameters` is p.
    """

    rows: tuple[tuple[int, ...], ...]
    efficiency: float
    parameters: int


def code_contrasts(size: int) -> FloatArray:
    """Return orthogonal contrasts of a factor's levels (size x size - 1), of mean 0 and mean square 1."""
    contrasts = np.zeros((size, size - 1))
    for column in range(size - 1):
        contrasts[: column + 1, column] = -1.0
        contrasts[column + 1, column] = column + 1.0
    scaled: FloatArray = contrasts * np.sqrt(size / np.sum(contrasts**2, axis=0))
    return scaled


def code_points(rows: Sequence[Sequence[int]], sizes: Sequence[int], order: int) -> FloatArray:
    """Return the model matrix of points: mean, main effects, interactions of up to `order` factors."""
    codes = np.asarray(rows, dtype=np.int64).reshape(len(rows), len(sizes))
    mains = [code_contrasts(size)[codes[:, at]] for at, size in enumerate(sizes)]
    columns = [np.ones((len(codes), 1))]
    for count in range(1, min(order, len(sizes)) + 1):
        for factors in itertools.combinations(range(len(sizes)), count):
            product = mains[factors[0]]
            for factor in factors[1:]:
                product = (product[:, :, None] * mains[factor][:, None, :]).reshape(len(codes), -1)
            columns.append(product)
    return np.concatenate(columns, axis=1)


@functools.lru_cache(maxsize=8)
def find_optimal_design(sizes: tuple[int, ...], points: int, order: int, seed: int) -> OptimalDesign:
    """Return so many different points, found by coordinate exchange from drawn starts.

    Meyer and Nachtsheim 1995. The best of up to ten starts, all drawn from the seed, is taken; it is a
    good design, not proved to be the best.

    Args:
        sizes: number of levels of each factor, each at least 2.
        points: budget; with as many as the full factorial has, it is that.
        order: most factors in one interaction of the model.
        seed: of the experiment.

    Raises:
        InputError: the model has more parameters than there may be points.
    """
    everything = math.prod(sizes)
    parameters = _count(sizes, order)
    if points < min(parameters, everything):
        raise InputError(
            f"a model with {parameters} parameters needs at least {parameters} points, and max_points allows "
            f"{points}",
            where="[experiment] max_points",
            remedy="Raise max_points"
            + (", or lower interaction_order (1: main effects alone)." if order > 1 else "."),
        )
    if points >= everything:
        rows = tuple(itertools.product(*(range(size) for size in sizes)))
        return OptimalDesign(rows, 1.0, min(parameters, everything))
    work = points * sum(size - 1 for size in sizes) * parameters**2 * 6.0
    if points * parameters > _MOST_NUMBERS or work > _MOST_WORK:
        raise InputError(
            f"{format_count(points)} points of a model with {format_count(parameters)} parameters are "
            "too many to choose well",
            where="[experiment] max_points",
            remedy="Lower max_points or interaction_order, name fewer levels, or leave design out.",
        )
    best: OptimalDesign | None = None
    restarts = max(2, min(_MOST_RESTARTS, int(_BUDGET / work)))
    for start in range(restarts):
        found = _exchange(_draw_rows(sizes, points, seed, start), sizes, order)
        if best is None or found.efficiency > best.efficiency * (1 + _SMALLEST_GAIN):
            best = found
        if best.efficiency > 1 - _SMALLEST_GAIN:
            break
    assert best is not None
    return best


def _count(sizes: Sequence[int], order: int) -> int:
    """Parameters of the model, from the sizes of its terms: a sum over all sets of up to `order` factors."""
    by_order = [1] + [0] * min(order, len(sizes))
    for size in sizes:
        for count in range(len(by_order) - 1, 0, -1):
            by_order[count] += by_order[count - 1] * (size - 1)
    return sum(by_order)


def _draw_rows(sizes: Sequence[int], points: int, seed: int, start: int) -> list[list[int]]:
    """Different rows whose levels are balanced as far as they can be, in an order drawn for each factor."""
    columns = []
    for at, size in enumerate(sizes):
        cycle = [number % size for number in range(points)]
        ranked = sorted(
            range(points),
            key=lambda number, at=at: rank_by_seed(seed, "d-optimal", str(start), str(at), str(number)),  # type: ignore[misc]
        )
        columns.append([cycle[number] for number in ranked])
    rows = [list(row) for row in zip(*columns, strict=True)]
    seen: set[tuple[int, ...]] = set()
    for row in rows:
        if tuple(row) in seen:
            # Rows that came twice take the first combinations that did not come at all.
            taken = {tuple(other) for other in rows}
            everything = itertools.product(*(range(size) for size in sizes))
            row[:] = next(item for item in everything if item not in taken)
        seen.add(tuple(row))
    return rows


def _exchange(rows: list[list[int]], sizes: Sequence[int], order: int) -> OptimalDesign:
    """Change one level of one point at a time as long as the determinant grows."""
    matrix = code_points(rows, sizes, order)
    parameters = matrix.shape[1]
    # A drawn start may not tell all parameters: a little of the identity lets the search begin.
    information = matrix.T @ matrix + 1e-6 * np.eye(parameters)
    inverse = np.linalg.inv(information)
    taken = {tuple(row) for row in rows}
    improved, passes = True, 0
    while improved and passes < 50:
        improved, passes = False, passes + 1
        for number, row in enumerate(rows):
            for factor, size in enumerate(sizes):
                options = []
                for level in range(size):
                    changed = (*row[:factor], level, *row[factor + 1 :])
                    if level != row[factor] and changed not in taken:
                        options.append(changed)
                if not options:
                    continue
                old = matrix[number]
                new = code_points(options, sizes, order)
                weighted = new @ inverse
                gains = (1 + np.sum(weighted * new, axis=1)) * (1 - old @ inverse @ old) + (
                    weighted @ old
                ) ** 2
                best = int(np.argmax(gains))
                if gains[best] > 1 + _SMALLEST_GAIN * 1000:
                    taken.discard(tuple(row))
                    taken.add(options[best])
                    row[:] = options[best]
                    information += np.outer(new[best], new[best]) - np.outer(old, old)
                    matrix[number] = new[best]
                    inverse = np.linalg.inv(information)
                    improved = True
    return OptimalDesign(tuple(tuple(row) for row in rows), rate_design(rows, sizes, order), parameters)


def rate_design(rows: Sequence[Sequence[int]], sizes: Sequence[int], order: int) -> float:
    """Return the D-efficiency of points: 0 where a parameter cannot be told, 1 as for the full factorial."""
    matrix = code_points(rows, sizes, order)
    sign, logarithm = np.linalg.slogdet(matrix.T @ matrix / matrix.shape[0])
    return float(math.exp(logarithm / matrix.shape[1])) if sign > 0 and math.isfinite(logarithm) else 0.0
