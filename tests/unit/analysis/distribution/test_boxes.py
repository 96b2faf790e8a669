"""Five-number summaries of few values."""

import numpy as np
import pytest

from datamill.analysis.distribution.boxes import summarize_box


@pytest.mark.parametrize("value", [3.3, 100.0, 1e-9, 0.6429501])
@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_values_that_rounding_alone_tells_apart_lie_within_the_whiskers(value: float, steps: int) -> None:
    lower = value - steps * np.spacing(value)
    box = summarize_box(np.array([value, lower]))
    assert (box.low_whisker, box.high_whisker) == (lower, value)
    assert box.beyond == ()


def test_a_value_far_off_lies_beyond_the_whiskers() -> None:
    box = summarize_box(np.array([1.0, 2.0, 3.0, 4.0, 50.0]))
    assert (box.low_whisker, box.high_whisker, box.beyond) == (1.0, 4.0, (50.0,))
