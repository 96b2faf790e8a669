"""Fractions and Plackett-Burman designs against the tables that have been published of them."""

import itertools

import numpy as np
import pytest

from datamill.design.points.aliases import find_aliases
from datamill.design.points.d_optimal import find_optimal_design
from datamill.design.points.fractional import find_fraction
from datamill.design.points.plackett_burman import build_folded_plackett_burman, build_plackett_burman

#: Factors, resolution asked for, points, resolution, words of length 3 to 6, of the minimum-aberration design
#: among the smallest: from the catalogue of R's package FrF2 2.3-4 (Chen, Sun and Wu 1993; Xu 2009).
PUBLISHED = [
    (3, 3, 4, 3, (1, 0, 0, 0)),
    (4, 3, 8, 4, (0, 1, 0, 0)),
    (4, 4, 8, 4, (0, 1, 0, 0)),
    (5, 3, 8, 3, (2, 1, 0, 0)),
    (5, 4, 16, 5, (0, 0, 1, 0)),
    (5, 5, 16, 5, (0, 0, 1, 0)),
    (6, 3, 8, 3, (4, 3, 0, 0)),
    (6, 4, 16, 4, (0, 3, 0, 0)),
    (6, 5, 32, 6, (0, 0, 0, 1)),
    (6, 6, 32, 6, (0, 0, 0, 1)),
    (7, 3, 8, 3, (7, 7, 0, 0)),
    (7, 4, 16, 4, (0, 7, 0, 0)),
    (7, 5, 64, 7, (0, 0, 0, 0)),
    (7, 6, 64, 7, (0, 0, 0, 0)),
    (8, 3, 16, 4, (0, 14, 0, 0)),
    (8, 4, 16, 4, (0, 14, 0, 0)),
    (8, 5, 64, 5, (0, 0, 2, 1)),
    (8, 6, 128, 8, (0, 0, 0, 0)),
    (9, 3, 16, 3, (4, 14, 8, 0)),
    (9, 4, 32, 4, (0, 6, 8, 0)),
    (9, 5, 128, 6, (0, 0, 0, 3)),
    (9, 6, 128, 6, (0, 0, 0, 3)),
    (10, 3, 16, 3, (8, 18, 16, 8)),
    (10, 4, 32, 4, (0, 10, 16, 0)),
    (10, 5, 128, 5, (0, 0, 3, 3)),
    (10, 6, 256, 6, (0, 0, 0, 1)),
    (11, 3, 16, 3, (12, 26, 28, 24)),
    (11, 4, 32, 4, (0, 25, 0, 27)),
    (11, 5, 128, 5, (0, 0, 6, 6)),
    (11, 6, 256, 6, (0, 0, 0, 6)),
    (12, 3, 16, 3, (16, 39, 48, 48)),
    (12, 4, 32, 4, (0, 38, 0, 52)),
    (12, 5, 256, 6, (0, 0, 0, 12)),
    (12, 6, 256, 6, (0, 0, 0, 12)),
    (13, 3, 16, 3, (22, 55, 72, 96)),
    (13, 4, 32, 4, (0, 55, 0, 96)),
    (13, 5, 256, 5, (0, 0, 3, 12)),
    (13, 6, 512, 6, (0, 0, 0, 4)),
    (14, 3, 16, 3, (28, 77, 112, 168)),
    (14, 4, 32, 4, (0, 77, 0, 168)),
    (14, 5, 256, 5, (0, 0, 9, 18)),
    (14, 6, 512, 6, (0, 0, 0, 7)),
    (15, 3, 16, 3, (35, 105, 168, 280)),
    (15, 4, 32, 4, (0, 105, 0, 280)),
    (15, 5, 256, 5, (0, 0, 15, 30)),
    (15, 6, 512, 6, (0, 0, 0, 25)),
    (16, 3, 32, 4, (0, 140, 0, 448)),
    (16, 4, 32, 4, (0, 140, 0, 448)),
    (16, 5, 256, 5, (0, 0, 24, 44)),
    (16, 6, 512, 6, (0, 0, 0, 44)),
]
#: Plackett and Burman (1946): the first row of the design of N points; the others are its cyclic shifts, and
#: a row of minus signs.
FIRST_ROWS = {
    12: "++-+++---+-",
    20: "++--++++-+-+----++-",
    24: "+++++-+-++--++--+-+----",
}


@pytest.mark.parametrize(("factors", "asked", "points", "resolution", "words"), PUBLISHED)
def test_fractions_are_those_of_the_published_catalogue(
    factors: int, asked: int, points: int, resolution: int, words: tuple[int, ...]
) -> None:
    found = find_fraction(factors, asked)
    assert found.points == points
    assert found.resolution == resolution
    counted = (*found.words, 0, 0, 0, 0)[:4]
    assert counted == words


def test_the_classical_seven_factors_in_eight_points_are_aliased_with_three_interactions_each() -> None:
    signs = find_fraction(7, 3).list_signs()
    structure = find_aliases((signs > 0).astype(int).tolist(), [2] * 7, list("ABCDEFG"))
    assert len(structure.groups) == 7
    assert all(len(structure.find_group(name)) == 3 for name in "ABCDEFG")


def list_products(signs: np.ndarray) -> list[float]:
    """Magnitudes of the correlations of all main effects with all interactions of two others, in order."""
    n, k = signs.shape
    return sorted(
        abs(float(np.sum(signs[:, a] * signs[:, b] * signs[:, c]))) / n
        for a in range(k)
        for b, c in itertools.combinations(range(k), 2)
        if a not in (b, c)
    )


@pytest.mark.parametrize("points", FIRST_ROWS)
def test_plackett_burman_designs_alias_as_the_published_ones_do(points: int) -> None:
    first = np.array([1 if sign == "+" else -1 for sign in FIRST_ROWS[points]])
    published = np.array([np.roll(first, shift) for shift in range(points - 1)] + [-np.ones(points - 1)])
    assert np.array_equal(published.T @ published, points * np.eye(points - 1))
    assert list_products(build_plackett_burman(points - 1)) == list_products(published)


def test_the_largest_correlation_in_twelve_points_is_a_third_and_folding_over_removes_it() -> None:
    names = [f"f{index}" for index in range(11)]
    plain = find_aliases((build_plackett_burman(11) > 0).astype(int).tolist(), [2] * 11, names)
    assert plain.main_with_interaction is not None
    assert plain.main_with_interaction.correlation == pytest.approx(1 / 3)
    assert all(len(partners) == 45 for partners in plain.partners.values())
    folded = find_aliases((build_folded_plackett_burman(11) > 0).astype(int).tolist(), [2] * 11, names)
    assert folded.main_with_interaction is None
    assert folded.between_mains is None
    assert folded.groups == ()


@pytest.mark.parametrize(
    ("sizes", "points", "order", "efficiency"),
    [
        ((3, 2, 2, 4), 12, 1, 0.9709835),
        ((3, 2, 2, 4), 30, 2, 0.8790131),
        ((2,) * 11, 12, 1, 1.0),
        ((2,) * 8, 40, 2, 0.8484473),
        ((3, 3, 3, 3), 9, 1, 1.0),
        ((5, 4, 3), 20, 1, 0.9807682),
    ],
)
def test_optimal_designs_are_about_as_good_as_those_of_algdesign(
    sizes: tuple[int, ...], points: int, order: int, efficiency: float
) -> None:
    # optFederov of R's package AlgDesign 1.2.1.2, 10 repeats, contrasts of mean square 1.
    found = find_optimal_design(sizes, points, order, 1)
    assert 0.96 * efficiency < found.efficiency < 1.03 * efficiency
