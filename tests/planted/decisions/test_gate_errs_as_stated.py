"""A gate raises false alarms in as few runs as stated, whatever varies; planted slowdowns are found."""

from collections.abc import Callable

import numpy as np
import pytest
from running.nightly import choose_count

from datamill.analysis.gate.judge_benchmarks import BASE, HEAD, BenchmarkVerdict, judge_benchmarks, list_open
from datamill.analysis.gate.power import find_slowdowns
from datamill.analysis.sequential.rounds import Rounds

ALPHA, ROUNDS, BENCHMARKS = 0.05, 60, 5
RUNS = choose_count(40, 1000)
#: One execution of each benchmark in each revision, by build: (rounds, benchmarks, revisions, executions).
Noise = Callable[[np.random.Generator, tuple[int, int, int, int]], np.ndarray]


def list_looks() -> list[int]:
    looks = [6]
    while looks[-1] < ROUNDS:
        looks.append(min(ROUNDS, looks[-1] + max(1, looks[-1] // 10)))
    return looks


def quiet(rng: np.random.Generator, shape: tuple[int, int, int, int]) -> np.ndarray:
    return 1 + 0.01 * rng.standard_normal(shape)


def builds(rng: np.random.Generator, shape: tuple[int, int, int, int]) -> np.ndarray:
    """Each build has a time of its own, far apart compared with its executions."""
    layout = 1 + 0.03 * rng.standard_normal((*shape[:3], 1))
    return layout * (1 + 0.002 * rng.standard_normal(shape))


def unlucky_layouts(rng: np.random.Generator, shape: tuple[int, int, int, int]) -> np.ndarray:
    """One build in five is slower by a tenth."""
    return (1 + 0.1 * (rng.random((*shape[:3], 1)) < 0.2)) * (1 + 0.003 * rng.standard_normal(shape))


def one_slow_machine(rng: np.random.Generator, shape: tuple[int, int, int, int]) -> np.ndarray:
    """A shared runner drifts under all benchmarks alike, and has rare slow executions."""
    drift = 1 + 0.03 * np.abs(np.cumsum(rng.standard_normal((shape[0], 1, 1, 1)), axis=0))
    slow = (rng.random(shape) < 0.03) * rng.exponential(0.5, shape)
    return drift * (1 + 0.01 * rng.standard_normal(shape) + slow)


def run_gate(
    rng: np.random.Generator, noise: Noise, slowdown: float, executions: int
) -> tuple[BenchmarkVerdict, ...]:
    """Look as a gate does: what is settled is measured no more, and keeps its verdict."""
    values = noise(rng, (ROUNDS, BENCHMARKS, 2, executions))
    values[:, 0, 1] *= 1 + slowdown
    means = values.mean(axis=3)
    last = dict.fromkeys(range(BENCHMARKS), 0)
    open_names = {str(number) for number in range(BENCHMARKS)}
    verdicts: tuple[BenchmarkVerdict, ...] = ()
    for n in list_looks():
        for number in range(BENCHMARKS):
            if str(number) in open_names:
                last[number] = n
        verdicts = judge_benchmarks(
            {
                str(number): Rounds(
                    (BASE, HEAD), tuple(range(end)), means[:end, number], executions=executions
                )
                for number, end in last.items()
            },
            alpha=ALPHA,
            limit=0.01,
            tolerate=0.0,
        )
        open_names = set(list_open(verdicts))
        if not open_names:
            break
    return verdicts


@pytest.mark.parametrize("executions", [1, 3][: choose_count(1, 2)])
@pytest.mark.parametrize("noise", [quiet, builds, unlucky_layouts, one_slow_machine])
def test_false_alarms_are_as_rare_as_stated_in_a_whole_run(noise: Noise, executions: int) -> None:
    rng = np.random.default_rng(20)
    told = [run_gate(rng, noise, 0.0, executions) for _ in range(RUNS)]
    wrong = sum(any(item.pair.verdict in ("less", "more") for item in run) for run in told)
    # The chance of more than this, at a rate of alpha exactly, is below one in a thousand.
    assert wrong <= np.ceil(RUNS * ALPHA + 3.2 * np.sqrt(RUNS * ALPHA * (1 - ALPHA))), wrong


@pytest.mark.parametrize(("noise", "slowdown"), [(quiet, 0.03), (builds, 0.05), (one_slow_machine, 0.05)])
def test_a_planted_slowdown_is_found_and_named(noise: Noise, slowdown: float) -> None:
    rng = np.random.default_rng(21)
    told = [run_gate(rng, noise, slowdown, 3) for _ in range(RUNS // 3)]
    alarms = [[item.name for item in run if item.is_alarm] for run in told]
    assert sum("0" in names for names in alarms) >= 0.9 * len(told), alarms


def test_a_slowdown_that_is_tolerated_is_told_and_no_alarm() -> None:
    rng = np.random.default_rng(22)
    values = quiet(rng, (ROUNDS, 1, 2, 3)).mean(axis=3)[:, 0] * np.array([1.0, 1.03])
    rounds = {"only": Rounds((BASE, HEAD), tuple(range(ROUNDS)), values, executions=3)}
    strict, lenient = (
        judge_benchmarks(rounds, alpha=ALPHA, limit=0.01, tolerate=tolerate)[0] for tolerate in (0.0, 0.05)
    )
    assert strict.pair.verdict == lenient.pair.verdict == "more"
    assert strict.is_alarm
    assert not lenient.is_alarm


@pytest.mark.parametrize("noise", [quiet, builds, one_slow_machine])
def test_what_is_detectable_is_found_as_often_as_said(noise: Noise) -> None:
    """Of one slow machine typical values show what rare slow executions hide in the mean."""
    rng = np.random.default_rng(23)
    n, runs, histories = 40, choose_count(100, 2000), choose_count(9, 100)
    told = [find_slowdowns(draw_rounds(rng, noise, n, 0.0), alpha=ALPHA, runs=50) for _ in range(histories)]
    detectable = [item.detectable for item in told if item.detectable is not None]
    assert len(detectable) == histories
    share = float(np.median(detectable))
    found = sum(
        judge_benchmarks({"only": draw_rounds(rng, noise, n, share)}, alpha=ALPHA, limit=0.01, tolerate=0.0)[
            0
        ].is_alarm
        for _ in range(runs)
    )
    assert 0.65 <= found / runs <= 0.95, (share, found / runs)


def test_what_is_tolerated_has_to_be_exceeded_to_be_found() -> None:
    rounds = draw_rounds(np.random.default_rng(24), quiet, 40, 0.0)
    strict, lenient = (find_slowdowns(rounds, alpha=ALPHA, tolerate=tolerate) for tolerate in (0.0, 0.05))
    assert strict.detectable is not None
    assert lenient.detectable == pytest.approx(strict.detectable + 0.05, abs=0.005)
    assert strict.power[0.05] == 1
    assert lenient.power[0.05] < 0.1


def test_few_rounds_are_said_to_find_nothing() -> None:
    few = find_slowdowns(draw_rounds(np.random.default_rng(25), quiet, 6, 0.0), alpha=ALPHA)
    assert few.detectable is None
    assert set(few.power.values()) == {0.0}


def draw_rounds(rng: np.random.Generator, noise: Noise, n: int, slowdown: float) -> Rounds:
    values = noise(rng, (n, 1, 2, 3)).mean(axis=3)[:, 0] * np.array([1.0, 1 + slowdown])
    return Rounds((BASE, HEAD), tuple(range(n)), values, executions=3)
