"""Model matrices of factors and covariates, kept small: coded by cell, times products of covariates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamill.analysis.model_data.cells import CellArray, Cells, FloatArray, IntArray
from datamill.analysis.model_data.coding import Term, code_cells, name_columns
from datamill.analysis.model_data.observations import Covariate, Observations


@dataclass(frozen=True, slots=True, eq=False)
class ModelMatrix:
    """The columns of a model: the mean's, then those of each term (p in all).

    Row i of column j is `by_cell[cell_of_row[i], j]` (K × p), times `products[of_product[j], i]`
    (m × n) unless `of_product[j]` (p) is −1. `names` has a name for each column, `columns` a slice
    for each term. Factors are coded −1/+1, sum-to-zero for more than two levels; covariates are
    as they came, neither centred nor scaled.
    """

    terms: tuple[Term, ...]
    names: tuple[str, ...]
    columns: tuple[slice, ...]
    by_cell: FloatArray
    cell_of_row: CellArray
    products: FloatArray
    of_product: IntArray

    @property
    def factorial(self) -> bool:
        """Whether the rows of a cell are all the same, as no covariate takes part."""
        return bool(self.products.shape[0] == 0)

    @property
    def sizes(self) -> FloatArray:
        """Largest magnitude in each column (p): 1 but for products of covariates."""
        largest = np.append(np.max(np.abs(self.products), axis=1, initial=0.0), 1.0)
        return np.asarray(largest[self.of_product], dtype=np.float64)

    def to_dense(self, rows: slice = slice(None)) -> FloatArray:
        """The plain matrix of some rows (n × p)."""
        dense = self.by_cell[self.cell_of_row[rows]]
        for column, product in enumerate(self.of_product):
            if product >= 0:
                dense[:, column] *= self.products[product, rows]
        return dense


def build_model_matrix(observations: Observations, terms: Sequence[Term]) -> ModelMatrix:
    """Code the terms over the cells and covariates of some observations."""
    return code_model_matrix(observations.cells, observations.covariates, terms)


def code_model_matrix(cells: Cells, covariates: Sequence[Covariate], terms: Sequence[Term]) -> ModelMatrix:
    """Code the terms over cells, and over covariates with a value for each of the cells' observations."""
    by_cell = code_cells(cells.codes, cells.factors, terms)
    wanted = list(dict.fromkeys(term.covariates for term in terms if term.covariates))
    products = np.ones((len(wanted), cells.n))
    for row, chosen in zip(products, wanted, strict=True):
        for index in chosen:
            row *= covariates[index].values
    columns, of_product, names = [], [-1], ["mean"]
    for term in terms:
        columns.append(slice(len(of_product), len(of_product) + term.df))
        of_product += [wanted.index(term.covariates) if term.covariates else -1] * term.df
        names += name_columns(term, cells.factors)
    return ModelMatrix(
        terms=tuple(terms),
        names=tuple(names),
        columns=tuple(columns),
        by_cell=np.ascontiguousarray(by_cell),
        cell_of_row=cells.of_row,
        products=products,
        of_product=np.array(of_product, dtype=np.int64),
    )
