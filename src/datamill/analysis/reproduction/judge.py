"""Effects of two executions of an experiment compared: two one-sided tests against a margin."""

from __future__ import annotations

import math
from collections.abc import Sequence

from datamill.analysis.contrasts.contrast import find_critical
from datamill.analysis.contrasts.satterthwaite import combine_freedom
from datamill.analysis.interval import Interval
from datamill.analysis.reproduction.reproduction import ComparedEffect, Effect, ReproductionVerdict

#: Normal quantiles of the re-run that is large enough: 80% of re-runs are decided where nothing differs.
_POWER_QUANTILE = 1.2816


def compare_effects(
    original: Sequence[Effect], rerun: Sequence[Effect], *, margin: float, alpha: float
) -> tuple[ComparedEffect, ...]:
    """Compare each effect that both executions have.

    An effect is reproduced where the 1 − 2 `alpha` interval of the ratio of both ratios lies between
    1 / (1 + margin) and 1 + margin, which is two one-sided tests (Schuirmann 1987). It is not reproduced
    where an interval as wide as all m effects ask for (1 − 2 `alpha` / m, Bonferroni) lies wholly outside.
    Both executions are independent; their variances add on the logarithm, with Welch–Satterthwaite degrees of
    freedom.
    """
    again = {effect.key: effect for effect in rerun}
    pairs = [(effect, again[effect.key]) for effect in original if effect.key in again]
    return tuple(_compare(first, second, margin, alpha, len(pairs)) for first, second in pairs)


def _compare(first: Effect, second: Effect, margin: float, alpha: float, effects: int) -> ComparedEffect:
    variance = first.variance + second.variance
    df = combine_freedom((first.variance, second.variance), (first.df, second.df))
    log_change, reach = second.log_ratio - first.log_ratio, math.log1p(margin)
    narrow = _bound(log_change, variance, df, 1 - 2 * alpha)
    wide = _bound(log_change, variance, df, 1 - 2 * alpha / effects)
    verdict: ReproductionVerdict = "undecided"
    if max(abs(narrow[0]), abs(narrow[1])) < reach:
        verdict = "reproduced"
    elif wide[0] > reach or wide[1] < -reach:
        verdict = "not reproduced"
    return ComparedEffect(
        factor=first.factor,
        level=first.level,
        baseline=first.baseline,
        original=_spell(first, 1 - 2 * alpha),
        rerun=_spell(second, 1 - 2 * alpha),
        change=_raise(log_change, narrow),
        wide=_raise(log_change, wide),
        df=df,
        verdict=verdict,
        more=_find_growth(first, second, reach, alpha) if verdict == "undecided" else None,
    )


def decide(effects: Sequence[ComparedEffect], *, missing: int) -> ReproductionVerdict:
    """Return the verdict on all effects: reproduced where each is, not reproduced where any is not.

    Each is tested at the full rate for the first (an intersection of hypotheses, Berger 1982); the second
    rests on intervals that hold together. Nothing is reproduced of which a part is `missing`.
    """
    verdicts = [effect.verdict for effect in effects]
    if "not reproduced" in verdicts:
        return "not reproduced"
    if verdicts and not missing and all(verdict == "reproduced" for verdict in verdicts):
        return "reproduced"
    return "undecided"


def _find_growth(first: Effect, second: Effect, reach: float, alpha: float) -> float | None:
    """By how many times the re-run's trials must grow, taken that nothing differs and errors are normal."""
    quantile = find_critical(1 - 2 * alpha, 1e9) + _POWER_QUANTILE
    room = (reach / quantile) ** 2 - first.variance
    return None if room <= 0 else max(1.0, second.variance / room)


def _bound(estimate: float, variance: float, df: float, level: float) -> tuple[float, float]:
    reach = find_critical(level, df) * math.sqrt(variance) if variance > 0 else 0.0
    return estimate - reach, estimate + reach


def _spell(effect: Effect, level: float) -> Interval:
    return _raise(effect.log_ratio, _bound(effect.log_ratio, effect.variance, effect.df, level))


def _raise(estimate: float, bounds: tuple[float, float]) -> Interval:
    """Return an estimate and bounds on the logarithm as ratios."""
    return Interval(*(math.exp(min(value, 700.0)) for value in (estimate, *bounds)))
