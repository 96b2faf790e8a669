"""A profile as a statement."""

from __future__ import annotations

from datamill.experiment.messages.numbers import format_count, format_fixed, format_share
from datamill.experiment.messages.phrases import count_nouns
from datamill.report.tables.envelope import write_result
from datamill.report.tables.statement import BLANK, Paragraph, Part
from datamill.report.tables.table import build_table
from datamill.selection.profiles.profile import Profile

#: Functions that are listed.
MOST = 40


def summarize_profile(profile: Profile) -> list[str]:
    """Return sentences: how much was reached, and how it was counted."""
    total = sum(item.instructions or 0 for item in profile.functions.values())
    return [
        f"{profile.benchmark} reaches {count_nouns(len(profile.functions), 'function')} and executes "
        f"{format_count(total)} instructions in them (counted by {profile.method})."
    ]


def spell_profile(profile: Profile) -> str:
    """Write a profile as JSON, its functions in the order of their names."""
    numbers = {
        "benchmark": profile.benchmark,
        "method": profile.method,
        "functions": [
            {"name": name, "calls": item.calls, "instructions": item.instructions}
            for name, item in sorted(profile.functions.items())
        ],
    }
    return write_result(summarize_profile(profile), numbers, ())


def state_profile(profile: Profile) -> list[Part]:
    """Return the hottest functions by executed instructions, with ranks as indicators use them."""
    parts: list[Part] = [*map(Paragraph, summarize_profile(profile)), BLANK]
    by_instructions, by_calls = profile.rank("instructions"), profile.rank("calls")
    total = sum(item.instructions or 0 for item in profile.functions.values())
    if by_instructions is None or by_calls is None or not total:
        return parts
    rows = []
    for name in by_instructions.hottest(MOST):
        item = profile.functions[name]
        rows.append(
            (
                name,
                format_count(item.instructions or 0),
                format_share((item.instructions or 0) / total),
                format_fixed(by_instructions.of(name), 0),
                format_count(item.calls or 0),
                format_fixed(by_calls.of(name), 0),
            )
        )
    parts.append(build_table(("function", "instructions", "share", "rank", "calls", "rank"), rows))
    if len(profile.functions) > MOST:
        parts.append(Paragraph(f"{len(profile.functions) - MOST} more were reached."))
    return parts
