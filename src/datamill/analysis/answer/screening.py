"""Screening: which of many factors move a response, judged from few design points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from datamill.analysis.answer.response import ResponseAnalysis
from datamill.analysis.contrasts.blocks import BlockFit
from datamill.analysis.contrasts.fieller import bound_ratio
from datamill.analysis.contrasts.main_effects import MainEffects, PackageError, fit_main_effects
from datamill.analysis.contrasts.multiplicity import adjust_holm
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import Cells, FloatArray
from datamill.design.design import Design
from datamill.design.machines import MACHINE_FACTOR
from datamill.design.points.aliases import AliasStructure, find_aliases
from datamill.experiment.messages.numbers import say_p

#: Effects below this share of the mean are too small to go on for.
SMALLEST_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class FactorEffect:
    """What a factor does to one package: the mean at its high level less that at its low one.

    `percent` is of the package's mean, with Fieller's interval; None where that cannot be bounded. `p` is
    adjusted by Holm over all factors and packages; None where nothing varies. Intervals hold for each effect
    by itself.
    """

    factor: str
    package: str
    low: str
    high: str
    effect: Interval
    percent: Interval | None
    p: float | None
    detected: bool

    @property
    def may_matter(self) -> bool:
        """Whether the interval reaches beyond 1% of the mean, on either side."""
        if self.percent is None:
            return True
        return max(abs(self.percent.low), abs(self.percent.high)) > 100 * SMALLEST_SHARE


@dataclass(frozen=True, slots=True)
class Screening:
    """Which factors moved a response: those detected (`survivors`), and what is known of the others.

    `effects` come strongest first. A factor is `unresolved` when it was not detected and the interval of its
    effect reaches beyond 1% of the mean in some package; `quiet` when in none. `unknown` ones cannot be told
    from others, or have no data at one level.
    """

    effects: tuple[FactorEffect, ...]
    errors: tuple[PackageError, ...]
    survivors: tuple[str, ...]
    unresolved: tuple[str, ...]
    quiet: tuple[str, ...]
    unknown: tuple[str, ...]
    n: int
    confidence: float
    alpha: float
    method: str
    warnings: tuple[str, ...]


def list_screened(design: Design) -> tuple[str, ...]:
    """Return the factors of a design that a screening judges: those it sets, of two levels, and crosses."""
    return tuple(
        factor.name
        for factor in design.crossed
        if factor.name not in ("package", MACHINE_FACTOR) and len(factor.levels) == 2
    )


def screen_response(design: Design, analysis: ResponseAnalysis) -> Screening:
    """Judge the factors of a screening design by one response; see `screen_factors`."""
    return screen_factors(
        analysis.observations.cells,
        list_screened(design),
        package_factor=analysis.package_factor,
        package=analysis.mean.package if analysis.mean is not None else design.trials[0].package,
        blocks=None if analysis.blocked is None else analysis.blocked.fit,
        confidence=analysis.confidence,
        alpha=analysis.alpha,
    )


def find_observed_aliases(cells: Cells, factors: Sequence[str]) -> AliasStructure | None:
    """Return what the design points that have data cannot tell apart; None with fewer than two factors."""
    places = [at for at, item in enumerate(cells.factors) if item.name in factors]
    if len(places) < 2:
        return None
    rows = np.unique(cells.codes[:, places], axis=0)
    return find_aliases(
        rows.tolist(),
        [len(cells.factors[at].levels) for at in places],
        [cells.factors[at].name for at in places],
    )


def screen_factors(
    cells: Cells,
    factors: Sequence[str],
    *,
    package_factor: int | None = None,
    package: str = "",
    blocks: BlockFit | None = None,
    confidence: float = 0.95,
    alpha: float = 0.01,
) -> Screening:
    """Estimate the main effects of two-level factors in each package, and judge them all together.

    Least squares of main effects. The error is that of like trials, so that interactions do not inflate it;
    where design points share builds, that between builds; without either, Lenth's pseudo standard error of
    the main effects and of those interactions that are orthogonal to them and to each other. A factor is
    detected in a package when its p, adjusted by Holm over all factors and packages, is below alpha.

    Args:
        cells: observations, the factors screened and the package among the factors.
        factors: names of those screened.
        package_factor: index of the package among the factors of the cells; None with one package.
        package: its name then.
        blocks: cells and blocks fitted together, where trials were run in blocks.
        confidence: level of each interval.
        alpha: familywise level of the judgement.
    """
    present = [item.name for item in cells.factors if item.name in factors and len(item.levels) == 2]
    columns = [next(i for i, item in enumerate(cells.factors) if item.name == name) for name in present]
    packages = (package,) if package_factor is None else cells.factors[package_factor].levels
    kept, effects, errors = list(present), [], []
    warnings: list[str] = []
    parts = []
    for code, name in enumerate(packages):
        chosen = np.ones(cells.counts.size, dtype=bool)
        if package_factor is not None:
            chosen = cells.codes[:, package_factor] == code
        signs = np.asarray(2 * cells.codes[chosen][:, columns] - 1, dtype=np.float64)
        parts.append((name, chosen, signs))
        hidden = _find_undetermined(signs)
        kept = [factor for at, factor in enumerate(present) if factor in kept and at not in hidden]
    for name, chosen, signs in parts:
        own = signs[:, [present.index(factor) for factor in kept]]
        fit = fit_main_effects(cells, chosen, own, package=name, blocks=blocks, confidence=confidence)
        if fit is None:
            warnings.append(
                f"nothing is known about {name}: neither like trials nor several builds of each kind show "
                "the error, and effects are too few for Lenth's method; raise replicates"
            )
            continue
        errors.append(fit.error)
        effects += _describe_effects(cells, fit, kept, name)
        if not fit.error.varies:
            warnings.append(f"like trials of {name} do not differ at all: there is no error to judge by")
        elif fit.error.interactions_p is not None and fit.error.interactions_p < alpha:
            warnings.append(
                f"what factors do to {name} depends on other factors ({say_p(fit.error.interactions_p)}): "
                "interactions are at work, and this design does not tell which; a factor that acts through "
                "one alone is not detected"
            )
        elif fit.error.source == "pseudo standard error":
            warnings.append(
                f"without like trials of {name} interactions go unnoticed, and a factor that acts through "
                "one alone is not detected; replicates = 2 would tell whether there are any"
            )
    adjusted = adjust_holm([effect.p for effect in effects])
    judged = [
        replace(effect, p=p, detected=p is not None and p < alpha)
        for effect, p in zip(effects, adjusted, strict=True)
    ]
    judged.sort(key=lambda item: -_measure(item))
    order = list(dict.fromkeys(item.factor for item in judged))
    survivors = tuple(name for name in order if any(e.detected for e in judged if e.factor == name))
    others = [name for name in order if name not in survivors]
    unresolved = tuple(name for name in others if any(e.may_matter for e in judged if e.factor == name))
    return Screening(
        effects=tuple(judged),
        errors=tuple(errors),
        survivors=survivors,
        unresolved=unresolved,
        quiet=tuple(name for name in others if name not in unresolved),
        unknown=tuple(name for name in factors if name not in order),
        n=cells.n,
        confidence=confidence,
        alpha=alpha,
        method=_describe_method(errors),
        warnings=tuple(warnings),
    )


def _find_undetermined(signs: FloatArray) -> set[int]:
    """Factors whose main effect the points cannot tell from others or from the mean."""
    matrix = np.concatenate([np.ones((signs.shape[0], 1)), signs], axis=1)
    _, lengths, right = np.linalg.svd(matrix, full_matrices=True)
    rank = int(np.sum(lengths > 1e-9 * lengths[0]))
    touched = np.max(np.abs(right[rank:]), axis=0, initial=0.0) > 1e-7
    return {int(at) - 1 for at in np.flatnonzero(touched) if at}


def _describe_effects(
    cells: Cells, fit: MainEffects, factors: Sequence[str], package: str
) -> list[FactorEffect]:
    levels = {item.name: item.levels for item in cells.factors}
    mean = float(fit.estimates[0])
    effects = []
    for at, name in enumerate(factors):
        estimate, variance = float(fit.estimates[at + 1]), float(fit.variances[at + 1])
        critical = float(fit.critical[at])
        ratio = bound_ratio(
            estimate,
            mean,
            numerator_variance=variance,
            denominator_variance=float(fit.variances[0]),
            covariance=float(fit.shared[at]),
            critical=critical,
        )
        percent = None
        if ratio is not None and ratio.low is not None and ratio.high is not None and mean > 0:
            percent = Interval(100 * ratio.estimate, 100 * ratio.low, 100 * ratio.high)
        reach = critical * math.sqrt(variance)
        low, high = levels[name]
        effects.append(
            FactorEffect(
                factor=name,
                package=package,
                low=low,
                high=high,
                effect=Interval(estimate, estimate - reach, estimate + reach),
                percent=percent,
                p=fit.p[at],
                detected=False,
            )
        )
    return effects


def _measure(effect: FactorEffect) -> float:
    return abs(effect.percent.estimate) if effect.percent is not None else abs(effect.effect.estimate)


def _describe_method(errors: Sequence[PackageError]) -> str:
    sources = list(dict.fromkeys(error.source for error in errors))
    words = {
        "replicates": "error from like trials",
        "blocks": "error from like trials, within blocks",
        "builds": "error from builds, which design points have in common",
        "pseudo standard error": "Lenth's pseudo standard error with a simulated null distribution",
    }
    used = " and ".join(words[source] for source in sources) or "no error"
    return f"least squares of main effects; {used}; p adjusted by Holm over factors and packages"
