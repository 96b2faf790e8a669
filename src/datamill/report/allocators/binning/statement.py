"""The binning effect in words and tables."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.allocators.binning.binning_effect import BinningEffect, Explanation
from datamill.analysis.interval import Interval
from datamill.analysis.linear.mean_lines import MeanCoefficient
from datamill.analysis.quantile.quantile_model import QuantileCoefficient
from datamill.experiment.messages.numbers import (
    count_decimals,
    format_count,
    format_figures,
    format_fixed,
    format_given,
    format_level,
    format_p,
    format_share,
    say_p,
)
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import Layout, build_table
from datamill.report.words.scales import Scale, choose_effect_scale, format_interval, format_percent

_ANSWERS: dict[Explanation, str] = {
    "most": "explain most of the slow ones",
    "some": "explain some of the slow ones, not most",
    "none": "do not explain the slow ones",
}
#: Quantiles that the table of the model has, where these are among those asked for.
_SHOWN = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95)


def choose_call_scale(effect: BinningEffect) -> Scale:
    """Scale for all latencies that are told."""
    return choose_effect_scale(
        effect.observations.unit, effect.fast.mean, [effect.binned.mean - effect.fast.mean]
    )


def phrase_binning(effect: BinningEffect) -> tuple[str, ...]:
    """Say whether binned calls explain the slow ones, and how much slower they are."""
    slow, scale = effect.slow, choose_call_scale(effect)
    is_usual = effect.mark == "binned"
    who, such = ("Binned calls", "binned") if is_usual else (f"Calls with {effect.mark}", "such")
    one = "A binned call" if is_usual else f"A call with {effect.mark}"
    share = _format_share(slow.share, effect.confidence)
    first = (
        f"{who} {_ANSWERS[effect.explains]}: {format_count(slow.binned)} of the {format_count(slow.n)} "
        f"slowest calls (as many as there are {such} ones) are {such}, {share}, against "
        f"{format_share(slow.usual_share)} of all."
    )
    if effect.means.estimates:
        difference = effect.means.estimates[0].value
        second = (
            f"{one} takes {format_interval(difference, scale, effect.confidence, signed=True)} on "
            f"average compared with a fast one (Games-Howell, {say_p(effect.means.p or 0.0)})"
        )
    else:
        second = "Latencies within each group do not differ, so that there is no interval of their difference"
    p = "no test" if effect.ranks.p is None else say_p(effect.ranks.p)
    superiority = effect.ranks.estimates[0]
    return (
        first,
        f"{second}; it takes longer than a fast one in "
        f"{_format_share(superiority.value, effect.confidence)} of pairs (Mann-Whitney, W = "
        f"{format_given(effect.w)}, {p}).",
    )


def _format_share(share: Interval, confidence: float) -> str:
    return format_percent(share.scaled(100), confidence)


def collect_warnings(effect: BinningEffect) -> tuple[str, ...]:
    """What limits the answer: of the whole, then of its parts."""
    parts = (*effect.means.warnings, *effect.ranks.warnings, *effect.windows.warnings)
    return tuple(dict.fromkeys((*effect.warnings, *parts, *effect.quantiles.warnings)))


def state_binning(effect: BinningEffect, told: Sequence[str]) -> tuple[Part, ...]:
    """State the effect: the answer, both groups, windows (sentences `told`), and the model by quantile."""
    scale = choose_call_scale(effect)
    unit = f" ({scale.unit})" if scale.unit else ""
    parts: list[Part] = [Paragraph(sentence, "  ") for sentence in phrase_binning(effect)]
    parts += [BLANK, Heading(f"{effect.observations.response} of fast and binned calls{unit}")]
    rows = []
    for group in (effect.fast, effect.binned):
        numbers = (group.mean, group.median, group.deviation, group.least, group.most)
        shown = (format_figures(number * scale.factor, 4) for number in numbers)
        rows.append((group.name, format_count(group.n), *shown))
    head = ("Calls", "n", "mean", "median", "std. dev.", "least", "most")
    parts.append(build_table(head, rows, layout=Layout()))
    parts += [BLANK, Heading(f"Variability of {effect.windows.size} consecutive calls against binned ones")]
    parts += [Paragraph(sentence, "  ") for sentence in told]
    parts += [BLANK, Heading(f"Q(tau) = b0 + b1 binned + b2 index{unit}"), _tabulate_model(effect, scale)]
    middle = effect.quantiles.covariate_means
    if middle:
        text = (
            "binned is coded 0/1: b1 is the change from a fast to a binned call. b2 is for one call more; "
            "index "
            f"counts from its mean, {format_figures(middle[0], 6)}, where b0 holds."
        )
        parts.append(Paragraph(text, "  "))
    parts.append(Paragraph(f"Method: {effect.quantiles.method}.", "  "))
    parts.append(Paragraph(f"{effect.ranks.method}; {effect.means.method}.", "  "))
    parts += [Paragraph(f"Warning: {warning}.", "  ") for warning in collect_warnings(effect)]
    return tuple(parts)


def _tabulate_model(effect: BinningEffect, scale: Scale) -> Part:
    fits = [fit for fit in effect.quantiles.fits if fit.quantile in _SHOWN] or [*effect.quantiles.fits]
    level = format_level(effect.confidence)
    head = ("Quantile", "b0", "b1 binned", f"low {level}", f"high {level}", "p", "b2 index")
    sources: list[tuple[str, Sequence[QuantileCoefficient | MeanCoefficient]]] = [
        (format_given(fit.quantile), fit.changes) for fit in fits
    ]
    if effect.mean is not None:
        sources.append(("mean", effect.mean.changes))
    rows = []
    for name, changes in sources:
        own = changes[1].value
        error = (own.high - own.low) / 2 * scale.factor
        decimals = count_decimals(error, digits=3) if 0 < error < float("inf") else 3
        rows.append(
            (
                name,
                format_figures(changes[0].value.estimate * scale.factor, 4),
                *(
                    format_fixed(number * scale.factor, decimals)
                    for number in (own.estimate, own.low, own.high)
                ),
                format_p(changes[1].p),
                format_figures(changes[2].value.estimate * scale.factor, 3) if len(changes) > 2 else "",
            )
        )
    return build_table(head, rows, layout=Layout())
