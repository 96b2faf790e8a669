"""What a gate says in sentences and in a table: the verdict first."""

from __future__ import annotations

from datamill.analysis.interval import Interval
from datamill.experiment.messages.numbers import (
    format_count,
    format_figures,
    format_level,
    format_share,
)
from datamill.experiment.quantities import format_duration
from datamill.report.gate.gate_answer import BenchmarkAnswer, GateAnswer
from datamill.report.words.scales import choose_scale, round_interval
from datamill.results.bundles.decisions import LookInterval

#: Benchmarks that the first sentence names.
_NAMED = 3
HEADERS = ("benchmark", "change", "interval", "base", "head", "n", "finds", "verdict")
#: Columns of the means, which give way where there is little room.
MEANS = ("base", "head")


def phrase_gate(answer: GateAnswer) -> str:
    """Return the verdict in a sentence or two."""
    count = len(answer.benchmarks)
    if answer.alarms:
        named = [f"{item.name} by {spell_size(item)}" for item in answer.alarms[:_NAMED]]
        more = f" and {len(answer.alarms) - _NAMED} more" if len(answer.alarms) > _NAMED else ""
        what = "benchmark is" if count == 1 else f"of {count} benchmarks {_is(len(answer.alarms))}"
        number = "The" if count == 1 else str(len(answer.alarms))
        text = f"{number} {what} slower in {answer.head} than in {answer.base}: {', '.join(named)}{more}."
    elif answer.base_lacks:
        text = (
            f"Nothing could be compared: {answer.base} cannot be built. {answer.head} can, and works: "
            f"{_name_some(answer.added)}."
        )
    elif not count:
        text = f"Nothing could be compared between {answer.base} and {answer.head}."
    else:
        what = "The benchmark is not" if count == 1 else f"None of {count} benchmarks is"
        text = f"{what} known to be slower in {answer.head} than in {answer.base}{_limit(answer)}."
    for sentence in answer.broken:
        text += f" Broken: {sentence.rstrip('.')}."
    return text


def list_sentences(answer: GateAnswer) -> list[str]:
    """Return what stands below the table: how it was measured, its error rates, and what limits it."""
    return [
        *(_list_rates(answer) if answer.benchmarks else []),
        *_list_added(answer),
        *_list_warnings(answer.warnings),
    ]


def list_seen(answer: GateAnswer) -> list[str]:
    """Return what a reader must not miss: benchmarks that are not compared, and why."""
    return [*_list_added(answer), *_list_warnings(answer.uncompared)]


def list_folded(answer: GateAnswer) -> list[str]:
    """Return the sentences of `list_sentences` that are not among those of `list_seen`."""
    seen = set(list_seen(answer))
    return [sentence for sentence in list_sentences(answer) if sentence not in seen]


def _list_added(answer: GateAnswer) -> list[str]:
    if not answer.added or answer.base_lacks:
        return []
    return [f"New, and compared with nothing: {', '.join(answer.added)}."]


def _list_warnings(warnings: tuple[str, ...]) -> list[str]:
    return [f"Warning: {warning.rstrip('.')}." for warning in warnings]


def list_rows(answer: GateAnswer) -> list[tuple[str, ...]]:
    """Return a row for each benchmark under `HEADERS`: alarms first, then what is faster, then the rest."""
    order = {"slower": 0, "faster": 1, "cannot tell": 2, "unchanged": 3}
    chosen = sorted(
        answer.benchmarks, key=lambda item: (not item.is_alarm, order[item.verdict], -abs(item.change or 0))
    )
    return [
        (
            item.name,
            spell_change(item),
            spell_bounds(item),
            _spell_mean(item.base),
            _spell_mean(item.head),
            format_count(item.n),
            _spell_found(item.detectable) if item.detectable is not None else "–",
            item.verdict + (", alarm" if item.is_alarm else ""),
        )
        for item in chosen
    ]


def name_columns(answer: GateAnswer) -> tuple[str, ...]:
    """Return the headers, with the level that intervals have: of changes together, of means each alone."""
    level = format_level(1 - answer.gate.alpha)
    spelled = {"interval": f"{level} interval", "base": f"base ({level} interval)", "head": f"head ({level})"}
    return tuple(spelled.get(name, name) for name in HEADERS)


def spell_change(item: BenchmarkAnswer) -> str:
    """Return a change with its sign, such as `+3.1%`."""
    if item.change is None:
        return "–"
    value = Interval.join(item.change, item.low, item.high)
    if value is None:
        return f"{format_figures(100 * item.change, 2, signed=True)}%"
    return f"{round_interval(value, 100, signed=True).estimate}%"


def spell_bounds(item: BenchmarkAnswer) -> str:
    """Return the bounds of a change, such as `+2.0 to +4.2%`."""
    value = Interval.join(item.change, item.low, item.high)
    return "not bounded yet" if value is None else f"{round_interval(value, 100, signed=True).ends}%"


def spell_size(item: BenchmarkAnswer) -> str:
    """Return a slowdown with its interval, such as `3.1% (2.0 to 4.2%)`."""
    assert item.change is not None
    value = Interval.join(item.change, item.low, item.high)
    if value is None:
        return f"{format_figures(100 * item.change, 2)}%"
    shown = round_interval(value, 100)
    return f"{shown.estimate}% ({shown.ends}%)"


def _limit(answer: GateAnswer) -> str:
    """From which slowdown on that says something."""
    known = [item.detectable for item in answer.benchmarks if item.detectable is not None]
    if lacking := len(answer.benchmarks) - len(known):
        whose = "it" if len(answer.benchmarks) == 1 else f"{lacking if known else 'all'} of them"
        return f", but too little was measured of {whose} to find a slowdown: allow more time"
    least = _spell_found(max(known))
    if len(known) == 1:
        return f"; smaller slowdowns than {least} would have been found in fewer than four of five runs"
    return (
        f"; one of {least} would have been found in any of them in four of five runs, "
        "smaller ones in some of them or less often"
    )


def _spell_found(slowdown: float) -> str:
    """A slowdown that would be found: it is drawn from noise, and not known to a third figure."""
    return f"{format_figures(100 * slowdown, 2)}%"


def _list_rates(answer: GateAnswer) -> list[str]:
    level = format_level(answer.gate.alpha)
    what = (
        "builds of each revision, linked in another order every time"
        if answer.varies
        else "executions of each"
    )
    return [
        f"Up to {format_count(answer.rounds)} {what}, in turns, in {format_duration(answer.measured_s)}"
        f"{'; interrupted' if answer.interrupted else ''}.",
        f"The chance of a false alarm in any of the benchmarks is {level} at most for the whole run, however "
        "often it was looked at. " + _phrase_power(answer),
    ]


def _phrase_power(answer: GateAnswer) -> str:
    told = [f"{format_level(share)} with {format_share(power)}" for share, power in answer.power.items()]
    return (
        "A slowdown of all executions alike is an alarm with a probability, in the mean over benchmarks, of: "
        f"{', '.join(told)}."
    )


def _spell_mean(mean: LookInterval | None) -> str:
    """A mean with its interval, such as `33.4 ms (32.9 to 33.9)`; not the mean alone."""
    value = None if mean is None else Interval.join(mean.estimate, mean.low, mean.high)
    if value is None:
        return "–"
    scale = choose_scale("s", value.estimate)
    return round_interval(value, scale.factor).phrase(f" {scale.unit}")


def _name_some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
