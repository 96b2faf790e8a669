"""Terms of a model that the data cannot tell apart, since each is a combination of the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamill.analysis.linear.reduction import RANK_TOLERANCE
from datamill.analysis.linear.sums_of_squares import list_spans
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.model_data.coding import Term

ALIASED_REMEDY = "Leave out all but one of them, or measure the missing combinations."
#: From this share of an undetermined direction on a coefficient takes part in it.
_TAKES_PART = 1e-7


def find_aliased(triangle: FloatArray, terms: Sequence[Term]) -> tuple[tuple[Term, ...], ...]:
    """Groups of terms with coefficients that the data do not determine, each a combination of its group's.

    `triangle` (p columns, intercept first) is R of the model matrix: these are the terms that its null
    space touches.
    """
    parameters = triangle.shape[1]
    lengths = np.sqrt(np.sum(triangle**2, axis=0))
    if triangle.shape[0] == parameters and np.all(np.abs(np.diag(triangle)) > RANK_TOLERANCE * lengths):
        return ()
    # Columns of one length, so that no unit of a covariate decides what counts as zero.
    lengths[lengths == 0] = 1.0
    _, singular, right = np.linalg.svd(triangle / lengths, full_matrices=True)
    rank = int(np.sum(singular > RANK_TOLERANCE * singular[0]))
    null_space = right[rank:].T
    if rank == parameters:
        return ()
    # The projection on the null space does not depend on the basis: it has a block for each group.
    together = np.abs(null_space @ null_space.T)
    spans = list_spans(terms)
    open_terms = [at for at, span in enumerate(spans) if np.max(np.abs(null_space[span])) > _TAKES_PART]
    groups = []
    while open_terms:
        group, reached = [], [open_terms.pop(0)]
        while reached:
            at = reached.pop()
            group.append(at)
            near = [to for to in open_terms if np.max(together[spans[at], spans[to]]) > _TAKES_PART**2]
            open_terms = [to for to in open_terms if to not in near]
            reached += near
        groups.append(tuple(terms[at] for at in sorted(group)))
    return tuple(groups)


def name_aliased(groups: Sequence[Sequence[Term]]) -> str:
    """Say which terms cannot be told apart, group by group."""
    clauses = []
    for group in groups:
        names = [term.name for term in group]
        if len(names) == 1:
            clauses.append(f"the effect of {names[0]} and the mean cannot be told apart")
            continue
        others = "the other" + ("s" if len(names) > 2 else "")
        clauses.append(
            f"the effects of {', '.join(names[:-1])} and {names[-1]} cannot be told apart: in these data "
            f"each is a combination of {others}"
        )
    return "; ".join(clauses)
