"""Versions compared, in sentences: which changed, by how much, and what it would take to tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from datamill.analysis.interval import Interval, Ratio
from datamill.analysis.versions.history import ChangePoint, LoneVersion, VersionHistory
from datamill.analysis.versions.version_comparison import (
    CostToTell,
    VersionChange,
    VersionComparison,
    VersionMean,
    VersionVerdict,
)
from datamill.experiment.experiment import Direction
from datamill.experiment.messages.numbers import (
    count_decimals,
    format_count,
    format_figures,
    format_fixed,
    format_level,
    format_mean_count,
)
from datamill.experiment.quantities import format_duration
from datamill.report.words.scales import Scale, choose_scale, format_interval, format_percent, round_interval

#: More comparisons than this get no sentence each: the table has them.
_MOST_SENTENCES = 8
#: So many times as many builds are a reason to think of another threshold.
_MANY_MORE = 4


def scale_comparison(comparison: VersionComparison) -> Scale:
    """Scale that suits the middle one of the versions' means, by magnitude."""
    magnitudes = sorted(abs(mean.value.estimate) for mean in comparison.means)
    return choose_scale(comparison.unit, magnitudes[len(magnitudes) // 2])


def state_answer(comparison: VersionComparison, history: VersionHistory | None = None) -> tuple[str, ...]:
    """The answer in sentences: of a series where it changes, else of each version against the other."""
    scale = scale_comparison(comparison)
    if history is not None:
        return _phrase_history(comparison, history, scale)
    sentences = [phrase_change(change, comparison, scale) for change in comparison.changes[:_MOST_SENTENCES]]
    if len(comparison.changes) > 1:
        sentences.insert(0, _phrase_counts(comparison))
    return tuple(sentences)


def name_threshold(threshold: float) -> str:
    """`1%` for 0.01."""
    return f"{format_figures(100 * threshold, 6)}%"


def name_verdict(verdict: VersionVerdict, threshold: float) -> str:
    """The verdict in the words of the output."""
    if verdict == "unchanged":
        return f"unchanged within ±{name_threshold(threshold)}"
    return "changed" if verdict == "changed" else "cannot tell yet"


def judge_direction(change: VersionChange | ChangePoint, direction: Direction | None) -> str:
    """Whether the change is `better` or `worse`; empty where the direction that is better is not known."""
    if direction is None or change.difference.estimate == 0:
        return ""
    return "better" if (change.difference.estimate > 0) == (direction == "higher") else "worse"


def is_worse_than_threshold(change: VersionChange | ChangePoint, comparison: VersionComparison) -> bool:
    """Whether a version changed for the worse, and by more than the threshold as far as its estimate tells.

    Every place where a series was cut is a change. Where there is no ratio, any detected change for the
    worse counts.
    """
    detected = isinstance(change, ChangePoint) or change.verdict == "changed"
    if not detected or judge_direction(change, comparison.direction) != "worse":
        return False
    return change.ratio is None or abs(change.ratio.estimate - 1) > comparison.threshold


def phrase_change(change: VersionChange, comparison: VersionComparison, scale: Scale) -> str:
    """One version against another: verdict, size, interval, and which way is better."""
    name, limit = comparison.response, name_threshold(comparison.threshold)
    level = comparison.confidence
    single = name_single_unit(change, comparison)
    limits = f", as far as one {single} tells" if single else ""
    if change.p is None and change.detected:
        size = _phrase_size(change.difference, change.ratio, scale, level, change.baseline, exact=True)
        better = _tail(judge_direction(change, comparison.direction))
        within = f"; that is within ±{limit}" if change.within else ""
        still = "it was the same in every build" if change.common_builds else "neither version varied at all"
        return f"{change.version}: {name} was {size} as measured{better}{within}; {still}."
    if change.verdict == "changed":
        size = _phrase_size(change.difference, change.ratio, scale, level, change.baseline)
        better = _tail(judge_direction(change, comparison.direction))
        text = f"{change.version} has changed{limits}: its {name} is {size}{better}."
        if change.percent is not None and not change.beyond:
            text += f" It may be less than the {limit} below which it is too small to matter."
        return text
    departure = _phrase_departure(change, scale, level)
    if change.verdict == "unchanged":
        text = (
            f"{change.version} is unchanged within ±{limit} of {change.baseline}{limits}: its {name} "
            f"differs by {departure}."
        )
        if change.detected:
            better = judge_direction(change, comparison.direction)
            text += f" A difference{f' ({better})' if better else ''} was detected, too small to matter."
        return text
    bounds = f"its {name} differs from {change.baseline}'s by {departure}"
    text = f"The data cannot tell yet whether {change.version} has changed: {bounds}."
    return f"{text} {phrase_cost(change, comparison)}".rstrip()


def name_single_unit(change: VersionChange, comparison: VersionComparison) -> str:
    """What a version has a single one of, which a verdict then is about; empty where both have several."""
    levels = {mean.level for mean in comparison.means if mean.version in (change.version, change.baseline)}
    return "execution" if "measurement" in levels else "build" if "execution" in levels else ""


def phrase_cost(change: VersionChange, comparison: VersionComparison) -> str:
    """What it would take to tell; empty where the data tell."""
    cost: CostToTell | None = change.cost
    if cost is None:
        return ""
    if cost.builds is None:
        return f"{cost.reason[:1].upper()}{cost.reason[1:]}."
    means = {mean.version: mean for mean in comparison.means}
    missing = [max(cost.builds - means[name].builds, 0) for name in (change.version, change.baseline)]
    more = f"{missing[0]} more of {change.version}, {missing[1]} of {change.baseline}"
    if missing[0] == missing[1]:
        more = f"{format_count(missing[0])} more of each"
    time = "" if cost.seconds is None else f", about {format_duration(cost.seconds)} of machine time"
    text = (
        f"About {format_count(cost.builds)} builds of each version would tell ({more}{time}): the interval "
        f"is then narrower than {name_threshold(comparison.threshold)}."
    )
    return text + _say_what_is_told(change, cost, means)


def _say_what_is_told(change: VersionChange, cost: CostToTell, means: Mapping[str, VersionMean]) -> str:
    """The threshold that the builds there are would do for, where many more would be needed."""
    present = min(means[name].builds for name in (change.version, change.baseline))
    percent = change.percent
    if percent is None or cost.builds is None or cost.builds < _MANY_MORE * present:
        return ""
    return (
        " The present ones suffice for a threshold of about "
        f"{format_figures(percent.high - percent.low, 2)}%."
    )


def describe_nesting(mean: VersionMean) -> str:
    """`10 × 5 × 100` builds, executions and measurements; with a sign for "about" where numbers differ."""
    parts = [format_count(mean.builds)]
    for number in (mean.executions, mean.measurements):
        parts.append(format_mean_count(number, "~"))
    return " × ".join(parts)


def phrase_basis(comparison: VersionComparison) -> str:
    """What n is made of: `n = 10 builds of 5 executions of 100 measurements each`."""
    shapes = {(mean.builds, mean.executions, mean.measurements) for mean in comparison.means}
    if len(shapes) > 1:
        return f"n = {format_count(comparison.n)} measurements in all"
    mean = comparison.means[0]
    parts = [f"{format_count(mean.builds)} build{'s' if mean.builds > 1 else ''}"]
    for number, name in ((mean.executions, "execution"), (mean.measurements, "measurement")):
        shown = format_mean_count(number, "about ")
        parts.append(f"{shown} {name}{'s' if number > 1 else ''}")
    return f"n = {' of '.join(parts)} for each version"


def _tail(better: str) -> str:
    return f", which is {better}" if better else ""


def _phrase_counts(comparison: VersionComparison) -> str:
    """How many versions had which verdict, with the names of a few."""
    groups: dict[str, list[str]] = {}
    for change in comparison.changes:
        word = name_verdict(change.verdict, comparison.threshold)
        better = judge_direction(change, comparison.direction)
        if change.verdict == "changed" and better:
            word = f"changed and {better}"
        groups.setdefault(word, []).append(change.version)
    against = f"against {comparison.changes[0].baseline}"
    if comparison.consecutive:
        against = "each against the one before"
    order = sorted(groups, key=lambda word: (not word.startswith("changed"), word.startswith("cannot"), word))
    said = [f"{word}: {len(groups[word])} ({_list_names(groups[word])})" for word in order]
    return f"{len(comparison.changes)} versions {against}; {'; '.join(said)}."


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"


def _phrase_departure(change: VersionChange, scale: Scale, level: float) -> str:
    if change.percent is not None:
        if change.percent.low == change.percent.high:
            return f"{_exact_percent(change.percent.estimate)} as measured"
        return format_percent(change.percent, level, signed=True)
    return format_interval(change.difference, scale, level, signed=True)


def _exact_percent(percent: float) -> str:
    return f"{format_fixed(percent, count_decimals(abs(percent), 4)) if percent else '0'}%"


def _phrase_size(
    difference: Interval, ratio: Ratio | None, scale: Scale, level: float, base: str, *, exact: bool = False
) -> str:
    word = "higher" if difference.estimate > 0 else "lower"
    bounds = None if ratio is None else ratio.interval
    if bounds is None or bounds.low <= 0:
        size = difference if difference.estimate > 0 else difference.negated()
        if exact:
            shown = size.estimate * scale.factor
            return (
                f"{format_fixed(shown, count_decimals(shown, 4))} {scale.unit}".strip()
                + f" {word} than {base}'s"
            )
        return f"{format_interval(size, scale, level)} {word} than {base}'s"
    if bounds.estimate >= 2:
        if exact:
            return f"{format_fixed(bounds.estimate, count_decimals(bounds.estimate, 4))} times {base}'s"
        return f"{round_interval(bounds).phrase(' times', format_level(level))} {base}'s"
    gap = bounds.to_percent() if bounds.estimate > 1 else bounds.to_percent().negated()
    shown_gap = _exact_percent(gap.estimate) if exact else format_percent(gap, level)
    return f"{shown_gap} {word} than {base}'s"


def _phrase_history(comparison: VersionComparison, history: VersionHistory, scale: Scale) -> tuple[str, ...]:
    count, alpha = len(history.means), format_level(history.alpha)
    name = comparison.response
    if not history.changes:
        first = (
            f"No change of {name} was found in {count} versions; of series without a change, {alpha} are "
            "taken to have one."
        )
    else:
        places = _list_names([change.version for change in history.changes])
        plural = "s" if len(history.changes) > 1 else ""
        first = f"{name} changes {len(history.changes)} time{plural} in {count} versions: at {places}."
    said = [first]
    said += [
        _phrase_change_point(change, history, comparison, scale)
        for change in history.changes[:_MOST_SENTENCES]
    ]
    said += [_phrase_lone(item, comparison, scale) for item in history.lone[:_MOST_SENTENCES]]
    return tuple(said)


def _phrase_change_point(
    change: ChangePoint, history: VersionHistory, comparison: VersionComparison, scale: Scale
) -> str:
    size = _phrase_size(
        change.difference, change.ratio, scale, comparison.confidence, "that of the versions before",
        exact=change.difference.low == change.difference.high,
    ).removesuffix("'s")  # fmt: skip
    better = _tail(judge_direction(change, comparison.direction))
    segment = next(item for item in history.segments if item.first == change.at)
    last = history.means[segment.last].version
    upto = "" if segment.last == segment.first else f" up to {last}"
    return f"From {change.version}{upto}, {comparison.response} is {size}{better}."


def _phrase_lone(item: LoneVersion, comparison: VersionComparison, scale: Scale) -> str:
    size = _phrase_size(
        item.difference, item.ratio, scale, comparison.confidence, "that of its neighbours",
        exact=item.difference.low == item.difference.high,
    ).removesuffix("'s")  # fmt: skip
    return (
        f"{item.version} stands out by itself: its {comparison.response} is {size}, and the versions after "
        "it are like those before. It may be chance, or a change that the next version undid: measure it "
        "again."
    )
