"""A bundle's answer on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from datamill.cli.console import name_command
from datamill.conduct.report_bundle import write_report
from datamill.protocol.trial import TrialRecord
from datamill.report.words.warning_order import MOST_SHOWN
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.trial_summary import list_problems


def report_bundle(
    bundle: Bundle, records: Sequence[TrialRecord], console: Console, *, always_csv: bool = False
) -> bool:
    """Write table and report, print the answer and the report's path; tell whether something needs attention.

    Attention is needed when a planned trial gave no usable observation of the experiment's responses.
    """
    answered = write_report(bundle, records, always_csv=always_csv)
    answer = answered.answer
    console.print()
    if answer.question:
        console.print(Text(answer.question, style="bold"))
    console.print(Text(answer.headline, style="bold green" if answer.n else "bold yellow"))
    for line in (*answer.details, *answer.mattered):
        console.print(Text(line))
    for warning in answer.warnings[:MOST_SHOWN]:
        console.print(Text(f"Warning: {warning}", style="yellow"))
    if (more := len(answer.warnings) - MOST_SHOWN) > 0:
        console.print(Text(f"{more} more warning{'s' if more > 1 else ''}: see the report.", style="yellow"))
    if answered.analysis.survivors:
        command = f"{name_command()} run --after-screening {bundle.folder}"
        console.print(
            Text(f"Go on with what survived: {command}", no_wrap=True, overflow="ignore"), soft_wrap=True
        )
    problems = list_problems(answered.trials, answered.analysis.table, bundle)
    for problem in problems:
        console.print(Text(f"Attention: {problem}", style="red"))
    console.print()
    console.print(Text(f"Report: {bundle.report_file}", no_wrap=True, overflow="ignore"), soft_wrap=True)
    return bool(problems)
