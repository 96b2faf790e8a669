"""NIST's Statistical Reference Datasets for analysis of variance, against their certified values.

SmLs series: 9 treatments of 21, 201 or 2001 values with a constant part of 1, 7 or 13 digits, made
as published. The log relative error is the number of digits that agree. With 13 digits of constant
a double cannot hold the data: there exact arithmetic on the same doubles is the other reference.
"""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import ModelFactor, gather_cells
from datamill.analysis.model_data.observations import read_columns

DATA = Path(__file__).parent / "nist"
#: Deviation of each treatment's middle from the constant part, in tenths; NIST's order.
MIDDLES = (4, 3, 5, 3, 5, 3, 5, 3, 5)


def make_smls(offset: int, replicates: int) -> tuple[np.ndarray, list[Fraction]]:
    """Treatments and values: the middle once, then a tenth below and above it in turn."""
    treatments, values = [], []
    for treatment, middle in enumerate(MIDDLES):
        for turn in range(replicates):
            step = 0 if turn == 0 else -1 if turn % 2 == 1 else 1
            treatments.append(treatment)
            values.append(offset + Fraction(middle + step, 10))
    return np.array(treatments), values


def split_squares(groups: np.ndarray, values: list[Fraction]) -> tuple[float, float, float, float]:
    """Exact sums of squares between and within, F and R²."""
    count = int(groups.max()) + 1
    sums, sizes = [Fraction(0)] * count, [0] * count
    for group, value in zip(groups.tolist(), values, strict=True):
        sums[group] += value
        sizes[group] += 1
    means = [total / size for total, size in zip(sums, sizes, strict=True)]
    grand = sum(sums) / len(values)
    between = sum(size * (mean - grand) ** 2 for size, mean in zip(sizes, means, strict=True))
    within = sum((value - means[group]) ** 2 for group, value in zip(groups.tolist(), values, strict=True))
    f = (between / (count - 1)) / (within / (len(values) - count))
    return float(between), float(within), float(f), float(between / (between + within))


def list_results(model: LinearModel) -> tuple[float, float, float, float]:
    assert model.terms[0].f is not None
    return model.terms[0].sum_sq, model.error_ss, model.terms[0].f, model.r_squared


def count_digits(got: tuple[float, ...], certified: tuple[float, ...]) -> float:
    """Smallest log relative error, at most 15."""
    errors = [abs(one - other) / abs(other) for one, other in zip(got, certified, strict=True)]
    return 15.0 if max(errors) < 1e-15 else -math.log10(max(errors))


@pytest.mark.parametrize(
    ("name", "offset", "replicates", "digits"),
    [
        ("SmLs01", 1, 21, 13), ("SmLs02", 1, 201, 13), ("SmLs03", 1, 2001, 13),
        ("SmLs04", 10**6, 21, 9.5), ("SmLs05", 10**6, 201, 9.5), ("SmLs06", 10**6, 2001, 9.5),
        ("SmLs07", 10**12, 21, 3.8), ("SmLs08", 10**12, 201, 3.8), ("SmLs09", 10**12, 2001, 3.8),
    ],
)  # fmt: skip
def test_simulated_sets_agree_with_the_certified_values(
    name: str, offset: int, replicates: int, digits: float
) -> None:
    treatments, values = make_smls(offset, replicates)
    certified = split_squares(treatments, values)
    assert certified[2] == float(replicates), name
    doubles = [float(value) for value in values]
    factor = ModelFactor("treatment", tuple(str(level) for level in range(9)))
    model = fit_linear_model(gather_cells([factor], treatments.reshape(-1, 1), np.array(doubles)), order=1)
    assert count_digits(list_results(model), certified) >= digits
    exact = split_squares(treatments, [Fraction(double) for double in doubles])
    assert count_digits(list_results(model), exact) >= 12


@pytest.mark.parametrize(
    ("name", "certified", "digits"),
    [
        ("SiRstv", (5.11462616000000e-2, 2.16636560000000e-1, 1.18046237440255, 0.190999039051129), 12),
        ("AtmWtAg", (3.63834187500000e-9, 1.04951729166667e-8, 15.9467335677930, 0.257426544538321), 10),
    ],
)
def test_observed_sets_agree_with_the_certified_values(
    name: str, certified: tuple[float, ...], digits: float
) -> None:
    table = pl.read_csv(DATA / f"{name}.csv", infer_schema=False)
    model = fit_linear_model(read_columns(table, "y", ["instrument"]).cells, order=1)
    assert count_digits(list_results(model), certified) >= digits
