"""What one execution of each benchmark in base and head shows."""

from collections.abc import Mapping
from typing import cast

from datamill.analysis.gate.judge_benchmarks import BASE, HEAD
from datamill.conduct.gate.benchmark_values import BenchmarkError, BenchmarkValues
from datamill.conduct.gate.gate_run import GateRun, Measured
from datamill.conduct.gate.try_benchmarks import Tried, try_benchmarks
from datamill.experiment.gate.gate import Benchmark, Gate

STATUS = "ended with status 1"


class PlayedRun:
    """A run whose executions give what is said beforehand."""

    def __init__(self, played: Mapping[str, BenchmarkValues | BenchmarkError]) -> None:
        self.played = played
        self.measured: list[Measured] = []

    def execute(self, benchmark: Benchmark, side: str) -> BenchmarkValues:  # noqa: ARG002
        found = self.played[side]
        if isinstance(found, BenchmarkError):
            raise found
        return found


def try_tool(**played: BenchmarkValues | BenchmarkError) -> Tried:
    gate = Gate((Benchmark("bench", "./bench", tool="google-benchmark"),))
    sides = tuple(side for side in (BASE, HEAD) if side in played)
    return try_benchmarks(gate, cast("GateRun", PlayedRun(played)), 0.0, sides, lambda _: None)


def give(*names: str, problem: str = "", **failed: str) -> BenchmarkValues:
    return BenchmarkValues(dict.fromkeys(names, 1.0), 1.0, failed, problem)


def test_what_head_no_longer_reports_is_broken_although_the_tool_of_base_ends_with_status_1_too() -> None:
    tried = try_tool(base=give("one", "two", problem=STATUS), head=give("one", problem=STATUS))
    assert tried.broken == (
        "two worked before, and gives no result in head, where bench ended with status 1",
    )


def test_a_tool_that_ends_with_status_1_in_both_and_reports_the_same_is_not_broken() -> None:
    tried = try_tool(base=give("one", problem=STATUS), head=give("one", problem=STATUS))
    assert tried.broken == ()


def test_what_a_tool_leaves_out_with_status_0_is_named_as_one_that_head_does_not_have() -> None:
    tried = try_tool(base=give("one", "two"), head=give("one"))
    assert tried.broken == ()
    assert tried.notes == ("two is not compared: head does not have it",)


def test_a_new_benchmark_that_fails_in_head_is_told() -> None:
    tried = try_tool(base=give("one"), head=give("one", new="failed: no such device"))
    assert tried.notes == ("new failed in head: no such device",)
    assert (tried.broken, tried.added) == ((), ())


def test_what_fails_in_head_is_told_where_base_cannot_be_built() -> None:
    tried = try_tool(head=give("one", problem=STATUS, two="failed"))
    assert tried.added == ("one",)
    assert tried.notes == ("two failed in head", "in head bench ended with status 1")


def test_what_fails_in_head_is_told_where_the_tool_fails_in_base() -> None:
    tried = try_tool(base=BenchmarkError(STATUS), head=give("one", problem=STATUS, two="failed: why"))
    assert tried.notes == (
        "bench is not compared: in base it ended with status 1",
        "two failed in head: why",
        "in head bench ended with status 1",
    )


def test_what_base_has_and_fails_there_is_not_new() -> None:
    tried = try_tool(base=BenchmarkError(STATUS), head=give("one"))
    assert (tried.added, tried.mended) == ((), ("bench",))


def test_what_base_cannot_execute_is_new() -> None:
    missing = BenchmarkError("ended with status 127", lacks_program=True)
    tried = try_tool(base=missing, head=give("one"))
    assert (tried.added, tried.mended) == (("bench",), ())


def test_a_benchmark_that_one_revision_reports_in_another_unit_is_named_with_it() -> None:
    other = BenchmarkValues({"one": 1.0}, 1.0, untimed={"rate": "ops/s"})
    tried = try_tool(base=give("one", "rate"), head=other)
    assert tried.notes == ("rate is not compared: in head it has no time, but ops/s",)
    assert tried.broken == ()
    tried = try_tool(base=other, head=give("one", "rate"))
    assert tried.notes == ("rate is not compared: in base it has no time, but ops/s",)
    assert tried.added == ()
