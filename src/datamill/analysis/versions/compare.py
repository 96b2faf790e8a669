"""Versions compared under the random-effects model: changed, unchanged, or too early to say."""

from __future__ import annotations

import math
from collections.abc import Sequence

from datamill.analysis.contrasts.contrast import Contrast, bound_contrast, find_critical, judge_contrast
from datamill.analysis.contrasts.fieller import bound_ratio
from datamill.analysis.contrasts.multiplicity import adjust_holm
from datamill.analysis.contrasts.satterthwaite import combine_freedom
from datamill.analysis.interval import Ratio
from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.versions.common_builds import (
    CommonBuilds,
    find_common_builds,
    find_partly_common_builds,
)
from datamill.analysis.versions.means import estimate_version_mean
from datamill.analysis.versions.unlike_shapes import warn_of_shapes
from datamill.analysis.versions.version_comparison import (
    CostToTell,
    VersionAdjustment,
    VersionChange,
    VersionComparison,
    VersionMean,
    VersionVerdict,
)
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Direction
from datamill.experiment.messages.arguments import argument, command
from datamill.experiment.messages.suggestions import suggest_name
from datamill.results.judgement.costs import RepetitionCosts

#: More builds than this nobody makes to tell two versions apart.
_MOST_BUILDS = 100_000


def compare_versions(
    versions: Sequence[NestedValues],
    *,
    baseline: str = "",
    consecutive: bool = False,
    threshold: float = 0.01,
    confidence: float = 0.95,
    adjustment: VersionAdjustment = "bonferroni",
    direction: Direction | None = None,
    costs: RepetitionCosts | None = None,
) -> VersionComparison:
    """Compare versions with one baseline (the first, unless named), or each with the one before.

    Build means are the independent observations: a difference of two versions has the variance
    S²_V/l of both (EPEW 2006 equations 16 and 6) and Welch-Satterthwaite degrees of freedom (never
    more than if builds of both varied alike), their ratio Fieller's interval with the same ones. Of versions
    that were measured in the same builds each build's own difference is the observation. Where a
    version has a single build its executions stand in for builds, with a warning. Intervals of all pairs hold
    together (Bonferroni), unless `adjustment` is "none"; "holm" detects by Holm's p-values, which needs less.

    A version is "unchanged" where the whole interval of the ratio lies within 1 ± `threshold`,
    whether or not it holds 1; else "changed" where the difference is detected; else one "cannot tell", with
    the number of builds that would make the interval narrower than the threshold, so that it cannot hold both
    no change and one that matters. `costs` turn it into time.

    Raises:
        InputError: fewer than two versions, two of one name, an unknown baseline, different responses or
            units, or a version with a single measurement.
    """
    _refuse_what_cannot_be_compared(versions, baseline)
    means = tuple(estimate_version_mean(item, confidence) for item in versions)
    if consecutive:
        pairs = [(means[at], means[at - 1]) for at in range(1, len(means))]
    else:
        base = next((mean for mean in means if mean.version == baseline), means[0])
        pairs = [(mean, base) for mean in means if mean is not base]
    count = 1 if adjustment == "none" else len(pairs)
    level = 1 - (1 - confidence) / count
    values = {item.version: item for item in versions}
    common = [find_common_builds(values[version.version], values[base.version]) for version, base in pairs]
    raw = [judge_contrast(_subtract(*pair, shared)) for pair, shared in zip(pairs, common, strict=True)]
    if adjustment == "holm":
        adjusted = adjust_holm(raw)
    else:
        adjusted = tuple(None if p is None else min(1.0, count * p) for p in raw)
    changes = tuple(
        _compare_pair(version, base, shared, level, p, confidence, adjustment, threshold, costs)
        for (version, base), shared, p in zip(pairs, common, adjusted, strict=True)
    )
    return VersionComparison(
        response=versions[0].response,
        unit=versions[0].unit,
        direction=direction,
        means=means,
        changes=changes,
        consecutive=consecutive,
        threshold=threshold,
        confidence=confidence,
        adjustment=adjustment,
        n=sum(mean.n for mean in means),
        method=_name_method(means, len(pairs), adjustment, shared=any(common)),
        warnings=(
            *_warn_of_versions(versions, means),
            *_warn_of_lost_builds(
                [(values[version.version], values[base.version]) for version, base in pairs]
            ),
            *_warn_of_changes(changes),
            *warn_of_shapes(means, changes),
        ),
    )


def _refuse_what_cannot_be_compared(versions: Sequence[NestedValues], baseline: str) -> None:
    names = [item.version for item in versions]
    if len(versions) < 2:
        only = f": {names[0]}" if names else ""
        raise InputError(
            f"there is {'one version only' if names else 'no version'}{only}",
            remedy="Give the data of another version as well, as a further argument or in column version.",
        )
    for name in names:
        if names.count(name) > 1:
            raise InputError(f'two versions are called "{name}"', remedy="Give them different names.")
    if baseline and baseline not in names:
        raise InputError(
            f'there is no version "{baseline}" to be the baseline',
            remedy=f"{suggest_name(baseline, names)}",
        )
    first = versions[0]
    for item in versions[1:]:
        if item.response != first.response:
            raise InputError(
                f"{item.version} has the response {item.response}, {first.version} has {first.response}: "
                "they are different things",
                remedy=f"Name one response that all versions have by {argument('response')}.",
            )
        if item.unit != first.unit:
            raise InputError(
                f"{item.response} of {item.version} is in {item.unit or 'no unit'}, of {first.version} in "
                f"{first.unit or 'no unit'}",
                remedy="Bring all values to one unit.",
            )


def _subtract(version: VersionMean, base: VersionMean, common: CommonBuilds | None) -> Contrast:
    estimate = version.value.estimate - base.value.estimate
    if common is not None:
        return Contrast(estimate, common.variance, common.df)
    return Contrast(estimate, version.variance + base.variance, _find_df(version, base))


def _find_df(version: VersionMean, base: VersionMean) -> float:
    """Degrees of freedom of the difference (Satterthwaite 1946; Welch 1947), no more than alike builds give.

    Two or three builds that happen to agree would else lend the difference the certainty of a version that
    has many: Welch's 95% intervals of 2 against 20 builds that vary alike hold in 88% of experiments.
    """
    df = version.df, base.df
    alike = combine_freedom((1 / version.units, 1 / base.units), df)
    return min(alike, combine_freedom((version.variance, base.variance), df))


def _compare_pair(
    version: VersionMean,
    base: VersionMean,
    common: CommonBuilds | None,
    level: float,
    p: float | None,
    confidence: float,
    adjustment: VersionAdjustment,
    threshold: float,
    costs: RepetitionCosts | None,
) -> VersionChange:
    contrast = _subtract(version, base, common)
    difference = bound_contrast(contrast, level)
    covariance = (version.variance + base.variance - contrast.variance) / 2
    ratio = _divide(version, base, covariance, find_critical(level, contrast.df))
    detected = difference.low > 0 or difference.high < 0
    if adjustment == "holm" and p is not None:
        detected = p < 1 - confidence
    within, beyond = _place_ratio(ratio, threshold)
    verdict: VersionVerdict = "unchanged" if within else "changed" if detected else "cannot tell"
    cost = None
    if verdict == "cannot tell":
        cost = _find_cost(version, base, covariance, common, level, threshold, costs)
    return VersionChange(
        version=version.version,
        baseline=base.version,
        difference=difference,
        ratio=ratio,
        df=contrast.df,
        confidence=level,
        p=p,
        detected=detected,
        within=within,
        beyond=beyond,
        paper_detects=version.paper.low > base.paper.high or version.paper.high < base.paper.low,
        verdict=verdict,
        cost=cost,
        common_builds=0 if common is None else common.builds,
    )


def _divide(version: VersionMean, base: VersionMean, covariance: float, critical: float) -> Ratio | None:
    if version.value.estimate <= 0 or base.value.estimate <= 0:
        return None
    return bound_ratio(
        version.value.estimate,
        base.value.estimate,
        numerator_variance=version.variance,
        denominator_variance=base.variance,
        covariance=covariance,
        critical=critical,
    )


def _place_ratio(ratio: Ratio | None, threshold: float) -> tuple[bool, bool]:
    """Whether a ratio's interval lies wholly within 1 ± threshold, and whether wholly outside."""
    if ratio is None or ratio.low is None or ratio.high is None:
        return False, False
    low, high = ratio.low - 1, ratio.high - 1
    return low >= -threshold and high <= threshold, low > threshold or high < -threshold


def _find_cost(
    version: VersionMean,
    base: VersionMean,
    covariance: float,
    common: CommonBuilds | None,
    level: float,
    threshold: float,
    costs: RepetitionCosts | None,
) -> CostToTell:
    """Builds of each version until the interval of the ratio is narrower than the threshold."""
    if version.value.estimate <= 0 or base.value.estimate <= 0:
        return CostToTell(None, None, "a threshold in percent needs means above zero")
    if "execution" in (version.level, base.level) or "measurement" in (version.level, base.level):
        return CostToTell(
            None, None, "how builds differ is not known before each version has at least two of them"
        )
    # Variances of one build relative to the baseline's mean, as they are in the ratio's error.
    ratio = version.value.estimate / base.value.estimate
    one = (version.spread / base.value.estimate) ** 2
    other = (ratio * base.spread / base.value.estimate) ** 2

    both = 2 * ratio * covariance / base.value.estimate**2 * version.builds

    def is_narrow(builds: int) -> bool:
        if common is not None:
            left = max(one + other - both, 0.0) / builds
            return builds > 1 and 2 * find_critical(level, builds - 1) * math.sqrt(left) <= threshold
        ours, theirs = max(builds, version.builds), max(builds, base.builds)
        first, second = one / ours, other / theirs
        df = min(
            combine_freedom((1 / ours, 1 / theirs), (ours - 1, theirs - 1)),
            combine_freedom((first, second), (ours - 1, theirs - 1)),
        )
        return 2 * find_critical(level, df) * math.sqrt(first + second) <= threshold

    if not is_narrow(_MOST_BUILDS):
        return CostToTell(None, None, f"not even {_MOST_BUILDS} builds of each would be enough")
    low, high = 1, 2
    while not is_narrow(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_narrow(middle) else (middle, high)
    seconds = None
    if costs is not None:
        seconds = sum(max(high - mean.builds, 0) * _cost_build(mean, costs) for mean in (version, base))
        if common is not None:
            # One build serves both.
            seconds -= max(high - common.builds, 0) * costs.build_s
    return CostToTell(high, seconds)


def _cost_build(mean: VersionMean, costs: RepetitionCosts) -> float:
    """Seconds for one more build with its executions and measurements (EPEW 2006 equation 18)."""
    return costs.build_s + mean.executions * (costs.execution_s + mean.measurements * costs.measurement_s)


def _name_method(
    means: Sequence[VersionMean], pairs: int, adjustment: VersionAdjustment, *, shared: bool
) -> str:
    levels = {mean.level for mean in means}
    units = "build means" if levels == {"build"} else "means of the outermost level that was repeated"
    text = f"{units} as independent observations, Welch-Satterthwaite; ratio by Fieller's theorem"
    if shared:
        text += "; of versions measured in the same builds, each build's own difference is the observation"
    if pairs == 1:
        return text
    how = {
        "bonferroni": "intervals and p-values hold together for all {} pairs (Bonferroni)",
        "holm": "detected by Holm's p-values over {} pairs; intervals hold together (Bonferroni)",
        "none": "{} pairs, each for itself: chance has as many occasions",
    }
    return f"{text}; {how[adjustment].format(pairs)}"


def _warn_of_versions(versions: Sequence[NestedValues], means: Sequence[VersionMean]) -> list[str]:
    warnings = []
    single = [mean.version for mean in means if mean.level == "execution"]
    if single:
        warnings.append(
            f"{_join(single)}: one build only. Differences between builds are in no interval: a verdict is "
            "about this build, and another build of the same version may give another. Measure several builds"
        )
    lone = [mean.version for mean in means if mean.level == "measurement"]
    if lone:
        warnings.append(
            f"{_join(lone)}: one execution only. Differences between builds and between executions are in no "
            "interval: a verdict is about this one process. Measure several builds"
        )
    still = [mean.version for mean in means if mean.variance == 0]
    if still:
        warnings.append(
            f"{_join(still)}: {means[0].level}s do not differ at all, so that there is nothing to judge "
            "differences by; true of a deterministic response, suspicious otherwise"
        )
    uneven = [item.version for item in versions if not item.balanced]
    if uneven:
        warnings.append(
            f"{_join(uneven)}: builds or executions have different numbers of parts; each build counts the "
            "same, and in it each execution"
        )
    return warnings


def _warn_of_lost_builds(pairs: Sequence[tuple[NestedValues, NestedValues]]) -> list[str]:
    """Which versions were measured in the same builds but for some, so that builds are not paired."""
    found = [(*pair, shared) for pair in pairs if (shared := find_partly_common_builds(*pair)) is not None]
    if not found:
        return []
    version, base, (common, apart) = found[0]
    more = f" (and likewise {len(found) - 1} further pairs)" if len(found) > 1 else ""
    return [
        f"{version.version} and {base.version} have {common} builds in common and {apart} that only one of "
        f"them has valid data of{more}: builds are taken for independent, and the interval of the difference "
        "is wider than if each build's own difference were the observation; "
        f"{command('run', resume='DIR', retry_failed=True)} attempts lost trials again"
    ]


def _warn_of_changes(changes: Sequence[VersionChange]) -> list[str]:
    notes = [change for change in changes if change.ratio is None]
    if notes:
        return [
            f"{_join([change.version for change in notes])}: means are not above zero, so that changes have "
            "no percentage and the threshold cannot be applied"
        ]
    return [
        f"{change.version} against {change.baseline}: {change.ratio.note}"
        for change in changes
        if change.ratio is not None and change.ratio.note
    ]


def _join(names: Sequence[str]) -> str:
    if len(names) > 6:
        return f"{', '.join(names[:5])} and {len(names) - 5} more"
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
