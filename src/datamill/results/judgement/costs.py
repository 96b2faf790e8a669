"""What repetition took in an experiment that has run: builds, executions, measurements, in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from datamill.design.design import Design, PlannedTrial
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_figures, format_fixed, format_given
from datamill.experiment.quantities import format_duration
from datamill.protocol.trial import PhaseFacts, TrialRecord


@dataclass(frozen=True, slots=True)
class RepetitionCosts:
    """What repetition takes, in seconds of the machine's time.

    `build_s` for one more build, `execution_s` for one more execution of it without its measurements (start,
    warm-up, and what a trial takes around it), `measurement_s` for one more measurement in an execution:
    w + n measurements of EPEW 2006, equation 18, are `execution_s + n * measurement_s`. `source` says in
    words how they are known.
    """

    build_s: float
    execution_s: float
    measurement_s: float
    source: str


@dataclass(frozen=True, slots=True)
class _Trial:
    planned: PlannedTrial
    record: TrialRecord
    run_s: float
    whole_s: float


def measure_costs(
    records: Sequence[TrialRecord],
    design: Design,
    *,
    package: str = "",
    measurements: float = 1.0,
    measured_s: float | None = None,
) -> RepetitionCosts:
    """Measure what repetition took, of one package or of all.

    An execution is taken from the worker's start of the trial to its end, less a build of its own. One
    measurement is the slope of the line from calibration trials, which have one measurement and no warm-up,
    to full executions. `measurements` is how many values of the response an execution has, without warm-up.
    Without calibration `measured_s`, the mean of a response that is a time, stands for a measurement. Builds
    that ran side by side count as what they took of the machine: the time in which any was running, shared
    out by their own times.

    Raises:
        InputError: no trial completed, or nothing tells a measurement from the rest of an execution.
    """
    trials = _list_trials(records, design, package)
    full = [trial for trial in trials if trial.planned.purpose == "question"]
    if not full:
        raise InputError(
            f"no trial{f' of {package}' if package else ''} completed, so that nothing tells what one takes",
            remedy=f"Give {argument('build_time')}, {argument('execution_time')} and "
            f"{argument('measurement_time')}.",
        )
    whole_s = fmean(trial.whole_s for trial in full)
    build_s, said_builds = _measure_builds(records, package)
    measurement_s, said_measurements = _measure_measurement(trials, full, whole_s, measurements, measured_s)
    execution_s = max(0.0, whole_s - measurements * measurement_s)
    return RepetitionCosts(
        build_s,
        execution_s,
        measurement_s,
        f"measured: {said_builds}; an execution with all around it took {format_duration(whole_s)} (mean of "
        f"{len(full)}); {said_measurements}",
    )


def _list_trials(records: Sequence[TrialRecord], design: Design, package: str) -> list[_Trial]:
    planned = {trial.trial_id: trial for trial in design.trials}
    found = []
    for record in records:
        trial = planned.get(record.trial_id)
        if trial is None or record.run is None or record.outcome != "completed":
            continue
        if package and record.package != package:
            continue
        whole_ns = record.ended_unix_ns - record.started_unix_ns
        if record.build is not None and record.build.setup is not None and not record.build.reused:
            whole_ns -= record.build.setup.wall_time_ns
        found.append(_Trial(trial, record, record.run.wall_time_ns / 1e9, max(0, whole_ns) / 1e9))
    return found


def _measure_builds(records: Sequence[TrialRecord], package: str) -> tuple[float, str]:
    """Seconds of the machine's time for a build, and how they are counted."""
    setups: dict[str, tuple[str, PhaseFacts]] = {}
    for record in records:
        if record.build is not None and record.build.setup is not None:
            setups.setdefault(record.build.id, (record.package, record.build.setup))
    own = [facts.wall_time_ns / 1e9 for name, facts in setups.values() if not package or name == package]
    if not own:
        return 0.0, "a build took no time, for there is no setup.sh"
    spans = sorted(
        (facts.started_unix_ns, facts.started_unix_ns + facts.wall_time_ns) for _, facts in setups.values()
    )
    busy_ns, end = 0, spans[0][0]
    for start, stop in spans:
        busy_ns += max(0, stop - max(start, end))
        end = max(end, stop)
    together = sum(stop - start for start, stop in spans) / busy_ns if busy_ns else 1.0
    alone_s = fmean(own)
    text = f"a build took {format_duration(alone_s)} (mean of {len(own)})"
    if together > 1.05:
        counted = format_duration(alone_s / together)
        text += f", of which {format_fixed(together, 1)} ran at once, so that one counts as {counted}"
    return alone_s / together, text


def _measure_measurement(
    trials: Sequence[_Trial],
    full: Sequence[_Trial],
    whole_s: float,
    measurements: float,
    measured_s: float | None,
) -> tuple[float, str]:
    """Seconds for one more measurement, and how they are known."""
    if measurements <= 1:
        return 0.0, "a measurement is a whole execution"
    short = [trial for trial in trials if trial.planned.purpose == "calibration"]
    # Other design points may take longer for reasons of their own.
    points = {trial.planned.point for trial in short}
    alike = [trial for trial in full if trial.planned.point in points]
    if alike:
        taken = fmean(_count_measured(trial, measurements) for trial in alike)
        least = fmean(_count_measured(trial, 1.0) for trial in short)
        if taken > least:
            short_s = fmean(trial.run_s for trial in short)
            slope_s = (fmean(trial.run_s for trial in alike) - short_s) / (taken - least)
            if slope_s > 0:
                return slope_s, (
                    f"a measurement took {_format_short(slope_s)}, by the line from {len(short)} calibration "
                    f"trials of {format_given(least)} to executions of {format_given(taken)}, warm-up "
                    "included"
                )
            return 0.0, (
                f"a measurement took no time that can be seen: {len(short)} calibration trials took as long "
                "as full executions"
            )
    if measured_s is None:
        raise InputError(
            "there are no calibration trials, and the response is not a time: nothing tells what one more "
            "measurement takes",
            remedy=f"Give {argument('measurement_time')} (and {argument('build_time')}, "
            f"{argument('execution_time')}), "
            "or run the pilot with measurements in [replication].",
        )
    if measurements * measured_s > whole_s:
        measured_s = whole_s / measurements
        return measured_s, (
            "without calibration trials, all of an execution is taken to be its measurements, "
            f"{_format_short(measured_s)} each: the times measured exceed it"
        )
    return measured_s, (
        f"without calibration trials, a measurement is taken to cost the {_format_short(measured_s)} that it "
        "measures on the mean, and the rest of an execution to be its start"
    )


def _count_measured(trial: _Trial, without: float) -> float:
    """Measurements that an execution made, warm-up among them."""
    planned = trial.planned
    return float(planned.measurements + planned.warmup) if planned.measurements else without


def _format_short(seconds: float) -> str:
    """A duration that may be far below a millisecond."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{format_figures(seconds / size)} {unit}"
    return f"{format_figures(seconds / 1e-9)} ns"
