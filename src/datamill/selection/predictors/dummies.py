"""What any predictor has to beat: always, and never."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.selection.predictors.case import Case
from datamill.selection.predictors.models.constant import Constant

__all__ = ["Constant", "fit_always", "fit_never"]


def fit_always(cases: Sequence[Case]) -> Constant:  # noqa: ARG001
    """Run every benchmark of every commit."""
    return Constant(runs=True)


def fit_never(cases: Sequence[Case]) -> Constant:  # noqa: ARG001
    """Run none."""
    return Constant(runs=False)
