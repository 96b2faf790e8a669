"""What a gate says when it had too little time."""

from types import SimpleNamespace
from typing import cast

from datamill.conduct.gate.gate_run import GateRun, Measured
from datamill.conduct.gate.limits import list_limits
from datamill.experiment.gate.gate import Benchmark, Gate

SUITE = Benchmark("suite", "python bench.py", tool="pyperf")
PROGRAM = Benchmark("program", "./prog")


def list_told(benchmark: Benchmark, execution_s: float, *, sweeps: int, elapsed_s: float) -> list[str]:
    measured = [Measured(benchmark, execution_s, 1, ("alpha", "beta", "gamma"))]
    run = SimpleNamespace(measured=measured, interrupted=False, sweeps=sweeps, elapsed_s=elapsed_s)
    gate = Gate((benchmark,), within_s=60.0)
    return list_limits(gate, cast("GateRun", run), varies=False)


def test_a_tool_that_repeats_for_long_is_asked_to_repeat_less() -> None:
    few, overrun = list_told(SUITE, 39.0, sweeps=2, elapsed_s=155.0)
    assert few == (
        "2 executions of each are too few to tell base and head apart, however much they differ: that takes "
        "10, about 12 min 55 s in all: allow that or more with datamill gate --within, or have pyperf repeat "
        "less within an execution of suite, which takes 39 s"
    )
    assert overrun.startswith("it took 1 min 35 s more than the 1 min allowed")


def test_a_program_that_takes_long_is_not_asked_to_repeat_less() -> None:
    few, _ = list_told(PROGRAM, 39.0, sweeps=2, elapsed_s=155.0)
    assert few.endswith("allow that or more with datamill gate --within")


def test_enough_rounds_within_the_time_have_nothing_to_be_told() -> None:
    assert list_told(SUITE, 3.0, sweeps=10, elapsed_s=59.0) == []
