"""The answer of `analyze variance` in sentences: where the uncertainty is, the mean, and do builds matter."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from datamill.analysis.random_effects.variance_estimate import LEVELS, PLURALS, Level, Share, VarianceEstimate
from datamill.analysis.versions.variances import VersionVariances
from datamill.experiment.messages.numbers import (
    format_count,
    format_figures,
    format_level,
    format_mean_count,
    format_share,
)
from datamill.report.words.scales import (
    Scale,
    choose_scale,
    format_interval,
    round_interval,
    round_shares,
    scale_by_power,
)

#: More versions than this are summed up in one sentence.
_MOST_VERSIONS = 3
#: A share that is known no better than this does not say what to repeat.
_TELLING = 0.5
#: Taking away less than this share of a variance is no help.
_LITTLE = 0.1
#: Beyond these no prefix suits, and a power of ten stands before the unit.
_SMALLEST, _LARGEST = 1e-3, 1e6
_INNER: dict[Level, str] = {"build": "", "execution": " of each build", "measurement": " in each execution"}


def choose_variance_scale(versions: Sequence[VersionVariances]) -> Scale:
    """Scale that suits the means of all versions, or what they vary by where that is more."""
    unit = versions[0].nested.unit
    sizes = [abs(item.estimate.mean.estimate) for item in versions]
    sizes += [math.sqrt(max(item.estimate.components.values())) for item in versions]
    scale = choose_scale(unit, max(sizes))
    told = max(sizes) * scale.factor
    return scale_by_power(unit, max(sizes)) if told > 0 and not _SMALLEST < told < _LARGEST else scale


def phrase_variances(versions: Sequence[VersionVariances], scale: Scale) -> list[str]:
    """Where the uncertainty is and what would lessen it, the mean, and whether builds matter."""
    if len(versions) > _MOST_VERSIONS:
        return _sum_up(versions)
    paragraphs = []
    for item in versions:
        sentences = [phrase_uncertainty(item.estimate), phrase_mean(item.estimate, scale)]
        impact = phrase_impact(item)
        sentences += [impact] if impact else []
        paragraphs += sentences if len(versions) == 1 else [f"{item.nested.version}: {' '.join(sentences)}"]
    return paragraphs


def phrase_uncertainty(estimate: VarianceEstimate) -> str:
    """The level that makes the mean uncertain, and what more repetition of the levels can do."""
    if not any(estimate.mean_squares.values()):
        return f"All {format_count(estimate.n)} measurements of {estimate.response} are equal."
    level = next(iter(estimate.mean_squares))
    about = "" if "build" not in estimate.unknown else " about this one build"
    if not estimate.uncertainty:
        missing = [item for item in LEVELS if item in estimate.unknown]
        which = " and ".join(PLURALS[item] for item in missing if item != level)
        return (
            f"The data cannot tell which level makes the mean of {estimate.response} uncertain: only "
            f"{PLURALS[level]} are repeated, not {which}."
        )
    top = max(estimate.uncertainty, key=lambda share: share.estimate)
    below = estimate.uncertainty[[share.level for share in estimate.uncertainty].index(top.level) + 1 :]
    sentence = (
        f"{round_shares(top).phrase(level=format_level(estimate.confidence))} of the uncertainty{about} is "
        f"between {PLURALS[top.level]}"
    )
    return f"{sentence}; {_advise(top, below, estimate)}."


def _advise(top: Share, below: Sequence[Share], estimate: VarianceEstimate) -> str:
    """What repeating the levels more often can do; repeating one also averages over all below it."""
    if top.high - top.low > _TELLING or top.low < 0.5:
        others = [share for share in estimate.uncertainty if share.level != top.level]
        if top.high - top.low <= _TELLING:
            rest = ", ".join(
                f"{format_share(share.estimate)} between {PLURALS[share.level]}" for share in others
            )
            return f"the rest is {rest}"
        outer = estimate.uncertainty[0].level
        units = format_count(_count_units(estimate, outer))
        return f"{units} {PLURALS[outer]} are too few to be sure of that"
    if not below:
        return f"more {PLURALS[top.level]}{_INNER[top.level]} will help"
    inner = " or ".join(PLURALS[share.level] for share in below)
    away = sum(share.estimate for share in below)
    effect = "will not help" if away < _LITTLE else "will help little"
    return f"more {inner} {effect}: they could take away {format_share(away)} of the mean's variance at most"


def _count_units(estimate: VarianceEstimate, level: Level) -> int:
    return estimate.builds if level == "build" else round(estimate.builds * estimate.executions)


def phrase_mean(estimate: VarianceEstimate, scale: Scale) -> str:
    """The mean with its interval, and what it is of."""
    if not any(estimate.mean_squares.values()):
        unit = f" {scale.unit}" if scale.unit else ""
        return f"Each is {format_figures(estimate.mean.estimate * scale.factor, 6)}{unit}."
    shown = format_interval(estimate.mean, scale, estimate.confidence)
    return f"The mean of {estimate.response} is {shown}, from {spell_numbers(estimate)}."


def spell_numbers(estimate: VarianceEstimate) -> str:
    """How many builds, executions and measurements there are."""
    builds = "1 build" if estimate.builds == 1 else f"each of {format_count(estimate.builds)} builds"
    one = estimate.executions == 1
    executions = "1 execution" if one else f"{_spell_mean_count(estimate.executions)} executions"
    if estimate.measurements == 1:
        return f"{executions} of {builds}"
    each = "" if one else "each of "
    return f"{_spell_mean_count(estimate.measurements)} measurements in {each}{executions} of {builds}"


def _spell_mean_count(number: float) -> str:
    return format_mean_count(number)


def phrase_impact(item: VersionVariances) -> str:
    """Whether it matters which build is measured; empty where that cannot be known."""
    impact, level = item.impact, format_level(item.estimate.confidence)
    if impact.factor is None:
        return ""
    factor = impact.factor
    shown = round_interval(factor, decimals=2).phrase(level=level)
    matter = "it matters which build is measured"
    if factor.low <= 1:
        matter = (
            "no impact was detected"
            if factor.estimate > 1
            else "no impact was detected (1 means no impact, less is chance)"
        )
    sentence = f"The impact factor of compilation is {shown}: {matter}"
    if impact.variation_percent is not None and factor.low > 1:
        percent = impact.variation_percent
        sentence += (
            f", which varies the result by {format_figures(percent.estimate, 2)}% of the mean (standard "
            "deviation)"
        )
    return f"{sentence}."


def _sum_up(versions: Sequence[VersionVariances]) -> list[str]:
    """One sentence on many versions: how often which level has the largest share."""
    counts = Counter(
        max(item.estimate.uncertainty, key=lambda share: share.estimate).level
        for item in versions
        if item.estimate.uncertainty
    )
    if not counts:
        return [
            f"The data cannot tell for any of {len(versions)} versions which level makes the mean uncertain."
        ]
    (first, most), *others = counts.most_common()
    parts = [f"between {PLURALS[first]} in {most} of {len(versions)} versions"]
    parts += [f"between {PLURALS[level]} in {count}" for level, count in others]
    rest = len(versions) - sum(counts.values())
    untold = f"; for {rest} the data cannot tell" if rest else ""
    return [
        f"The largest part of the uncertainty of the mean of {versions[0].nested.response} is "
        f"{', '.join(parts)}{untold}. {_say_how_sure(versions)}"
    ]


def _say_how_sure(versions: Sequence[VersionVariances]) -> str:
    """In how many versions the largest part is more than half, whatever chance did."""
    known = [item.estimate.uncertainty for item in versions if item.estimate.uncertainty]
    sure = sum(any(share.low >= _TELLING for share in shares) for shares in known)
    if sure == len(known):
        return "Each version shows that it is more than half."
    if sure == 0:
        return "No version shows that it is more than half: each interval reaches below."
    shows = "version shows" if sure == 1 else "versions show"
    return f"{sure} {shows} that it is more than half; in the others its interval reaches below."
