"""What limited a gate's measurement: the time it had, and what that was spent on."""

from __future__ import annotations

from datamill.analysis.sequential.pairs import FEWEST_MEAN_ROUNDS, count_fewest_rounds
from datamill.conduct.gate.gate_run import GateRun, Measured
from datamill.conduct.gate.shorter_executions import list_lacking_options
from datamill.experiment.gate.gate import Gate
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import format_count
from datamill.experiment.quantities import format_duration

#: Share of the time allowed by which it is overrun before that is told.
_OVERRUN = 0.05


def list_limits(gate: Gate, run: GateRun, *, varies: bool) -> list[str]:
    """Return what kept a gate from telling more, a sentence each without the full stop.

    Args:
        gate: what was asked.
        run: all that was measured.
        varies: whether each round is another build.
    """
    if not run.measured or run.interrupted:
        return []
    return [*_look_at_number(gate, run, varies), *_look_at_overrun(gate, run)]


def _look_at_number(gate: Gate, run: GateRun, varies: bool) -> list[str]:
    """Whether rounds are too few to tell anything apart, and how to get enough of them."""
    values = sum(len(item.names) for item in run.measured)
    fewest = count_fewest_rounds(2, gate.alpha / max(1, values))
    if all(item.executions > 1 for item in run.measured):
        # Means of several executions are compared from here on.
        fewest = min(fewest, FEWEST_MEAN_ROUNDS)
    if not 0 < run.sweeps < fewest or gate.within_s - run.elapsed_s >= run.elapsed_s / run.sweeps:
        # Enough, or another round had its time: what ended it is told where it failed.
        return []
    what = "builds" if varies else "executions"
    whole_s = fewest * run.elapsed_s / run.sweeps
    within = tell(argument("within", verb="gate"))
    slow = max(run.measured, key=lambda item: item.execution_s)
    return [
        f"{format_count(run.sweeps)} {what} of each are too few to tell base and head apart, however much "
        f"they differ: that takes {fewest}, about {format_duration(whole_s)} in all: allow that or more with "
        f"{within}{_advise_less(slow, 2 * fewest * slow.execution_s > gate.within_s)}"
    ]


def _advise_less(item: Measured, too_long: bool) -> str:
    if not (too_long and item.benchmark.tool):
        return ""
    lacking = list_lacking_options(item.benchmark)
    how = f" (with {' '.join(lacking)})" if lacking else ""
    return (
        f", or have {item.benchmark.tool} do less within an execution of {item.benchmark.name}, which "
        f"takes {format_duration(item.execution_s)}{how}"
    )


def _look_at_overrun(gate: Gate, run: GateRun) -> list[str]:
    over_s = run.elapsed_s - gate.within_s
    if over_s <= _OVERRUN * gate.within_s:
        return []
    return [
        f"it took {format_duration(over_s)} more than the {format_duration(gate.within_s)} allowed: "
        "two rounds are the fewest, and the last one may take longer than those before it"
    ]
