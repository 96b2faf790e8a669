"""Which main effects and two-factor interactions the points of a design cannot tell apart."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datamill.design.points.d_optimal import code_contrasts
from datamill.experiment.messages.numbers import format_fixed

FloatArray = NDArray[np.float64]
#: From this correlation on two terms are one and the same to the data; below the other they are free of each
#: other.
_WHOLE, _FREE = 1 - 1e-9, 1e-9
#: With more factors, interactions are not compared with each other, of which there are too many to read; the
#: second number is for factors of several levels, which take longer to compare.
_MOST_COMPARED, _MOST_MIXED = 40, 14
#: Numbers in the columns of all terms together, and pairs of terms, beyond which nothing is compared.
_MOST_NUMBERS, _MOST_PAIRS = 4_000_000, 1_000_000
#: What a term is aliased with that is the same at all points.
MEAN = "the mean"


@dataclass(frozen=True, slots=True)
class PartialAlias:
    """Two terms that are told apart only in part: the correlation of their columns, between 0 and 1."""

    first: str
    second: str
    correlation: float


@dataclass(frozen=True, slots=True)
class AliasStructure:
    """What cannot be told apart, up to interactions of two factors, which are named `a:b`.

    `groups` are terms of which each is the same as the others at all points. The largest correlation below
    that is given between two main effects, between a main effect and an interaction, and between two
    interactions; None where there is none. `partners` names, by factor, the interactions with which its main
    effect is aliased in part, the strongest first, with the correlations. With `several_levels` some factor
    has more than two: terms are then the same already where one contrast of their levels is. Without
    `complete`, interactions were not compared with each other.
    """

    factors: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    between_mains: PartialAlias | None
    main_with_interaction: PartialAlias | None
    between_interactions: PartialAlias | None
    partners: dict[str, tuple[tuple[str, float], ...]]
    several_levels: bool = False
    complete: bool = True

    def find_group(self, term: str) -> tuple[str, ...]:
        """Return the other terms that are the same as a term at all points."""
        group = next((group for group in self.groups if term in group), ())
        return tuple(other for other in group if other != term)


def find_aliases(rows: Sequence[Sequence[int]], sizes: Sequence[int], names: Sequence[str]) -> AliasStructure:
    """Return the alias structure of points, regular or not; levels are indices, of any number.

    Terms are compared by the largest canonical correlation of their contrasts, the mean taken out.

    Args:
        rows: n points, a level's index for each of k factors.
        sizes: number of levels of each factor, each at least 2.
        names: of the factors.
    """
    codes = np.asarray(rows, dtype=np.int64).reshape(len(rows), len(sizes))
    mains = [code_contrasts(size)[codes[:, at]] for at, size in enumerate(sizes)]
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    labels = [*names, *(f"{names[a]}:{names[b]}" for a, b in pairs)]
    columns = [*mains]
    columns += [(mains[a][:, :, None] * mains[b][:, None, :]).reshape(len(codes), -1) for a, b in pairs]
    bases = [_find_basis(block) for block in columns]
    count = len(sizes)
    complete = count <= (_MOST_COMPARED if max(sizes) == 2 else _MOST_MIXED)
    compared = len(labels) if complete else count
    correlations = _correlate(bases[:compared], bases)
    own = [{a, b} for a, b in pairs]
    groups = _gather_groups(labels, bases, correlations)

    partly = np.where(correlations < _WHOLE, correlations, 0.0)

    def find_largest(first: range, second: range) -> PartialAlias | None:
        found: PartialAlias | None = None
        for at in first:
            others = range(max(at + 1, second.start), second.stop)
            best = max(others, key=lambda other: partly[at, other], default=at)
            value = float(partly[at, best]) if best != at else 0.0
            if value > (found.correlation if found is not None else 0.0) + _FREE:
                found = PartialAlias(labels[at], labels[best], value)
        return found

    partners = {}
    for at in range(count):
        row = correlations[at, count:]
        ranked = sorted(np.flatnonzero((row > _FREE) & (row < _WHOLE)), key=lambda pair: -row[pair])
        partners[names[at]] = tuple(
            (labels[count + int(pair)], float(row[pair])) for pair in ranked if at not in own[int(pair)]
        )
    everything, of_mains = range(count, len(labels)), range(count)
    return AliasStructure(
        factors=tuple(names),
        groups=groups,
        between_mains=find_largest(of_mains, of_mains),
        main_with_interaction=find_largest(of_mains, everything),
        between_interactions=find_largest(everything, everything) if complete and pairs else None,
        partners=partners,
        several_levels=max(sizes) > 2,
        complete=complete,
    )


def is_comparable(points: int, sizes: Sequence[int]) -> bool:
    """Tell whether the terms of so many points of factors with so many levels can be compared at all.

    A design for thousands of points, levels or factors is not made to be read term by term.
    """
    contrasts = [size - 1 for size in sizes]
    whole = sum(contrasts)
    columns = whole + (whole**2 - sum(count**2 for count in contrasts)) // 2
    terms = len(sizes) + len(sizes) * (len(sizes) - 1) // 2
    complete = len(sizes) <= (_MOST_COMPARED if max(sizes) == 2 else _MOST_MIXED)
    return points * columns <= _MOST_NUMBERS and (terms if complete else len(sizes)) * terms <= _MOST_PAIRS


def _find_basis(block: FloatArray) -> FloatArray:
    """Orthonormal basis of the columns without the mean; no column where they are constant."""
    centred = block - np.mean(block, axis=0)
    left, lengths, _ = np.linalg.svd(centred, full_matrices=False)
    kept: FloatArray = left[:, lengths > 1e-9 * np.sqrt(block.size)]
    return kept


def _correlate(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> FloatArray:
    """Largest canonical correlation of each of some blocks with each of others."""
    found = np.zeros((len(first), len(second)))
    if all(basis.shape[1] == 1 for basis in second):
        together = np.concatenate(second, axis=1)
        found[:] = np.abs(np.concatenate(first, axis=1).T @ together)
        return np.minimum(found, 1.0)
    for a, left in enumerate(first):
        for b, right in enumerate(second):
            if left.shape[1] and right.shape[1]:
                found[a, b] = min(1.0, float(np.linalg.norm(left.T @ right, 2)))
    return found


def _gather_groups(
    labels: Sequence[str], bases: Sequence[FloatArray], correlations: FloatArray
) -> tuple[tuple[str, ...], ...]:
    constant = [label for label, basis in zip(labels, bases, strict=True) if not basis.shape[1]]
    groups = [(MEAN, *constant)] if constant else []
    done: set[int] = set()
    for at in range(correlations.shape[0]):
        same = [int(other) for other in np.flatnonzero(correlations[at] > _WHOLE) if other not in done]
        if at not in done and len(same) > 1:
            groups.append(tuple(labels[other] for other in same))
            done.update(same)
    return tuple(groups)


def phrase_aliases(structure: AliasStructure) -> tuple[str, ...]:
    """Return the alias structure in sentences, the worst first."""
    names = set(structure.factors)
    sentences = []
    for group in structure.groups:
        if names.intersection(group):
            sentences.append(_phrase_group(group, structure))
    aliased_mains = bool(sentences)
    sentences += [
        _phrase_partial(text, partial)
        for text, partial in (
            ("Main effects are correlated with each other", structure.between_mains),
            ("Main effects are partly aliased with two-factor interactions", structure.main_with_interaction),
        )
        if partial is not None
    ]
    if not sentences and len(names) > 1:
        sentences.append("Main effects are free of each other and of two-factor interactions.")
    rest = [_phrase_group(group, structure) for group in structure.groups if not names.intersection(group)]
    if structure.between_interactions is not None:
        rest.append(
            _phrase_partial(
                "Two-factor interactions are partly aliased with each other", structure.between_interactions
            )
        )
    if not structure.complete:
        rest.append("Two-factor interactions were not compared with each other: there are too many.")
    elif not rest and not aliased_mains and len(names) > 1:
        rest.append("Two-factor interactions are free of each other.")
    return (*sentences, *rest)


def _phrase_group(group: Sequence[str], structure: AliasStructure) -> str:
    if group[0] == MEAN:
        return f"Cannot be told apart from the mean: {', '.join(group[1:])}."
    where = ", in some contrast of their levels" if structure.several_levels else ""
    return f"Cannot be told apart{where}: {' = '.join(group)}."


def _phrase_partial(text: str, partial: PartialAlias) -> str:
    return (
        f"{text}: the largest correlation is {format_fixed(partial.correlation, 2)} ({partial.first} with "
        f"{partial.second})."
    )
