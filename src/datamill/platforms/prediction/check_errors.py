"""What the check on measured machines says of the predictions, and whether it contradicts them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import median

from datamill.experiment.messages.numbers import format_share
from datamill.experiment.messages.phrases import count_nouns
from datamill.platforms.prediction.platform_prediction import PlatformPrediction, Refusal

#: A result that is so improbable where intervals and refusals hold contradicts them.
_IMPROBABLE = 0.05
#: The share of predictions above the limit that refusals let pass at most.
_PASSING = 0.01


@dataclass(frozen=True, slots=True)
class CheckErrors:
    """Errors of the held-out machines that were not refused, as shares without sign.

    `inside` counts those of `kept` whose measured value lies in the prediction interval, `beyond` those that
    err by more than the limit. `misses_intervals` says that so few inside are improbable (below 5%) at the
    level of the intervals; `misses_limit` that so many beyond are, where one in a hundred is what refusals
    let pass.
    """

    kept: int
    median: float
    largest: float
    inside: int
    beyond: int
    misses_intervals: bool
    misses_limit: bool

    @property
    def contradicts(self) -> bool:
        """Whether the predictions are not to be relied on, by what came of them where the truth is known."""
        return self.misses_intervals or self.misses_limit

    @classmethod
    def gather(cls, prediction: PlatformPrediction) -> CheckErrors | None:
        """Gather the errors of a prediction's check; None without one that is not refused."""
        kept = [
            item for item in prediction.check if not item.prediction.refused and math.isfinite(item.error)
        ]
        errors = [abs(item.error) for item in kept]
        if not errors:
            return None
        count, inside = len(kept), sum(item.is_inside for item in kept)
        beyond = sum(error > prediction.limit for error in errors)
        outside_rate = 1 - prediction.confidence
        return cls(
            count,
            median(errors),
            max(errors),
            inside,
            beyond,
            _exceed(count - inside, count, outside_rate) < _IMPROBABLE,
            _exceed(beyond, count, _PASSING) < _IMPROBABLE,
        )


def refuse_by_check(prediction: PlatformPrediction) -> PlatformPrediction:
    """Return the prediction with every machine refused where the check misses the limit.

    What refusals let pass would err by more once in a hundred; where it did so among the few machines that
    tell, the errors of the suite's benchmarks say nothing of this application's.
    """
    errors = CheckErrors.gather(prediction)
    if errors is None or not errors.misses_limit:
        return prediction
    refusal = Refusal(
        "application",
        f"of {count_nouns(errors.kept, 'measured machine')} that could be predicted from the others, "
        f"{errors.beyond} {'is' if errors.beyond == 1 else 'are'} off by more than "
        f"{format_share(prediction.limit)}",
    )
    return replace(
        prediction,
        predictions=tuple(
            replace(item, refusals=(refusal, *item.refusals)) for item in prediction.predictions
        ),
    )


def _exceed(least: int, count: int, rate: float) -> float:
    """Probability that at least so many of `count` independent events of this rate happen."""
    return math.fsum(
        math.comb(count, many) * rate**many * (1 - rate) ** (count - many) for many in range(least, count + 1)
    )
