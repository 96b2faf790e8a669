"""Sums of squares of data with a huge offset, against exact rational arithmetic on the same doubles.

Shaped as NIST's SmLs series: one factor with 9 levels, constant part of 13 digits.
"""

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from datamill.analysis.cells import Factor, gather_cells
from datamill.analysis.linear_model import fit_linear_model


def make_values(offset: float, replicates: int) -> tuple[np.ndarray, np.ndarray]:
    levels = np.arange(9 * replicates) % 9
    # NIST: level i alternates between offset + .2 + i and offset + .4 + i after a first at offset + .3 + i.
    turn = np.arange(9 * replicates) // 9
    step = np.where(turn == 0, 0.3, np.where(turn % 2 == 1, 0.2, 0.4))
    return levels, offset + levels % 3 * 0.1 + step


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("replicates", [21, 201])
def test_sums_of_squares_are_exact_to_ten_digits_whatever_the_offset(offset: float, replicates: int) -> None:
    levels, values = make_values(offset, replicates)
    factor = Factor("treatment", tuple(str(level) for level in range(9)))
    model = fit_linear_model(gather_cells([factor], levels.reshape(-1, 1), values), order=1)

    exact = [Fraction(float(value)) for value in values]
    groups = defaultdict(list)
    for level, value in zip(levels, exact, strict=True):
        groups[int(level)].append(value)
    grand = sum(exact) / len(exact)
    between = sum(len(group) * (sum(group) / len(group) - grand) ** 2 for group in groups.values())
    within = sum(sum((value - sum(group) / len(group)) ** 2 for value in group) for group in groups.values())
    f = (between / 8) / (within / (len(exact) - 9))

    assert model.terms[0].sum_sq == pytest.approx(float(between), rel=1e-10)
    assert model.error_ss == pytest.approx(float(within), rel=1e-10)
    assert model.terms[0].f == pytest.approx(float(f), rel=1e-10)
    assert model.r_squared == pytest.approx(float(between / (between + within)), rel=1e-10)
    assert model.mean.estimate == pytest.approx(float(grand), rel=1e-15)
