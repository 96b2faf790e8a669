"""Means that a gate tells beside the changes."""

import numpy as np

from datamill.analysis.gate.judge_benchmarks import BASE, HEAD, judge_benchmarks
from datamill.analysis.sequential.rounds import Rounds


def test_the_interval_of_a_mean_time_never_begins_below_zero() -> None:
    slow = np.where(np.arange(15) % 5 == 0, 3.0, 0.1)
    values = np.stack([slow, np.full(15, 0.1)], axis=1)
    rounds = Rounds((BASE, HEAD), tuple(range(15)), values)
    (verdict,) = judge_benchmarks({"a": rounds}, alpha=0.05, limit=0.01, tolerate=0.0)
    assert verdict.base is not None
    assert verdict.base.low == 0.0
    assert verdict.base.high > verdict.base.estimate > 0
