"""Sums of squares of terms, Type I, II and III, from the triangle of a model's QR decomposition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamill.analysis.linear.linear_model import SquaresType
from datamill.analysis.linear.triangle import solve_triangle
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.model_data.coding import Term

#: In words, for the method.
SQUARES_IN_WORDS = {
    "I": "Type I, each term after those above it",
    "II": "Type II, each term after all others but those that contain it",
    "III": "Type III, each term after all others, every design point with the same weight",
}


def sum_squares(
    triangle: FloatArray, effects: FloatArray, terms: Sequence[Term], squares: SquaresType
) -> tuple[float, ...]:
    """Sum of squares of each term.

    `triangle` (p × p) is R of the model matrix, intercept first, and `effects` (p) Qᵀy. Type I
    takes terms in their order; Type II adjusts for the terms that do not contain the one in
    question; Type III for all others, over sum-to-zero coding. Source: Speed, Hocking and
    Hackney 1978.
    """
    spans = list_spans(terms)
    if squares == "I":
        return tuple(float(np.sum(effects[span] ** 2)) for span in spans)
    if squares == "II":
        return tuple(
            sum_squares_last(
                triangle,
                effects,
                [0, *_list_columns(spans, [not other.contains(term) for other in terms])],
                _list_columns([span], [True]),
            )
            for term, span in zip(terms, spans, strict=True)
        )
    beta = solve_triangle(triangle, effects)
    root = solve_triangle(triangle, np.eye(triangle.shape[0]))
    return tuple(_sum_squares_third(root[span], beta[span]) for span in spans)


def list_spans(terms: Sequence[Term]) -> tuple[slice, ...]:
    """The columns of each term, after that of the mean."""
    spans, start = [], 1
    for term in terms:
        spans.append(slice(start, start + term.df))
        start += term.df
    return tuple(spans)


def sum_squares_last(
    triangle: FloatArray, effects: FloatArray, before: Sequence[int], last: Sequence[int]
) -> float:
    """What the columns `last` explain after the columns `before`."""
    columns = np.column_stack([triangle[:, [*before, *last]], effects])
    # The last column of the new triangle is what each column adds.
    added = np.asarray(np.linalg.qr(columns, mode="r"))[:, -1]
    return float(np.sum(added[len(before) : len(before) + len(last)] ** 2))


def _list_columns(spans: Sequence[slice], wanted: Sequence[bool]) -> list[int]:
    return [
        column
        for span, use in zip(spans, wanted, strict=True)
        if use
        for column in range(span.start, span.stop)
    ]


def _sum_squares_third(root: FloatArray, beta: FloatArray) -> float:
    if beta.size == 1:
        return float(beta[0] ** 2 / np.sum(root**2))
    # root @ root.T is the covariance block C of the term; its QR gives beta' C^-1 beta without forming C.
    triangle = np.asarray(np.linalg.qr(root.T, mode="r"))
    return float(np.sum(solve_triangle(triangle, beta, transposed=True) ** 2))
