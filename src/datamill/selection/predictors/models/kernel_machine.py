"""A support vector machine."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from datamill.selection.predictors.case import Case
from datamill.selection.predictors.models.probability import to_probability
from datamill.selection.predictors.models.scaling import Scaling

Kernel = Literal["sigmoid", "polynomial", "rbf"]
DEGREE = 3


class KernelMachine(msgspec.Struct, frozen=True, tag="svm"):
    """Support vectors with their coefficients (the class's sign times alpha) in a kernel with `gamma`.

    The decision value becomes a probability by `slope` and `shift` (Platt 1999).
    """

    scaling: Scaling
    kernel: Kernel
    gamma: float
    vectors: tuple[tuple[float, ...], ...]
    coefficients: tuple[float, ...]
    bias: float
    slope: float = 1.0
    shift: float = 0.0
    warnings: tuple[str, ...] = ()

    def decision(self, case: Case) -> float:
        """Return the signed distance from the boundary, in units of the margin."""
        row = self.scaling.scale(case)
        return self.bias + sum(
            weight * self._compare(vector, row)
            for vector, weight in zip(self.vectors, self.coefficients, strict=True)
        )

    def _compare(self, first: tuple[float, ...], second: tuple[float, ...]) -> float:
        if self.kernel == "rbf":
            return math.exp(-self.gamma * sum((x - y) ** 2 for x, y in zip(first, second, strict=True)))
        product = self.gamma * sum(x * y for x, y in zip(first, second, strict=True))
        return math.tanh(product) if self.kernel == "sigmoid" else product**DEGREE

    def score(self, case: Case) -> float:
        """Return the probability of a change."""
        return to_probability(self.shift + self.slope * self.decision(case))

    def decides(self, case: Case) -> bool:
        """Whether the decision value is above 0."""
        return self.decision(case) > 0
