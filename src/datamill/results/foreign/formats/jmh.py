"""JMH's JSON (`-rf json`): forks are processes, iterations are measurements inside them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from datamill.results.foreign.content import Content, convert_document, describe_scalar
from datamill.results.foreign.foreign_results import Execution, ForeignFormat, ForeignResults, Series

_TITLE = "JMH JSON"
_MODES = {
    "thrpt": "throughput",
    "avgt": "average_time",
    "sample": "sample_time",
    "ss": "single_shot_time",
}
_CONTEXT = ("jmhVersion", "jdkVersion", "vmName", "vmVersion", "jvm", "warmupIterations", "warmupTime",
            "warmupBatchSize", "measurementTime", "measurementBatchSize")  # fmt: skip

#: A histogram of one iteration: pairs of value and count.
_Histogram = list[tuple[float, int]]


class _Metric(msgspec.Struct, frozen=True):
    scoreUnit: str  # noqa: N815 - JMH's name
    rawData: list[list[float | str | None]] | None = None  # noqa: N815 - JMH's name
    rawDataHistogram: list[list[_Histogram]] | None = None  # noqa: N815 - JMH's name


class _Benchmark(msgspec.Struct, frozen=True):
    benchmark: str
    mode: str
    primaryMetric: _Metric  # noqa: N815 - JMH's name
    secondaryMetrics: dict[str, _Metric] = {}  # noqa: N815 - JMH's name
    params: dict[str, str] = {}
    threads: int = 1
    jvmArgs: list[str] = []  # noqa: N815 - JMH's name


def claims_jmh(content: Content) -> bool:
    """Whether the document is an array whose items have a benchmark and a primary metric."""
    document = content.document
    return isinstance(document, list) and any(
        isinstance(item, dict) and "benchmark" in item and "primaryMetric" in item for item in document
    )


def read_jmh(content: Content) -> ForeignResults:
    """Return an execution for each fork, with the values of its iterations.

    The response is named after the mode; secondary metrics (profilers) keep their names. Histograms
    of sampled times are written out, a value as often as it was counted.

    Raises:
        InputError: a field is missing or wrong.
    """
    executions, histograms, megabytes = [], False, False
    for index, given in enumerate(content.document):
        title = f"{_TITLE} (item {index + 1})"
        item = convert_document(content, given, _Benchmark, title)
        metrics = [(_MODES.get(item.mode, item.mode), item.primaryMetric)]
        metrics += [(name.lstrip("·"), metric) for name, metric in item.secondaryMetrics.items()]
        context = {name: describe_scalar(given[name]) for name in _CONTEXT if name in given}
        context |= {"jvmArgs": " ".join(item.jvmArgs), "threads": str(item.threads)}
        forks: dict[int, list[Series]] = {}
        for name, metric in metrics:
            histograms |= metric.rawDataHistogram is not None
            unit = metric.scoreUnit
            if unit == "MB/sec" and name.startswith("gc."):
                unit, megabytes = "MiB/sec", True
            for fork, values in enumerate(_list_forks(metric)):
                exclusions = {
                    place: f'the file holds "{value}"'
                    for place, value in enumerate(values)
                    if isinstance(value, str)
                }
                numbers = [None if isinstance(value, str) else value for value in values]
                forks.setdefault(fork, []).append(Series(name, unit, numbers, exclusions=exclusions))
        # A parameter may have the name of JMH's own setting.
        factors = dict(item.params)
        factors.setdefault("threads", str(item.threads))
        executions += [Execution(item.benchmark, factors, series, context) for series in forks.values()]
    notes = []
    if histograms:
        notes.append("sampled times are histograms, whose values JMH rounds to about 0.2%")
    if megabytes:
        notes.append('JMH\'s gc profiler counts 1 048 576 bytes to the "MB"; read as that')
    return ForeignResults(executions, notes)


def _list_forks(metric: _Metric) -> Sequence[Sequence[float | str | None]]:
    """Values by fork; of a histogram each value as often as it was counted."""
    if metric.rawDataHistogram is None:
        return metric.rawData or []
    forks: list[list[float | str | None]] = []
    for iterations in metric.rawDataHistogram:
        values: list[float | str | None] = []
        for histogram in iterations:
            for value, count in histogram:
                values.extend([value] * count)
        forks.append(values)
    return forks


JMH = ForeignFormat("jmh", _TITLE, claims_jmh, read_jmh)
