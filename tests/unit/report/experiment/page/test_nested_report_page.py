"""What the report page of a nested bundle says of its n, its error term and its uncertainty."""

import polars as pl
from made.answered_study import write_report
from made.nested_study import make_nested_study


def test_n_counts_builds_and_the_method_says_what_the_error_term_is() -> None:
    page = write_report(*make_nested_study(shape=(6, 3, 4), change=5.0))
    answer = "\n".join(page.answer.lines())
    assert "n = 6 builds of 3 executions." in answer
    assert "error term: variation between builds" in page.answer.method
    assert "not covered by these intervals" not in answer
    assert "were averaged" not in answer
    assert "6 builds × 3 executions" in page.html
    assert "of all builds, each the mean of its executions" in page.html


def test_the_page_says_where_the_uncertainty_comes_from() -> None:
    html = write_report(*make_nested_study(shape=(12, 3, 4), spreads=(3.0, 0.3, 0.3))).html
    assert "Where the uncertainty comes from" in html
    assert "of the uncertainty is between builds" in html
    assert "more executions or measurements will not help" in html


def test_builds_at_several_design_points_are_counted_once() -> None:
    page = write_report(*make_nested_study(shape=(6, 3, 2), aslr=("on", "off")))
    answer = "\n".join(page.answer.lines())
    assert "n = 6 builds of 3 executions at each of 2 design points." in answer
    assert "variance between builds, each over all of its design points" in page.answer.method


def test_one_build_is_said_to_be_all_that_the_intervals_cover() -> None:
    page = write_report(*make_nested_study(shape=(1, 6, 2)))
    answer = "\n".join(page.answer.lines())
    assert "n = 6 executions of one build." in answer
    assert "variation between builds is not covered by these intervals" in answer
    assert "error term: variation between executions of one build" in page.answer.method


def test_builds_of_one_execution_are_builds() -> None:
    page = write_report(*make_nested_study(shape=(8, 1, 1)))
    assert "n = 8 builds." in "\n".join(page.answer.lines())
    assert "Where the uncertainty comes from" not in page.html


def test_quantiles_on_the_page_are_of_builds() -> None:
    experiment, design, table, trials = make_nested_study(shape=(20, 2, 1), aslr=("on", "off"))
    heavy = table.with_columns(
        value=pl.when(pl.col("build") % 7 == 0).then(pl.col("value") * 3).otherwise(pl.col("value"))
    )
    html = write_report(experiment, design, heavy, trials).html
    assert "Beyond the mean" in html
    assert "asks about the build at one place in the order" in html
