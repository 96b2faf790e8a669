"""Options of other tools with which they take less time for an execution."""

from __future__ import annotations

import re
from collections.abc import Mapping

from datamill.experiment.gate.gate import Benchmark

#: Options with which tools take little time for an execution, each with the names that it has, by tool:
#: those of docs/howto/gate.md. Criterion spends most of its time on pictures and on resampling.
SHORTENING: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "google-benchmark": {"--benchmark_min_time=0.05": ("--benchmark_min_time",)},
    "benchfmt": {"-benchtime 50ms": ("-benchtime", "--benchtime", "-test.benchtime")},
    "pytest-benchmark": {"--benchmark-max-time=0.1": ("--benchmark-max-time",)},
    "pyperf": {
        "-p 1": ("-p", "--processes"),
        "-n 5": ("-n", "--values"),
        "-w 1": ("-w", "--warmups"),
        "--min-time 0.02": ("--min-time",),
    },
    "criterion": {
        "--measurement-time 0.2": ("--measurement-time",),
        "--warm-up-time 0.1": ("--warm-up-time",),
        "--noplot": ("--noplot", "-n"),
        "--nresamples 1000": ("--nresamples",),
    },
    "jmh": {
        "-f 1": ("-f",),
        "-wi 5": ("-wi",),
        "-w 300ms": ("-w",),
        "-i 3": ("-i",),
        "-r 100ms": ("-r",),
    },
    "asv": {"-a rounds=1": ("rounds",), "-a repeat=5": ("repeat",), "-a sample_time=0.02": ("sample_time",)},
    "hyperfine": {"-r 3": ("-r", "--runs", "-m", "--min-runs", "-M", "--max-runs")},
}


def list_lacking_options(benchmark: Benchmark) -> list[str]:
    """Return the options that would shorten an execution, of those that its command does not have at all."""
    # `-p1` is `-p 1`.
    given = {re.sub(r"^(-[a-z])\d+$", r"\1", word.partition("=")[0]) for word in benchmark.command.split()}
    known = SHORTENING.get(benchmark.tool, {})
    return [option for option, names in known.items() if given.isdisjoint(names)]
