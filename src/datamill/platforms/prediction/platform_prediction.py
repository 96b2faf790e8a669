"""What is predicted for machines, and what the prediction rests on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from datamill.platforms.scores.score_matrix import ScoreKind

#: An error above this share is one that a user would regret.
LIMIT = 0.25
#: Why a machine is refused: the suite does not describe the application; the machine is unlike those that
#: measured it; too few machines measured it; the suite has no value of the machine that could be used.
RefusalCause = Literal["application", "target", "machines", "scores"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing is predicted for a machine: the cause, and a sentence with its numbers."""

    cause: RefusalCause
    sentence: str


@dataclass(frozen=True, slots=True)
class MachinePrediction:
    """The application's predicted time on one machine.

    `low` and `high` bound the prediction interval of one geometric mean over replicates there. Where
    `refusals` are, the numbers are what would have been said. `risk` is the probability that the prediction
    errs by more than the limit that refusals are about. NaN where nothing can be computed.
    """

    machine: str
    seconds: float
    low: float
    high: float
    refusals: tuple[Refusal, ...]
    risk: float = math.nan

    @property
    def refused(self) -> bool:
        """Whether one should not rely on the prediction."""
        return bool(self.refusals)


@dataclass(frozen=True, slots=True)
class RefusalRisk:
    """How probable it is that a refused prediction errs by more than the limit: mean of the `known` risks."""

    known: int
    share: float

    @classmethod
    def gather(cls, refused: Sequence[MachinePrediction]) -> RefusalRisk | None:
        """Gather the risks; None where none is known."""
        risks = [item.risk for item in refused if math.isfinite(item.risk)]
        return cls(len(risks), sum(risks) / len(risks)) if risks else None


@dataclass(frozen=True, slots=True)
class Carrier:
    """A benchmark or a machine that carries predictions, and its share of all weights (0 to 1)."""

    name: str
    share: float


@dataclass(frozen=True, slots=True)
class PlatformPrediction:
    """The application's predicted times on every machine that did not measure it.

    `expected_error` is the typical error (median of |prediction / time − 1|) that the same method makes for
    the suite's own benchmarks, each taken for the application in turn, on the same machines. `strategy` is
    the name of what predicted. `kind` "score" says that values are scores: more is better. `limit` is the
    error, as a share, that refusals and risks are about.
    """

    application: str
    kind: ScoreKind
    confidence: float
    predictions: tuple[MachinePrediction, ...]
    trained: tuple[str, ...]
    benchmarks: tuple[Carrier, ...]
    machines: tuple[Carrier, ...]
    expected_error: float
    strategy: str
    warnings: tuple[str, ...]
    limit: float = LIMIT
