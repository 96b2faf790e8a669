"""The verbs of the Python API, for what must hold of each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import datamill

#: Verbs that describe or compare levels of factors.
FACTOR_VERBS: tuple[Callable[..., Any], ...] = (
    datamill.summary,
    datamill.anova,
    datamill.tests,
    datamill.variability,
    datamill.quantiles,
)
#: These, and those on versions.
VERBS = (*FACTOR_VERBS, datamill.variance, datamill.compare)
