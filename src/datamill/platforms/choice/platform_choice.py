"""Machines that are worth measuring on, and benchmarks that others stand for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChosenMachine:
    """One machine of a choice, in its order.

    `left` is the share of the variance of an application's times over all machines (logarithms, relative to
    the suite) that remains once this machine and those before it are measured: from 1 (nothing is known)
    to 0.
    """

    machine: str
    left: float


@dataclass(frozen=True, slots=True)
class MachineChoice:
    """The machines to measure an application on, chosen from the suite's scores alone.

    `expected_error` is the median error that predictions from these machines make for the suite's own
    benchmarks, each taken for the application in turn; `random_error` the same with as many machines drawn
    at random (the median over draws).
    """

    machines: tuple[ChosenMachine, ...]
    expected_error: float
    random_error: float
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RedundantBenchmark:
    """A benchmark that the others predict: with what median and largest error (shares), and which most."""

    benchmark: str
    median_error: float
    largest_error: float
    neighbour: str


@dataclass(frozen=True, slots=True)
class SmallerSuite:
    """A suite with fewer benchmarks, in the order in which they were left out.

    `kept` remain; `left_out` tells for each of the others how well those kept predict it. `badly` names
    benchmarks that the rest of the whole suite predicts badly: applications like these are not represented.
    """

    kept: tuple[str, ...]
    left_out: tuple[RedundantBenchmark, ...]
    badly: tuple[RedundantBenchmark, ...]
    warnings: tuple[str, ...]
