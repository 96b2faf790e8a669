"""Features scaled by what was seen in training alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from datamill.selection.predictors.case import Case

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Scaling(msgspec.Struct, frozen=True):
    """Features that a model knows, each with the largest absolute value that it had in training.

    `logarithmic`: log(1 + x / unit) of absolute values is scaled, since counts of changed functions and
    shares of the work span four orders of magnitude, and the step from none to the first unit matters most.
    Otherwise values are divided by the largest (max-abs scaling, thesis 2019, 1.6). Without `units`, as in
    models that were trained before there were any, each is 1.
    """

    names: tuple[str, ...]
    largest: tuple[float, ...]
    logarithmic: bool = True
    units: tuple[float, ...] = ()

    def scale(self, case: Case) -> tuple[float, ...]:
        """Return the scaled features of a case in the order of `names`; what is missing is 0."""
        values = (case.features.get(name, 0.0) for name in self.names)
        if self.logarithmic:
            units = self.units or (1.0,) * len(self.names)
            return tuple(
                math.log1p(abs(value) / unit) / math.log1p(most / unit)
                for value, most, unit in zip(values, self.largest, units, strict=True)
            )
        return tuple(value / most for value, most in zip(values, self.largest, strict=True))

    def build_matrix(self, cases: Sequence[Case]) -> NDArray[np.float64]:
        """Return the scaled features of n cases, n × p."""
        import numpy as np

        rows = [self.scale(case) for case in cases]
        return np.asarray(rows, dtype=np.float64).reshape(len(cases), len(self.names))
