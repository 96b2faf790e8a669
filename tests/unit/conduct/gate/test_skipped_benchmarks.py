"""Benchmarks that their tool skips on purpose, or reports as failed."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from datamill.conduct.gate.benchmark_values import BenchmarkError, BenchmarkValues, execute_benchmark
from datamill.execution.command_session import CommandSession
from datamill.experiment.gate.gate import Benchmark
from datamill.protocol.commands import CommandRequest

BENCHMARK = Benchmark("bench", "./bench", tool="google-benchmark")
SKIPPED = {"name": "odd", "skipped": True, "skip_message": "no such device"}
FAILED = {"name": "odd", "error_occurred": True, "error_message": "no such device"}
GOOD = {"name": "one", "real_time": 3.0}


def execute(folder: Path, *entries: Mapping[str, object]) -> BenchmarkValues:
    def measure(request: CommandRequest) -> SimpleNamespace:
        benchmarks = [{"run_type": "iteration", "time_unit": "ns", **entry} for entry in entries]
        assert request.output_file is not None
        Path(request.output_file).write_text(json.dumps({"context": {}, "benchmarks": benchmarks}))
        run = SimpleNamespace(wall_time_ns=1_000_000, signal=None, exit_code=0)
        return SimpleNamespace(run=run, failure=None, stderr_tail="")

    session = cast("CommandSession", SimpleNamespace(measure=measure))
    return execute_benchmark(session, BENCHMARK, folder, folder, {})


def test_what_is_skipped_on_purpose_has_no_value_and_is_no_failure(tmp_path: Path) -> None:
    found = execute(tmp_path, GOOD, SKIPPED)
    assert set(found.by_name) == {"one"}
    assert found.failed == {}


def test_what_fails_is_a_failure(tmp_path: Path) -> None:
    assert execute(tmp_path, GOOD, FAILED).failed == {"odd": "failed: no such device"}


def test_a_tool_that_skips_all_on_purpose_has_not_failed(tmp_path: Path) -> None:
    found = execute(tmp_path, SKIPPED)
    assert (found.by_name, found.failed) == ({}, {})


def test_a_tool_of_which_all_fails_gives_no_value(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="no such device"):
        execute(tmp_path, FAILED)


def test_a_reason_as_long_as_a_report_is_cut(tmp_path: Path) -> None:
    long = {**FAILED, "error_message": "it is\nwrong " * 500}
    (reason,) = execute(tmp_path, GOOD, long).failed.values()
    assert reason.startswith("failed: it is wrong it is wrong")
    assert reason.endswith(" …")
    assert len(reason) <= 400
