"""Predictions as a page of the coordinator shows them."""

from itertools import pairwise

from unit.report.platforms.platform_answers import EMPTY, FAR, FAST, NOTES, PREDICTION, SLOW, make_prediction

from datamill.report.platforms.page_words import phrase_page
from datamill.report.platforms.values import PlatformNotes


def test_machines_stand_in_the_order_of_their_values_whether_predicted_or_measured() -> None:
    shown = phrase_page(PREDICTION, NOTES)
    assert [(item.machine, item.measured) for item in shown.machines] == [
        ("fast", False), ("slow", False), ("mid", True), ("old", True),
    ]  # fmt: skip
    assert all(first.middle < second.middle for first, second in pairwise(shown.machines))
    first, last = shown.machines[0], shown.machines[-1]
    assert first.low < first.middle < first.high
    assert (first.low, last.low, last.middle, last.high) == (2.0, 98.0, 98.0, 98.0)
    assert (first.interval, last.interval) == ("18.0 to 23.0", "")
    assert shown.axis == "a logarithmic axis from 18 to 120 s"


def test_refusals_carriers_and_warnings_are_said_and_refused_values_are_not() -> None:
    shown = phrase_page(PREDICTION, NOTES)
    assert any("far" in sentence and "distance 9" in sentence for sentence in shown.refusals)
    assert not any(item.machine in ("far", "empty") for item in shown.machines)
    assert shown.warnings == ("2 values of 120 are missing", "the sky is falling")
    assert any(sentence.startswith("Carried by the benchmarks mcf (75%)") for sentence in shown.basis)


def test_of_scores_the_largest_is_first() -> None:
    shown = phrase_page(make_prediction(FAST, SLOW, kind="score"), NOTES)
    assert [item.machine for item in shown.machines] == ["old", "mid", "slow", "fast"]
    assert shown.head == "score"


def test_nothing_to_show_is_no_picture() -> None:
    shown = phrase_page(make_prediction(FAR, EMPTY), PlatformNotes((), 20, 2, ()))
    assert (shown.machines, shown.axis) == ((), "")
    assert shown.refusals
