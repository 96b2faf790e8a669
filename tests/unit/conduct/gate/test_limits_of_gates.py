"""What a gate says when it had too little time."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from datamill.conduct.gate.gate_run import GateRun, Measured
from datamill.conduct.gate.limits import list_limits
from datamill.conduct.gate.shorter_executions import SHORTENING, list_lacking_options
from datamill.experiment.gate.gate import Benchmark, Gate

GUIDE = Path(__file__).parents[4] / "docs" / "howto" / "gate.md"
SUITE = Benchmark("suite", "python bench.py", tool="pyperf")
PROGRAM = Benchmark("program", "./prog")


def list_told(benchmark: Benchmark, execution_s: float, *, sweeps: int, elapsed_s: float) -> list[str]:
    measured = [Measured(benchmark, execution_s, 1, ("alpha", "beta", "gamma"))]
    run = SimpleNamespace(measured=measured, interrupted=False, sweeps=sweeps, elapsed_s=elapsed_s)
    gate = Gate((benchmark,), within_s=60.0)
    return list_limits(gate, cast("GateRun", run), varies=False)


def test_a_tool_that_repeats_for_long_is_asked_to_do_less() -> None:
    few, overrun = list_told(SUITE, 39.0, sweeps=2, elapsed_s=155.0)
    assert few == (
        "2 executions of each are too few to tell base and head apart, however much they differ: that takes "
        "10, about 12 min 55 s in all: allow that or more with datamill gate --within, or have pyperf do "
        "less within an execution of suite, which takes 39 s (with -p 1 -n 5 -w 1 --min-time 0.02)"
    )
    assert overrun.startswith("it took 1 min 35 s more than the 1 min allowed")


def test_a_program_that_takes_long_is_not_asked_to_do_less() -> None:
    few, _ = list_told(PROGRAM, 39.0, sweeps=2, elapsed_s=155.0)
    assert few.endswith("allow that or more with datamill gate --within")


def test_options_that_a_tool_has_already_are_not_named() -> None:
    def advise(tool: str, command: str) -> str:
        few, *_ = list_told(Benchmark("suite", command, tool=tool), 39.0, sweeps=2, elapsed_s=155.0)
        return few.partition("which takes 39 s")[2]

    bench = "cargo bench --bench b -- --measurement-time 1 --warm-up-time=1"
    assert advise("criterion", bench) == " (with --noplot --nresamples 1000)"
    assert advise("criterion", f"{bench} --noplot --nresamples 2000") == ""
    assert advise("jmh", "java -jar b.jar -wi 9 -i 9") == " (with -f 1 -w 300ms -r 100ms)"
    assert advise("asv", "asv run -a repeat=9") == " (with -a rounds=1 -a sample_time=0.02)"
    assert advise("airspeed", "airspeed run") == ""


def test_the_guide_has_the_options_that_are_advised() -> None:
    commands = dict(re.findall(r"^\| `([\w-]+)` \| `([^`]+)`", GUIDE.read_text(), flags=re.MULTILINE))
    for tool, options in SHORTENING.items():
        words = commands[tool].split()
        for option in options:
            assert set(option.split()) <= set(words), f"{tool}: {option}"
        assert list_lacking_options(Benchmark(tool, commands[tool], tool=tool)) == []


def test_enough_rounds_within_the_time_have_nothing_to_be_told() -> None:
    assert list_told(SUITE, 3.0, sweeps=10, elapsed_s=59.0) == []
