"""Applications on the same machines, in logarithms, with levels of machines and benchmarks taken off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.platforms.scores.score_matrix import FloatArray, IntArray

#: Added to variances of logarithms that may be 0, such as those of one machine: a millionth, squared.
LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Centred:
    """J applications, each beside a suite of p benchmarks, on n machines of which the first k are trained.

    `levels` (J × n) are mean logarithms of the suite on a machine. `patterns` (J × n × p) is what a benchmark
    departs from them, less its mean over the trained machines: where a machine suits it better or worse than
    those. `times` (J × k) are logarithms of the application less the levels, `mean` (J) their mean; `pattern`
    (J × k) is the application's own pattern, on the trained machines, where it was measured. These three may
    be of one application for all J suites, which then differ in what they have on targets alone.
    """

    levels: FloatArray
    patterns: FloatArray
    times: FloatArray
    mean: FloatArray
    pattern: FloatArray

    @property
    def trained(self) -> int:
        """How many machines measured the application."""
        return int(self.times.shape[1])

    @property
    def seen(self) -> FloatArray:
        """Patterns of the suite on the trained machines (J × k × p), of one suite where all are the same."""
        return self.patterns[: len(self.pattern), : self.trained]

    @property
    def unseen(self) -> FloatArray:
        """Patterns of the suite on the targets (J × m × p)."""
        return self.patterns[:, self.trained :]

    def add_levels(self, departures: FloatArray) -> FloatArray:
        """Logarithms of the times that belong to patterns of the application on the targets (J × m)."""
        return self.levels[:, self.trained :] + self.mean[:, None] + departures


def center_applications(suites: FloatArray, times: FloatArray) -> Centred:
    """Take levels off logarithms of suites (J × n × p, trained machines first) and of times (J × k).

    Times of one application (1 × k) say that all suites are the same on the trained machines.
    """
    trained = times.shape[1]
    levels = suites.mean(axis=2)
    patterns = suites - levels[:, :, None]
    patterns -= patterns[:, :trained].mean(axis=1)[:, None]
    left = times - levels[: len(times), :trained]
    mean = left.mean(axis=1)
    return Centred(levels, patterns, left, mean, left - mean[:, None])


def hold_out_each(logs: FloatArray, chosen: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Take benchmarks for the application in turn.

    Args:
        logs: logarithms of the suite (n × p).
        chosen: the columns to take; all by default.

    Returns:
        Suites without each of them (J × n × (p − 1)), and their own logarithms (J × n).
    """
    count = logs.shape[1]
    columns = np.arange(count) if chosen is None else np.asarray(chosen, dtype=np.intp)
    others = np.array([np.delete(np.arange(count), column) for column in columns], dtype=np.intp)
    return logs[:, others].transpose(1, 0, 2), logs[:, columns].T
