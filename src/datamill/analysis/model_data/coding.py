"""Terms of a factorial model and their columns: −1/+1 for two levels, sum-to-zero for more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from datamill.analysis.model_data.cells import FloatArray, IntArray, ModelFactor
from datamill.experiment.errors import InputError


@dataclass(frozen=True, slots=True)
class Term:
    """A main effect or an interaction: the indices of its factors and covariates, degrees of freedom."""

    name: str
    factors: tuple[int, ...]
    df: int
    covariates: tuple[int, ...] = ()

    @property
    def order(self) -> int:
        """1 for a main effect, 2 for an interaction of two, and so on."""
        return len(self.factors) + len(self.covariates)

    def contains(self, other: Term) -> bool:
        """Whether the other term is this one or margin of it: a:b contains a, b and a:b."""
        margins = set(self.factors).issuperset(other.factors)
        return margins and set(self.covariates).issuperset(other.covariates)


def list_terms(factors: Sequence[ModelFactor], order: int) -> tuple[Term, ...]:
    """All main effects and interactions of up to `order` factors, lower orders first."""
    terms = []
    for size in range(1, min(order, len(factors)) + 1):
        for chosen in combinations(range(len(factors)), size):
            df = 1
            for index in chosen:
                df *= len(factors[index].levels) - 1
            terms.append(Term(":".join(factors[index].name for index in chosen), chosen, df))
    return tuple(terms)


def list_formula_terms(
    factors: Sequence[ModelFactor], covariates: Sequence[str], terms: Sequence[Sequence[str]]
) -> tuple[Term, ...]:
    """Terms of a model formula over these factors and covariates, lower orders first.

    Raises:
        InputError: an interaction stands there without a term that it contains.
    """
    place = {factor.name: index for index, factor in enumerate(factors)}
    found = []
    for names in sorted(terms, key=len):
        chosen = tuple(sorted(place[name] for name in names if name in place))
        others = tuple(sorted(covariates.index(name) for name in names if name not in place))
        df = 1
        for index in chosen:
            df *= len(factors[index].levels) - 1
        written = [factors[index].name for index in chosen] + [covariates[index] for index in others]
        found.append(Term(":".join(written), chosen, df, others))
    known = {frozenset(names) for names in terms}
    for names in terms:
        for left_out in names:
            margin = frozenset(names) - {left_out}
            if margin and margin not in known:
                raise InputError(
                    f"the formula has {':'.join(names)} but not {':'.join(n for n in names if n in margin)}",
                    remedy=f"Write {'*'.join(names)}, so that the interaction has its margins.",
                )
    return tuple(found)


def code_levels(levels: int) -> FloatArray:
    """Columns for a factor of L levels (L × L−1): −1 and +1 for two, sum-to-zero for more.

    With sum-to-zero coding the coefficients are the deviations of the first L−1 levels from the
    grand mean; the last level's is minus their sum.
    """
    if levels == 2:
        return np.array([[-1.0], [1.0]])
    return np.vstack([np.eye(levels - 1), -np.ones((1, levels - 1))])


def code_combinations(
    term: Term, factors: Sequence[ModelFactor]
) -> tuple[tuple[tuple[str, ...], ...], FloatArray]:
    """Every combination of levels of a term (m), and its row of the term's columns (m × df)."""
    labels = tuple(product(*(factors[index].levels for index in term.factors)))
    matrix: FloatArray = np.ones((1, 1))
    for index in term.factors:
        # Kronecker's product; numpy's own takes far longer than the product of matrices as small as these.
        levels = code_levels(len(factors[index].levels))
        columns = matrix.shape[1] * levels.shape[1]
        matrix = (matrix[:, None, :, None] * levels[None, :, None, :]).reshape(-1, columns)
    return labels, matrix


def code_cells(codes: IntArray, factors: Sequence[ModelFactor], terms: Sequence[Term]) -> FloatArray:
    """Model matrix over cells (K × 1 + sum of df): a column of ones, then the columns of each term."""
    coded = [code_levels(len(factor.levels))[codes[:, index]] for index, factor in enumerate(factors)]
    blocks = [np.ones((codes.shape[0], 1))]
    for term in terms:
        block = np.ones((codes.shape[0], 1))
        for index in term.factors:
            block = (block[:, :, None] * coded[index][:, None, :]).reshape(codes.shape[0], -1)
        blocks.append(block)
    return np.hstack(blocks)


def name_columns(term: Term, factors: Sequence[ModelFactor]) -> tuple[str, ...]:
    """Name of each column of a term: `x1:x2`, or with the levels it stands for, `package:opt[-O0]`."""
    several = [factors[index] for index in term.factors if len(factors[index].levels) > 2]
    if not several:
        return (term.name,)
    levels = product(*(factor.levels[:-1] for factor in several))
    return tuple(f"{term.name}[{','.join(combination)}]" for combination in levels)
