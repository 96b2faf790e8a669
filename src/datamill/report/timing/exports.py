"""The results of timed commands in the form of hyperfine, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Mapping, Sequence

from datamill.experiment.messages.numbers import format_fixed
from datamill.protocol.trial import TrialRecord
from datamill.report.timing.statement import phrase_answer, spell_mean
from datamill.report.timing.timing_answer import CommandMean, TimingAnswer


def spell_hyperfine(answer: TimingAnswer, records: Mapping[str, Sequence[TrialRecord]]) -> str:
    """Return the results in the form of hyperfine's `--export-json`, with the times of all executions.

    Args:
        answer: the answer.
        records: the completed executions of each command, by its name.
    """
    results = []
    for mean in answer.means:
        runs = [record.run for record in records.get(mean.command.name, ()) if record.run is not None]
        times = [run.wall_time_ns / 1e9 for run in runs]
        if not times:
            continue
        results.append(
            {
                "command": mean.command.label,
                "mean": statistics.fmean(times),
                "stddev": statistics.stdev(times) if len(times) > 1 else None,
                "median": statistics.median(times),
                "user": statistics.fmean(run.user_time_ns for run in runs) / 1e9,
                "system": statistics.fmean(run.system_time_ns for run in runs) / 1e9,
                "min": min(times),
                "max": max(times),
                "times": times,
                "memory_usage_byte": [run.peak_memory_bytes for run in runs],
                "exit_codes": [run.exit_code for run in runs],
                **({"parameters": dict(mean.command.parameters)} if mean.command.parameters else {}),
            }
        )
    return json.dumps({"results": results}, indent=2) + "\n"


def spell_markdown(answer: TimingAnswer) -> str:
    """Return a table for a pull request or a page: each command, its mean, and its ratio to the first."""
    lines = ["| Command | Mean | n | Ratio to the first |", "|:---|---:|---:|---:|"]
    for mean in answer.means:
        name = mean.command.label.replace("|", "\\|").replace("\n", " ")
        lines.append(f"| `{name}` | {spell_mean(answer, mean)} | {mean.n} | {_spell_ratio(answer, mean)} |")
    return "\n".join([*lines, "", phrase_answer(answer), ""])


def spell_csv(answer: TimingAnswer) -> str:
    """Return a row a command: its mean with bounds in the response's unit, and its ratio to the first."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["command", "mean", "low", "high", "n", "unit", "ratio", "ratio_low", "ratio_high", "verdict"]
    )
    first = answer.means[0].command
    against_first = {pair.b.name: pair for pair in answer.comparisons if pair.a == first}
    for mean in answer.means:
        pair = against_first.get(mean.command.name)
        told = [pair.ratio, pair.low, pair.high, pair.verdict] if pair is not None else [None] * 4
        writer.writerow(
            [mean.command.label, mean.mean, mean.low, mean.high, mean.n, answer.response.unit, *told]
        )
    return text.getvalue()


def _spell_ratio(answer: TimingAnswer, mean: CommandMean) -> str:
    first = answer.means[0]
    if mean is first:
        return "1"
    pair = next(pair for pair in answer.comparisons if pair.b == mean.command and pair.a == first.command)
    if pair.ratio is None or pair.low is None or pair.high is None:
        return "not known"
    ratio, low, high = (format_fixed(number, 3) for number in (pair.ratio, pair.low, pair.high))
    return f"{ratio} ({low} to {high})"
