"""Trials that may have been disturbed: how many, and whether the conclusion holds without them."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.analysis.answer.doubtful_trials import BrokenRule, DoubtfulTrials
from datamill.analysis.answer.response import ResponseAnalysis
from datamill.design.design import Design
from datamill.experiment.messages.arguments import command
from datamill.experiment.messages.numbers import format_count
from datamill.report.changes.mattered import list_influential_factors
from datamill.report.experiment.answer import phrase_pair, scale_response
from datamill.report.tables.table import Table, build_table


def phrase_doubts(found: DoubtfulTrials | None, design: Design, analysis: ResponseAnalysis) -> str:
    """Say how many trials of an analysis are doubtful and what becomes of it without them; empty for none.

    `analysis` is that of all valid observations. The conclusion is the verdict on each pair of
    packages and which factors mattered.
    """
    if found is None:
        return ""
    counts = f"{format_count(found.doubtful)} of {format_count(found.trials)} trials may have been disturbed"
    if found.host:
        # So few are left that the answer without them says nothing.
        return f"{counts}: {_say_what_to_do(design)}"
    if found.without is None:
        return f"{counts}; without them there is no answer: {found.problem}"
    changed = _phrase_changes(analysis, found.without)
    if not changed:
        return f"{counts}; without them the conclusion is the same"
    return f"{counts}, and the conclusion depends on them: without them, {'; '.join(changed)}"


def _say_what_to_do(design: Design) -> str:
    if any(factor.name == "machine" for factor in design.factors):
        return (
            "the machines were not quiet. datamill worker noise shows on each what disturbs it; end that, "
            "and submit the experiment again"
        )
    return (
        "this host was not quiet. datamill worker noise shows what disturbs it; end that, and repeat the "
        f"trials with {command('run', resume='DIR', repeat_doubtful=True)}"
    )


def _phrase_changes(analysis: ResponseAnalysis, without: ResponseAnalysis) -> list[str]:
    """Return what is concluded otherwise without doubtful trials, a phrase each."""
    changes = []
    before, after = analysis.comparison, without.comparison
    if before is not None and after is None:
        changes.append("the packages cannot be compared")
    if before is not None and after is not None:
        verdicts = {(pair.package, pair.baseline): pair.verdict for pair in before.pairs}
        changes += [
            phrase_pair(pair, without, scale_response(without)).rstrip(".")
            for pair in after.pairs
            if verdicts.get((pair.package, pair.baseline)) != pair.verdict
        ]
    (found, _), (found_without, _) = list_influential_factors(analysis), list_influential_factors(without)
    gained = [name for name in found_without if name not in found]
    lost = [name for name in found if name not in found_without]
    if gained:
        changes.append(f"{', '.join(gained)} mattered as well")
    if lost:
        # What is not shown any more need not be wrong.
        changes.append(f"nothing shows that {', '.join(lost)} mattered (which fewer trials may not show)")
    return changes


def tabulate_doubts(rules: Sequence[BrokenRule]) -> Table | None:
    """Trials by the rule that they broke, with the first example; None when no rule was broken."""
    if not rules:
        return None
    rows = tuple((item.rule, f"{item.seen} ({item.first})", format_count(item.trials)) for item in rules)
    return build_table(("rule", "first seen", "trials"), rows, words=2)
