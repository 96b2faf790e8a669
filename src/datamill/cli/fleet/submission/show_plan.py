"""The plan of a submission in lines, and the question whether it is submitted."""

from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.text import Text

from datamill.conduct.question.design_size import MOST_UNCONFIRMED_TRIALS
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_count
from datamill.experiment.messages.phrases import count_nouns, list_first
from datamill.experiment.quantities import format_duration
from datamill.protocol.api.plans import SubmissionPlan

#: The user was asked and said no.
EXIT_NOT_SUBMITTED = 1
#: Levels or workers that a line names.
_MOST_SHOWN = 8


def confirm(preview: SubmissionPlan) -> None:
    """Ask whether to submit.

    Raises:
        InputError: when there is nobody to ask.
        SystemExit: when the answer is no.
    """
    if sys.stdin.isatty():
        if not click.confirm("Submit it?", default=True, err=True):
            click.echo("Nothing was submitted.", err=True)
            raise SystemExit(EXIT_NOT_SUBMITTED)
        return
    large = preview.trials > MOST_UNCONFIRMED_TRIALS
    raise InputError(
        f"nothing was submitted: {count_nouns(preview.trials, 'trial')} would run, and without a terminal "
        "nobody can be asked whether that is meant",
        remedy="Confirm with --yes."
        + (" Or name fewer levels, or lower a coverage or the replicates." if large else ""),
    )


def print_plan(preview: SubmissionPlan, console: Console) -> None:
    """Print who takes part and why, what is covered, how large it is, and until when."""
    for line in describe_plan(preview):
        console.print(line)


def describe_plan(preview: SubmissionPlan) -> list[Text]:
    """Return the plan in lines."""
    workers = preview.workers
    lines = [Text(f"{preview.name}: {count_nouns(len(workers), 'worker')}", style="bold")]
    lines += [Text(f"  {worker.name}: {worker.why}") for worker in workers[:_MOST_SHOWN]]
    if len(workers) > _MOST_SHOWN:
        lines.append(Text(f"  … and {len(workers) - _MOST_SHOWN} more"))
    if preview.spares:
        lines.append(Text(f"stand by: {list_first(preview.spares, _MOST_SHOWN)}"))
    for name, levels in preview.coverage.items():
        chosen, of = levels.chosen, levels.of
        lines.append(
            Text(f"coverage of {name}: {len(chosen)} of {len(of)} ({list_first(chosen, _MOST_SHOWN)})")
        )
    for item in preview.ineligible[:_MOST_SHOWN]:
        lines.append(Text(f"not {item.name}: {item.reason}", style="dim"))
    if len(preview.ineligible) > _MOST_SHOWN:
        lines.append(Text(f"… and {len(preview.ineligible) - _MOST_SHOWN} more cannot", style="dim"))
    factors = [
        f"{len(factor.levels)} {factor.name} ({list_first(factor.levels, _MOST_SHOWN)})"
        for factor in preview.factors
        if not factor.treatment
    ]
    if factors:
        lines.append(Text(f"factors: {' x '.join(factors)}"))
    lines += [
        Text(f"not varied: {factor.name}, {factor.treatment}")
        for factor in preview.factors
        if factor.treatment and factor.name not in ("package", "machine")
    ]
    lines.append(
        Text(
            f"trials: {'at most ' if preview.growth else ''}{format_count(preview.trials)} "
            f"({count_nouns(preview.points, 'design point')} x "
            f"{count_nouns(preview.replicates, 'replicate')}){_spell_debugging(preview)}, "
            f"{_spell_reboots(preview.reboot)}"
        )
    )
    if preview.profiled:
        names = ", ".join(preview.profiled)
        lines.append(Text(f"profiled on each machine, before the trials of the same build: {names}"))
    if preview.growth:
        lines.append(Text(f"grows: {preview.growth}"))
    finish_s = preview.finish_s
    if preview.debug != "only":
        lines.append(
            Text(
                "estimated finish: "
                + (
                    f"in {'at most ' if preview.growth else ''}about {format_duration(finish_s)}"
                    if finish_s is not None
                    else "unknown, since these packages never ran on this fleet"
                )
            )
        )
    lines += [Text(f"Warning: {warning}", style="yellow") for warning in preview.warnings]
    return lines


def _spell_debugging(preview: SubmissionPlan) -> str:
    count = preview.debug_trials
    if preview.debug == "first":
        return f", after {count_nouns(count, 'debug trial')}"
    if preview.debug == "only":
        return f"; now only {count_nouns(count, 'debug trial')}"
    return ""


def _spell_reboots(reboot: str) -> str:
    return {
        "trial": "a reboot before each",
        "block": "a reboot before each block",
        "never": "no reboots",
    }.get(reboot, reboot)
