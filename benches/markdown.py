"""What the comparisons print: a heading with machine and date, and Markdown tables."""

from __future__ import annotations

import datetime
import os
import platform
import statistics
from collections.abc import Sequence
from pathlib import Path


def describe_machine() -> str:
    """Processor, cores and kernel of this machine, and today's date."""
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith(("model name", "Model")):
            model = line.split(":", 1)[1].strip()
            break
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    cores = os.cpu_count()
    return (
        f"Machine: {model}, {cores} cores, {platform.machine()}, Linux {platform.release()}. Date: {today}."
    )


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Median, interquartile range and median absolute deviation."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return middle, high - low, statistics.median(abs(value - middle) for value in values)
