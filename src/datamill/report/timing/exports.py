"""The results of timed commands in the form of hyperfine, and as CSV."""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Mapping, Sequence

from datamill.protocol.trial import TrialRecord
from datamill.report.timing.timing_answer import TimingAnswer

_ANSWERED = ("command", "mean", "low", "high", "n", "unit", "ratio", "ratio_low", "ratio_high", "verdict")
#: Columns of hyperfine's.
_DESCRIBED = ("stddev", "median", "user", "system", "min", "max")


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
                **_describe(records[mean.command.name]),
                "times": times,
                "memory_usage_byte": [run.peak_memory_bytes for run in runs],
                "exit_codes": [run.exit_code for run in runs],
                **({"parameters": dict(mean.command.parameters)} if mean.command.parameters else {}),
            }
        )
    return json.dumps({"results": results}, indent=2) + "\n"


def spell_csv(answer: TimingAnswer, records: Mapping[str, Sequence[TrialRecord]]) -> str:
    """Return a row a command: its mean with bounds in the response's unit, and its ratio to the first.

    Behind them stand the columns of hyperfine's that describe single executions, in seconds of time, and a
    column for each parameter.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    parameters = list(dict.fromkeys(name for mean in answer.means for name in mean.command.parameters))
    writer.writerow([*_ANSWERED, *_DESCRIBED, *(f"parameter_{name}" for name in parameters)])
    first = answer.means[0].command
    against_first = {pair.b.name: pair for pair in answer.comparisons if pair.a == first}
    for mean in answer.means:
        pair = against_first.get(mean.command.name)
        told = [pair.ratio, pair.low, pair.high, pair.verdict] if pair is not None else [None] * 4
        described = _describe(records.get(mean.command.name, ()))
        writer.writerow(
            [mean.command.label, mean.mean, mean.low, mean.high, mean.n, answer.response.unit, *told]
            + [described.get(name) for name in _DESCRIBED]
            + [mean.command.parameters.get(name) for name in parameters]
        )
    return text.getvalue()


def _describe(records: Sequence[TrialRecord]) -> dict[str, float | None]:
    """What hyperfine says of the times of executions, in seconds; empty without executions."""
    runs = [record.run for record in records if record.run is not None]
    times = [run.wall_time_ns / 1e9 for run in runs]
    if not times:
        return {}
    return {
        "stddev": statistics.stdev(times) if len(times) > 1 else None,
        "median": statistics.median(times),
        "user": statistics.fmean(run.user_time_ns for run in runs) / 1e9,
        "system": statistics.fmean(run.system_time_ns for run in runs) / 1e9,
        "min": min(times),
        "max": max(times),
    }
