"""Machines to measure on, and smaller suites, in sentences and tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from datamill.experiment.messages.numbers import format_level, format_share
from datamill.experiment.messages.phrases import count_nouns, list_first
from datamill.platforms.choice.platform_choice import MachineChoice, RedundantBenchmark, SmallerSuite
from datamill.report.platforms.values import quote
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import build_table

_MOST_NAMED, _MOST_ROWS = 8, 40


def phrase_choice(choice: MachineChoice) -> str:
    """Which machines to measure on, and what that is worth."""
    names = [quote(item.machine) for item in choice.machines]
    sentence = f"Measure on {list_first(names, _MOST_NAMED)}"
    if math.isfinite(choice.expected_error) and math.isfinite(choice.random_error):
        sentence += (
            f": predictions of the suite's own benchmarks from {'it' if len(names) == 1 else 'them'} are "
            f"typically off by {format_share(choice.expected_error)}, from as many machines drawn at "
            "random by "
            f"{format_share(choice.random_error)}"
        )
    return f"{sentence}."


def state_choice(choice: MachineChoice) -> list[Part]:
    """State a choice: each machine with the variance that is left once it is measured."""
    rows = [
        [str(place), item.machine, format_share(item.left)]
        for place, item in enumerate(choice.machines, start=1)
    ]
    return [
        Paragraph(phrase_choice(choice)),
        BLANK,
        build_table(["", "machine", "variance left"], rows, words=2),
        BLANK,
        Paragraph(
            "Variance left: the share of what differs between machines (logarithms of the suite's scores) "
            "that is "
            "unexplained once this machine and those above it are measured. The application takes no part "
            "in the "
            "choice.",
            "  ",
        ),
        *(Paragraph(f"Warning: {item.rstrip('.')}.", "  ") for item in choice.warnings),
    ]


def phrase_suite(suite: SmallerSuite, loss: float) -> str:
    """How many benchmarks are enough, at which loss."""
    total = len(suite.kept) + len(suite.left_out)
    if not suite.left_out:
        return (
            f"No benchmark of {total} is redundant: without any one of them, it would be predicted worse "
            "than the "
            f"stated loss of {format_level(loss)}."
        )
    worst = max(item.median_error for item in suite.left_out)
    return (
        f"{len(suite.kept)} of {count_nouns(total, 'benchmark')} are enough: they predict each of the "
        "others with a "
        f"median error of {format_share(worst)} at most (stated loss {format_level(loss)})."
    )


def state_suite(suite: SmallerSuite, loss: float) -> list[Part]:
    """State a smaller suite: what is kept, what is left out at which loss, what it represents badly."""
    parts: list[Part] = [Paragraph(phrase_suite(suite, loss))]
    if suite.left_out:
        parts += [
            BLANK,
            Paragraph(f"Kept: {', '.join(suite.kept)}.", "  "),
            BLANK,
            Heading("Left out, in this order:"),
            BLANK,
            _tabulate(suite.left_out),
        ]
    if suite.badly:
        parts += [
            BLANK,
            Heading(
                "Predicted badly by the rest of the whole suite; applications like these are not represented:"
            ),
            BLANK,
            _tabulate(suite.badly),
        ]
    parts += [Paragraph(f"Warning: {item.rstrip('.')}.", "  ") for item in suite.warnings]
    return parts


def _tabulate(benchmarks: Sequence[RedundantBenchmark]) -> Part:
    rows = [
        [
            item.benchmark,
            format_share(item.median_error),
            format_share(item.largest_error),
            item.neighbour,
        ]
        for item in benchmarks[:_MOST_ROWS]
    ]
    return build_table(["benchmark", "median error", "largest error", "most by"], rows, last_words=1)
