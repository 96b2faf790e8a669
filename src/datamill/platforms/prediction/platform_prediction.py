"""What is predicted for machines, and what the prediction rests on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
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
    errs by more than the limit that refusals are about. `expected_error`, a share, is the error that is as
    likely exceeded as not. NaN where nothing can be computed.
    """

    machine: str
    seconds: float
    low: float
    high: float
    refusals: tuple[Refusal, ...]
    risk: float = math.nan
    expected_error: float = math.nan

    @property
    def refused(self) -> bool:
        """Whether one should not rely on the prediction."""
        return bool(self.refusals)


@dataclass(frozen=True, slots=True)
class HeldOutMachine:
    """A machine with the value measured there, in the kind of the application, and its prediction.

    The prediction is made from the other machines that measured the application.
    """

    prediction: MachinePrediction
    measured: float

    @property
    def error(self) -> float:
        """Prediction over measured value, less 1."""
        return self.prediction.seconds / self.measured - 1

    @property
    def is_inside(self) -> bool:
        """Whether the measured value lies in the prediction interval."""
        return self.prediction.low <= self.measured <= self.prediction.high


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

    `check` has each machine that measured it (25 at most), predicted from the others; empty where fewer than
    three did. `suite_error` is the median of |prediction / time − 1| for the suite's own benchmarks, each
    taken for the application in turn, over all machines that did not measure it: it is not about the
    application. `strategy` is the name of what predicted. `kind` "score" says that values are scores: more is
    better. `limit` is the error, as a share, that refusals and risks are about.
    """

    application: str
    kind: ScoreKind
    confidence: float
    predictions: tuple[MachinePrediction, ...]
    trained: tuple[str, ...]
    benchmarks: tuple[Carrier, ...]
    machines: tuple[Carrier, ...]
    suite_error: float
    strategy: str
    warnings: tuple[str, ...]
    limit: float = LIMIT
    check: tuple[HeldOutMachine, ...] = ()

    @property
    def judged(self) -> tuple[MachinePrediction, ...]:
        """The predictions that a verdict is about: those of the check where every machine measured it."""
        return self.predictions or tuple(item.prediction for item in self.check)

    @property
    def kept(self) -> tuple[MachinePrediction, ...]:
        """Those of them that are not refused."""
        return tuple(item for item in self.judged if not item.refused)

    @property
    def expected_error(self) -> float:
        """The error, as a share, that a prediction which is not refused typically has; NaN without any.

        The median over these of the errors expected of them.
        """
        known = [item.expected_error for item in self.kept if math.isfinite(item.expected_error)]
        return median(known) if known else math.nan
