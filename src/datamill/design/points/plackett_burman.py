"""Two-level designs for many factors in few points: Plackett-Burman designs and their foldovers."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from datamill.experiment.errors import InputError

SignArray = NDArray[np.int64]
#: Largest order of a matrix that is made.
LARGEST_ORDER = 100


def find_order(columns: int) -> int:
    """Return the smallest order, from 4, of a Hadamard matrix made here with at least so many columns.

    92 alone of the multiples of 4 up to 100 has none of the constructions: the next, 96, stands in.

    Raises:
        InputError: there are more columns than the largest matrix has.
    """
    for order in range(4, LARGEST_ORDER + 1, 4):
        if order >= columns and build_hadamard(order) is not None:
            return order
    raise InputError(
        f"{columns} factors are more than a Plackett-Burman design here takes ({LARGEST_ORDER})",
        remedy="Name fewer factors.",
    )


@functools.cache
def build_hadamard(order: int) -> SignArray | None:
    """Return a Hadamard matrix (order x order, of -1 and 1) whose first column is all 1; None without one.

    Constructions: Paley I and II over fields of p or p² elements (Paley 1933), and doubling (Sylvester 1867).
    """
    if order in (1, 2):
        return np.array([[1, 1], [1, -1]], dtype=np.int64)[:order, :order]
    if order < 1 or order % 4:
        return None
    characters = _list_characters(order - 1) if order % 4 == 0 else None
    if characters is not None and (order - 1) % 4 == 3:
        # Paley I: I + S, with S skew-symmetric.
        bordered = np.zeros((order, order), dtype=np.int64)
        bordered[0, 1:], bordered[1:, 0] = 1, -1
        bordered[1:, 1:] = characters
        return _normalise(bordered + np.eye(order, dtype=np.int64))
    half = order // 2
    characters = _list_characters(half - 1)
    if characters is not None and (half - 1) % 4 == 1:
        # Paley II: a symmetric conference matrix C of half the order, C ⊗ [1 1; 1 -1] + I ⊗ [1 -1; -1 -1].
        conference = np.zeros((half, half), dtype=np.int64)
        conference[0, 1:], conference[1:, 0] = 1, 1
        conference[1:, 1:] = characters
        return _normalise(
            np.kron(conference, np.array([[1, 1], [1, -1]]))
            + np.kron(np.eye(half, dtype=np.int64), np.array([[1, -1], [-1, -1]]))
        )
    smaller = build_hadamard(half)
    if smaller is None:
        return None
    return _normalise(np.kron(np.array([[1, 1], [1, -1]]), smaller))


def _normalise(matrix: SignArray) -> SignArray:
    """The matrix with rows turned round so that the first column is all 1."""
    return np.asarray(matrix * matrix[:, :1], dtype=np.int64)


def _list_characters(size: int) -> SignArray | None:
    """Quadratic character of all differences in the field of `size` elements, p or p²; None without one."""
    if size >= 3 and size % 2 and _is_prime(size):
        squares = {value * value % size for value in range(1, size)}
        character = np.array([0, *(1 if value in squares else -1 for value in range(1, size))])
        return np.asarray(character[(np.arange(size)[:, None] - np.arange(size)) % size], dtype=np.int64)
    root = round(size**0.5)
    if root < 3 or root * root != size or not _is_prime(root):
        return None
    # Numbers a + b·w with w² a non-residue of p: one is a square when its norm a² - b²w² is one modulo p.
    squares = {value * value % root for value in range(1, root)}
    other = next(value for value in range(2, root) if value not in squares)
    first, second = np.divmod(np.arange(size), root)
    a = (first[:, None] - first) % root
    b = (second[:, None] - second) % root
    norm = (a * a - other * b * b) % root
    character = np.array([0, *(1 if value in squares else -1 for value in range(1, root))])
    return np.asarray(character[norm], dtype=np.int64)


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def build_plackett_burman(factors: int) -> SignArray:
    """Return the smallest Plackett-Burman design for so many factors (N x factors, entries -1 and 1).

    Its columns are orthogonal and balanced, so that main effects are told from each other, but each is partly
    (where N is a power of two wholly) aliased with interactions of others: resolution III. Source: Plackett
    and Burman 1946.
    """
    matrix = build_hadamard(find_order(factors + 1))
    assert matrix is not None
    return matrix[:, 1 : factors + 1]


def fold_over(design: SignArray) -> SignArray:
    """Return a design and its mirror image: main effects are then free of two-factor interactions."""
    return np.concatenate([design, -design])


def build_folded_plackett_burman(factors: int) -> SignArray:
    """Return the folded-over design for so many factors (2N x factors), of resolution IV.

    The column that is constant in each half is a factor's as well, so that N factors fit into 2N points
    (Box and Wilson 1951).
    """
    order = find_order(factors)
    matrix = build_hadamard(order)
    assert matrix is not None
    columns = [*range(1, order), 0][:factors]
    return fold_over(matrix[:, columns])
