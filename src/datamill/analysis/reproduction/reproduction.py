"""What a re-run says of the result of an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from datamill.analysis.interval import Interval

ReproductionVerdict = Literal["reproduced", "not reproduced", "undecided"]
#: What an effect is a ratio of: packages, levels of a factor, or of nothing: the value itself.
EffectKind = Literal["packages", "levels", "value"]
#: Effects that differ by less are the same for a reader, unless somebody says otherwise before the re-run.
USUAL_MARGIN = 0.05
#: The stated rate of either mistake.
USUAL_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Effect:
    """A ratio of two means of one experiment, on the logarithm, or a mean alone.

    `factor` has the `level` and its `baseline`, both empty where a mean stands alone. `log_ratio` has
    `variance` with `df` degrees of freedom; `n` counts observations behind both means.
    """

    factor: str
    level: str
    baseline: str
    log_ratio: float
    variance: float
    df: float
    n: int

    @property
    def key(self) -> tuple[str, str, str]:
        """What the effect is called in every execution of the experiment."""
        return self.factor, self.level, self.baseline


@dataclass(frozen=True, slots=True)
class ComparedEffect:
    """An effect in the original and in the re-run; ratios with intervals of `confidence`.

    `change` is the re-run's ratio over the original's; its interval is the one that is held against the
    margin. `wide` is the same interval, widened for the number of effects, by which one that lies outside is
    called different. `more` is by how many times the re-run's trials would have to grow to decide, with 80%
    probability, if nothing differs; None where no number would, for the original is too uncertain.
    """

    factor: str
    level: str
    baseline: str
    original: Interval
    rerun: Interval
    change: Interval
    wide: Interval
    df: float
    verdict: ReproductionVerdict
    more: float | None


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Whether the result of an experiment was reproduced.

    `effects` are those that both executions have; `missing` names the others. Of re-runs whose true effect
    differs by the `margin` (a ratio's share) or more at most the share `alpha` is called reproduced; of those
    whose effects all differ by less, at most `alpha` is called not reproduced. `confidence` is 1 − 2 `alpha`.
    """

    response: str
    unit: str
    kind: EffectKind
    verdict: ReproductionVerdict
    effects: tuple[ComparedEffect, ...]
    missing: tuple[str, ...]
    margin: float
    alpha: float
    confidence: float
    n_original: int
    n_rerun: int
    machines_original: tuple[str, ...]
    machines_rerun: tuple[str, ...]
    method: str
    warnings: tuple[str, ...]
