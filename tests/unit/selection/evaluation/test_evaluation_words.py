"""What an evaluation says of sizes, directions and probabilities."""

from __future__ import annotations

from dataclasses import replace

from made.selection import selection_answers

from datamill.report.selection.evaluation_statement import state_evaluation, summarize_evaluation
from datamill.report.selection.prediction_statement import state_prediction
from datamill.report.tables.text import render_text
from datamill.selection.evaluation.rates import bound_rate
from datamill.selection.evaluation.sizes import SizeCoverage


def test_an_evaluation_says_how_often_sizes_held_by_how_much_was_known() -> None:
    found = selection_answers.evaluate()
    assert (
        "Sizes: given for 10 of 12 changes, of which 9 lay within the 90% interval, 90% (55% to 99.7%); all "
        "changes of a version did in 4 of 5 versions, 80% (28% to 99.5%)." in summarize_evaluation(found)
    )
    lines = render_text(state_evaluation(found)).splitlines()
    (row,) = [line for line in lines if line.startswith("0 or more")]
    assert " ".join(row.split()) == "0 or more 12 10 90% (55% to 99.7%) 80% (28% to 99.5%)"


def test_an_evaluation_says_where_no_size_could_be_given() -> None:
    none = SizeCoverage(0, 0, bound_rate(0, 6), bound_rate(0, 0), bound_rate(0, 0))
    found = selection_answers.evaluate()
    untold = replace(found, sizes=replace(found.sizes, every=none, by_history=(none,)))
    assert "Sizes: given for none of 6 changes." in summarize_evaluation(untold)


def test_an_evaluation_says_how_frequent_changes_of_each_probability_were() -> None:
    lines = render_text(state_evaluation(selection_answers.evaluate())).splitlines()
    rows = [" ".join(line.split()) for line in lines if line.startswith(("5.0% to 20%", "80% to 100%"))]
    assert rows == ["5.0% to 20% 0 - -", "80% to 100% 7 100% 100% (59% to 100%)"]


def test_an_evaluation_without_a_case_has_no_tables_of_nothing() -> None:
    found = selection_answers.evaluate()
    empty = [
        replace(item, evaluation=replace(item.evaluation, predictions=()))
        for item in found.evaluations
        if item.evaluation is not None
    ]
    assert empty
    told = render_text(state_evaluation(replace(found, cases=0, evaluations=tuple(empty))))
    assert "hit rate" not in told
    assert "hit rate" in render_text(state_evaluation(found))


def test_changes_of_any_size_are_said_to_be_so() -> None:
    found = replace(selection_answers.evaluate(), rule="mann-whitney", threshold=0.0)
    assert "(Mann-Whitney at 0.05, of any size)" in summarize_evaluation(found)[0]


def test_a_benchmark_that_must_run_has_an_unknown_size_where_no_interval_holds() -> None:
    found = selection_answers.predict()
    (told,) = found.predictions
    assert "2.0% (1.0% to 20%)" in render_text(state_prediction(found))
    untold = replace(found, predictions=(replace(told, magnitude=None),))
    (row,) = [
        line for line in render_text(state_prediction(untold)).splitlines() if line.startswith("bench ")
    ]
    assert (row.count("unknown"), told.direction) == (1, "slower")


def test_names_of_hundreds_of_characters_do_not_widen_the_table() -> None:
    found = selection_answers.predict()
    (told,) = found.predictions
    fired = replace(told.indicators[0], functions=("core::ptr::drop_in_place<" + "a" * 300 + ">", "main"))
    text = render_text(state_prediction(replace(found, predictions=(replace(told, indicators=(fired,)),))))
    assert "core::ptr::drop_in_place<" in text
    assert "…, main" in text
    assert max(map(len, text.splitlines())) < 200
