"""A bundle's answer on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from datamill.cli.console import name_command
from datamill.report.words.warning_order import MOST_SHOWN

if TYPE_CHECKING:
    # Brings statistics along.
    from datamill.conduct.report_bundle import BundleReport


def print_report(report: BundleReport, console: Console) -> None:
    """Print the answer, what needs attention, and the path of the report."""
    bundle, answer = report.bundle, report.answered.answer
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
    if report.answered.analysis.survivors:
        command = f"{name_command()} run --after-screening {bundle.folder}"
        console.print(
            Text(f"Go on with what survived: {command}", no_wrap=True, overflow="ignore"), soft_wrap=True
        )
    for problem in report.problems:
        console.print(Text(f"Attention: {problem}", style="red"))
    console.print()
    console.print(Text(f"Report: {bundle.report_file}", no_wrap=True, overflow="ignore"), soft_wrap=True)
