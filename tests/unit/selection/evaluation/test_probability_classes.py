from __future__ import annotations

import pytest
from made.selection.selection_records import make_case

from datamill.selection.evaluation.predictions import PredictedCase
from datamill.selection.evaluation.probability_classes import measure_calibration


def predict(score, changed):
    return PredictedCase(make_case(1, changed), score, True, 0)


def test_each_probability_is_in_one_class_with_the_share_that_changed():
    scores = [0.0, 0.049, 0.05, 0.19, 0.2, 0.5, 0.79, 0.8, 1.0]
    found = measure_calibration([predict(score, score in (0.19, 0.8, 1.0)) for score in scores])
    assert [(item.low, item.high) for item in found] == [
        (0, 0.05),
        (0.05, 0.2),
        (0.2, 0.5),
        (0.5, 0.8),
        (0.8, 1),
    ]
    assert [(item.observed.count, item.observed.n) for item in found] == [
        (0, 2),
        (1, 2),
        (0, 1),
        (0, 2),
        (2, 2),
    ]
    assert [item.mean for item in found] == pytest.approx([0.0245, 0.12, 0.2, 0.645, 0.9])


def test_a_class_without_cases_has_neither_a_mean_nor_a_share():
    (*_, last) = measure_calibration([predict(0.1, True)])
    assert (last.mean, last.observed.n, last.observed.interval) == (None, 0, None)
