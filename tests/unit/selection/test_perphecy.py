from __future__ import annotations

from made.selection.selection_records import make_case

from datamill.selection.predictors.perphecy import Threshold, fit_perphecy

UNCHANGED = (
    make_case(1, False, a=1, b=9),
    make_case(2, False, a=5, b=2),
    make_case(3, False, a=7, b=0),
    make_case(4, False, a=0, b=0),
)


def test_algorithm_1_chooses_what_it_does_by_hand():
    """Prices by hand: h1 a>=6 runs 3, price 1 (b>=1: 1, 2); h2 a>=8: 0; h3 b>=9: 1; h4 b>=3: 1; h5 b>=10: 0.

    The dearest, first in order, is h1: a>=6 also covers h2. Then h3: b>=9 also covers h5. Then h4.
    """
    hits = (
        make_case(5, True, a=6, b=1),
        make_case(6, True, a=8, b=0),
        make_case(7, True, a=0, b=9),
        make_case(8, True, a=2, b=3),
        make_case(9, True, a=3, b=10),
    )
    model = fit_perphecy([*UNCHANGED, *hits])
    assert model.thresholds == (Threshold("a", 6, 1), Threshold("b", 9, 1), Threshold("b", 3, 1))
    assert all(model.decides(hit) for hit in hits)
    assert [model.decides(case) for case in UNCHANGED] == [True, False, True, False]
    assert model.fired(hits[4]) == (Threshold("b", 3, 1),)


def test_it_ends_where_only_hits_without_a_price_are_left():
    hits = (make_case(5, True, a=8, b=0), make_case(6, True, a=3, b=10))
    model = fit_perphecy([*UNCHANGED, *hits])
    assert model.thresholds == (Threshold("a", 8, 0), Threshold("b", 10, 0))
    assert not any(model.decides(case) for case in UNCHANGED)


def test_a_history_without_a_change_skips_everything_and_says_so():
    model = fit_perphecy(UNCHANGED)
    assert not model.decides(make_case(9, None, a=1000, b=1000))
    assert model.warnings == ("the history has no change: every benchmark will be skipped",)


def test_a_change_that_moves_no_indicator_makes_it_run_everything_and_says_so():
    model = fit_perphecy([*UNCHANGED, make_case(5, True, a=0, b=0)])
    assert all(model.decides(case) for case in UNCHANGED)
    assert "runs every benchmark" in model.warnings[0]


def test_cases_that_nobody_measured_teach_nothing():
    measured = [*UNCHANGED, make_case(5, True, a=6, b=1)]
    assert fit_perphecy([*measured, make_case(6, None, a=0, b=0)]) == fit_perphecy(measured)
