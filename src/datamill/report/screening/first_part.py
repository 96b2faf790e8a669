"""A screening that came before an experiment: what it found and may have missed, in answer and page."""

from __future__ import annotations

from dataclasses import dataclass

from datamill.experiment.messages.numbers import format_count, format_figures, format_given, format_level
from datamill.experiment.messages.phrases import count_nouns, finish_sentence
from datamill.report.tables.table import Table, build_table
from datamill.results.judgement.screened import ScreenedFirst


@dataclass(frozen=True, slots=True)
class ScreenedFirstView:
    """What the page shows of it."""

    sentences: tuple[str, ...]
    missed: tuple[str, ...]
    table: Table
    method: str


def phrase_screened_first(screened: ScreenedFirst) -> tuple[str, ...]:
    """Say in two sentences what the screening found and what it may have missed."""
    found = [f"{item.factor} ({item.reason})" for item in screened.factors if item.survives]
    count = count_nouns(len(screened.factors), "hidden factor")
    on = f" on {screened.machines} machines" if screened.machines > 1 else ""
    trials = f"{format_count(screened.trials)} trials{on}, in {screened.bundle}"
    begun = f"A screening of {count} came first ({trials})"
    if found:
        moves = "moves" if len(found) == 1 else "move"
        vary = "varies" if len(found) == 1 else "vary"
        first = f"{begun}: {len(found)} {moves} {screened.response} and {vary} here: {', '.join(found)}."
    else:
        first = f"{begun}: none was found to move {screened.response}."
    return first, _phrase_smallest(screened)


def view_screened_first(screened: ScreenedFirst) -> ScreenedFirstView:
    """Return what the page shows of a screening that came first."""
    first, smallest = phrase_screened_first(screened)
    rows = tuple((item.factor, *item.levels, item.becomes, item.reason) for item in screened.factors)
    strong = tuple(index for index, item in enumerate(screened.factors) if item.survives)
    return ScreenedFirstView(
        sentences=(
            first,
            f"It had {format_count(screened.points)} combinations of levels × {screened.replicates} "
            "replicates. Its data have no part in this experiment's answer.",
            *(finish_sentence(warning) for warning in screened.warnings),
        ),
        missed=(smallest, *screened.missed),
        table=build_table(("factor", "low", "high", "here", "what was found"), rows, words=5, strong=strong),
        method=f"{screened.method}; a factor survives below alpha = {format_given(screened.alpha)}, adjusted "
        "by Holm over all factors",
    )


def _phrase_smallest(screened: ScreenedFirst) -> str:
    if len(screened.survivors) == len(screened.factors):
        return "It missed no factor of those that it looked at."
    level = format_level(screened.confidence)
    if screened.smallest_percent is None:
        return "It is not known how large an effect it may have missed."
    size = format_figures(screened.smallest_percent)
    return (
        f"The factors that it did not detect move {screened.response} by {size}% of the mean at most "
        f"({level} intervals, each by itself): up to so much it may have missed, besides what it did not "
        "look at."
    )
