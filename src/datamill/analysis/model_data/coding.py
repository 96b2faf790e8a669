"""Terms of a factorial model and their columns: −1/+1 for two levels, sum-to-zero for more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product

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


def recode_from_first(factors: Sequence[ModelFactor], terms: Sequence[Term]) -> FloatArray | None:
    """What each coefficient of the 0/1 coding is of those of the −1/+1 coding (p × p).

    In the 0/1 coding a column is 1 where its factors are at certain levels, each but the first: a
    coefficient is the change from the first level, and the intercept holds where every factor is at its
    first. Coefficients of that coding are the matrix times those of ours. None where an interaction stands
    without a term that it contains, so that the coding is another model.
    """
    places: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {((), ()): 0}
    size = 1
    for term in terms:
        places[term.factors, term.covariates] = size
        size += term.df
    weights = np.zeros((size, size))
    weights[0, 0] = 1.0
    for term in terms:
        own = places[term.factors, term.covariates]
        coded = [code_levels(len(factors[index].levels)) for index in term.factors]
        subsets = chain.from_iterable(
            combinations(range(len(term.factors)), count) for count in range(len(term.factors) + 1)
        )
        for kept in subsets:
            margin = places.get((tuple(term.factors[place] for place in kept), term.covariates))
            if margin is None:
                return None
            # A column is its value at the first level, and at each other level what it is more.
            block = np.ones((1, 1))
            for place, columns in enumerate(coded):
                part = columns[1:] - columns[0] if place in kept else columns[:1]
                block = np.kron(block, part)
            weights[margin : margin + block.shape[0], own : own + term.df] += block
    return weights


def name_changes(term: Term, factors: Sequence[ModelFactor]) -> tuple[str, ...]:
    """Name of each column of a term in the 0/1 coding, with the levels at which it is 1: `opt[-O3]`."""
    if not term.factors:
        return (term.name,)
    levels = product(*(factors[index].levels[1:] for index in term.factors))
    return tuple(f"{term.name}[{','.join(combination)}]" for combination in levels)


def name_columns(term: Term, factors: Sequence[ModelFactor]) -> tuple[str, ...]:
    """Name of each column of a term: `x1:x2`, or with the levels it stands for, `package:opt[-O0]`."""
    several = [factors[index] for index in term.factors if len(factors[index].levels) > 2]
    if not several:
        return (term.name,)
    levels = product(*(factor.levels[:-1] for factor in several))
    return tuple(f"{term.name}[{','.join(combination)}]" for combination in levels)
