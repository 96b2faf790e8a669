"""Which terms a table can tell apart, before a quantile is fitted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamill.analysis.model_data.cells import Cells, FloatArray, refuse_missing_levels
from datamill.analysis.model_data.coding import Term
from datamill.analysis.model_data.matrix import ModelMatrix, build_model_matrix
from datamill.analysis.model_data.observations import Observations
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_given

#: Below this share of the largest singular value a direction is not determined by the data.
_RANK_TOLERANCE = 1e-9
#: A coefficient takes part in an undetermined direction from this share of it on.
_TAKES_PART = 1e-7
#: Rows of the matrix that are factored at a time.
_ROWS = 1 << 16
#: Largest product of coefficients and cells.
_LARGEST_MATRIX = 20_000_000


def choose_estimable_terms(
    observations: Observations, terms: Sequence[Term]
) -> tuple[ModelMatrix, tuple[str, ...]]:
    """Return the model matrix of the terms that the data can tell apart, and the names of those left out.

    Interactions that cells without data hide are left out, the highest orders first.

    Raises:
        InputError: a factor has one level only, a covariate or the response is constant, main
            effects are aliased (names them), or there are not more observations than coefficients.
    """
    _refuse_unusable(observations, terms)
    matrix, dropped = drop_hidden_terms(observations, terms)
    parameters, n = matrix.by_cell.shape[1], observations.cells.n
    if n <= parameters:
        raise InputError(
            f"{n} observations cannot estimate {parameters} coefficients and their errors",
            remedy="Choose a lower order of interactions, fewer factors, or add replicates.",
        )
    return matrix, dropped


def drop_hidden_terms(
    observations: Observations, terms: Sequence[Term]
) -> tuple[ModelMatrix, tuple[str, ...]]:
    """Return the model matrix of the terms that cells and covariates can tell apart, and the others' names.

    Raises:
        InputError: main effects are aliased; names them.
    """
    kept = tuple(terms)
    while True:
        matrix = build_model_matrix(observations, kept)
        hidden = _find_hidden(matrix)
        if not hidden:
            break
        highest = max(term.order for term in hidden)
        if highest == 1:
            names = [term.name for term in hidden]
            raise InputError(
                f"the effects of {', '.join(names[:-1])} and {names[-1]} cannot be told apart: in these data "
                "each follows from the others"
                if len(names) > 1
                else f"the effect of {names[0]} and the intercept cannot be told apart",
                remedy="Leave one of them out, or measure the missing combinations.",
            )
        leaving = [term for term in hidden if term.order == highest]
        kept = tuple(term for term in kept if not any(term.contains(out) for out in leaving))
    return matrix, tuple(term.name for term in terms if term not in kept)


def _refuse_unusable(observations: Observations, terms: Sequence[Term]) -> None:
    cells = observations.cells
    refuse_unusable_factors(cells, terms)
    for covariate in observations.covariates:
        if float(np.ptp(covariate.values)) == 0:
            raise InputError(
                f"covariate {covariate.name} is constant: always {format_given(covariate.values[0])}",
                remedy="Leave it out.",
            )
    if not np.any(cells.values):
        raise InputError(
            f"the response is constant: all {cells.n} observations are {format_given(cells.origin)}",
            remedy="There is no variation to analyse; check that the column is the right one.",
        )


def refuse_unusable_factors(cells: Cells, terms: Sequence[Term]) -> None:
    """Refuse factors without two levels with data, and models that are too large.

    Raises:
        InputError: says which.
    """
    if not terms:
        raise InputError("there is nothing to explain the response with", remedy="Name at least one factor.")
    used = {index for term in terms for index in term.factors}
    for index in sorted(used):
        refuse_missing_levels(cells, index)
    parameters = 1 + sum(term.df for term in terms)
    if parameters * max(parameters, cells.counts.size) > _LARGEST_MATRIX:
        raise InputError(
            f"a model with {parameters} coefficients over {cells.counts.size} cells is too large",
            remedy="Choose a lower order of interactions.",
        )


def _find_hidden(matrix: ModelMatrix) -> list[Term]:
    """Terms with a coefficient that the data do not determine: those the null space touches."""
    triangle = _factor(matrix)
    lengths = np.sqrt(np.sum(triangle**2, axis=0))
    _, singular, right = np.linalg.svd(triangle / np.where(lengths > 0, lengths, 1.0), full_matrices=True)
    rank = int(np.sum(singular > _RANK_TOLERANCE * singular[0]))
    null_space = right[rank:].T
    if null_space.shape[1] == 0:
        return []
    return [
        term
        for term, columns in zip(matrix.terms, matrix.columns, strict=True)
        if float(np.max(np.abs(null_space[columns]))) > _TAKES_PART
    ]


def _factor(matrix: ModelMatrix) -> FloatArray:
    """Upper triangle R of the matrix' QR; covariates centred, so that a large offset hides nothing."""
    if matrix.factorial:
        return np.asarray(np.linalg.qr(matrix.by_cell, mode="r"), dtype=np.float64)
    centres = np.mean(matrix.products, axis=1)
    triangle = np.zeros((0, matrix.by_cell.shape[1]))
    for start in range(0, matrix.cell_of_row.size, _ROWS):
        rows = slice(start, start + _ROWS)
        dense = matrix.by_cell[matrix.cell_of_row[rows]]
        for column, product in enumerate(matrix.of_product):
            if product >= 0:
                dense[:, column] *= matrix.products[product, rows] - centres[product]
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, dense]), mode="r"), dtype=np.float64)
    return triangle
