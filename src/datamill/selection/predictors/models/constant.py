"""The same of every case."""

from __future__ import annotations

import msgspec

from datamill.selection.predictors.case import Case


class Constant(msgspec.Struct, frozen=True, tag="constant"):
    """Decides the same of every case (thesis 2019, 1.9.3)."""

    runs: bool
    warnings: tuple[str, ...] = ()

    def decides(self, case: Case) -> bool:  # noqa: ARG002
        """Whether the benchmark must run."""
        return self.runs

    def score(self, case: Case) -> float:  # noqa: ARG002
        """1 for always, 0 for never."""
        return float(self.runs)
