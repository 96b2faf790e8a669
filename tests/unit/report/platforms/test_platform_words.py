import math
from dataclasses import replace
from typing import Any

import pytest
from unit.report.platforms.platform_answers import (
    CHECK,
    CHOICE,
    EMPTY,
    FAR,
    FAST,
    NOTES,
    PREDICTION,
    RANKING,
    SLOW,
    STRANGE,
    SUITE,
    make_prediction,
)

from datamill.platforms.prediction.platform_prediction import HeldOutMachine, Refusal
from datamill.report.figures.figure import Figure
from datamill.report.platforms.choice_statement import phrase_suite, state_choice, state_suite
from datamill.report.platforms.figures.check_figure import draw_check
from datamill.report.platforms.figures.choice_figure import draw_choice
from datamill.report.platforms.figures.prediction_figures import draw_carriers, draw_prediction
from datamill.report.platforms.figures.ranking_figure import draw_ranking
from datamill.report.platforms.fit_statement import phrase_fit, state_fit
from datamill.report.platforms.interval_lines import draw_interval_lines
from datamill.report.platforms.json import (
    spell_choice,
    spell_fit,
    spell_prediction,
    spell_ranking,
    spell_suite,
)
from datamill.report.platforms.page_words import phrase_page
from datamill.report.platforms.prediction_statement import phrase_prediction, state_prediction
from datamill.report.platforms.ranking_statement import phrase_ranking, state_ranking
from datamill.report.platforms.verdict import list_refusals, phrase_verdict
from datamill.report.tables.text import render_text


def test_the_first_sentence_has_the_best_machine_with_its_interval() -> None:
    assert phrase_prediction(PREDICTION, NOTES) == (
        "web would take 20.0 s (90% interval 18.0 to 23.0) on fast, the fastest of 2 machines.",
        "On slow, the slowest of them, it would take 45.0 s (90% interval 40.0 to 51.0).",
        "web can be predicted from this suite on only 2 of 4 machines: a prediction there is "
        "typically off by 7.0%.",
        "2 machines are refused.",
    )


def test_refused_predictions_are_said_to_err_as_often_as_is_expected() -> None:
    risky = [replace(item, refusals=(STRANGE,), risk=risk) for item, risk in ((FAST, 0.1), (SLOW, 0.3))]
    some = phrase_prediction(make_prediction(FAST, *risky), NOTES)[-1]
    assert some == "2 machines are refused; 20% of these predictions are expected to err by more than 25%."
    one = phrase_prediction(make_prediction(FAST, risky[0]), NOTES)[-1]
    assert one == "1 machine is refused; that prediction errs by more than 25% with a probability of 10%."
    every = phrase_prediction(make_prediction(*risky), NOTES)[-1]
    assert every == "20% of these predictions are expected to err by more than 25%."


def test_a_single_machine_is_compared_with_no_other() -> None:
    assert phrase_prediction(make_prediction(FAST), NOTES) == (
        "web would take 20.0 s (90% interval 18.0 to 23.0) on fast.",
        "web can be predicted from this suite: a prediction is typically off by 6.0%.",
    )


def test_the_best_score_is_the_largest() -> None:
    best, worst, _ = phrase_prediction(make_prediction(FAST, SLOW, kind="score"), NOTES)
    assert best == "web would score 45.0 (90% interval 40.0 to 51.0) on slow, the best of 2 machines."
    assert worst.startswith("On fast, the worst of them, it would score 20.0")


def test_an_application_unlike_the_suite_is_refused_in_plain_words() -> None:
    refused = [replace(item, refusals=(STRANGE,)) for item in (FAST, SLOW)]
    expected = (
        "web is not predictable from this suite: no mixture of the benchmarks is near it: 40% off on the "
    )
    assert phrase_prediction(make_prediction(*refused), NOTES)[0].startswith(expected)
    assert phrase_verdict(make_prediction(*refused)).startswith(expected)


def test_reasons_of_single_machines_are_no_reason_about_the_application() -> None:
    (sentence,) = phrase_prediction(make_prediction(FAR), NOTES)
    assert sentence == "web is not predictable from this suite on far."


def test_nothing_to_predict_is_said() -> None:
    nothing = make_prediction()
    assert phrase_prediction(nothing, NOTES) == (phrase_verdict(nothing),)
    assert phrase_verdict(nothing).endswith("on every machine of the scores: nothing is left to predict.")


def test_machines_with_one_reason_share_a_sentence() -> None:
    (sentence,) = list_refusals([FAR, EMPTY], "web")
    assert sentence.startswith("Not predictable from this suite: web on far, empty: the machine is unlike")


def test_many_reasons_are_told_by_their_cause_with_an_example() -> None:
    items = [
        replace(FAR, machine=f"m{at}", refusals=(Refusal("target", f"reason {at}"),)) for at in range(50)
    ]
    (sentence,) = list_refusals([*items, FAR], "web")
    assert sentence == (
        "Not predictable from this suite: web on 51 machines (m0, m1, m2 and 48 more), since they are "
        "unlike the "
        "machines that measured the application. The first: reason 0. .json() has all reasons."
    )


def test_the_statement_has_everything_that_an_estimate_needs() -> None:
    text = render_text(state_prediction(PREDICTION, NOTES))
    for part in (
        "90% interval",
        "Measured (s): mid 60, old 120.",
        "Carried by the benchmarks mcf (75%), gcc (25%).",
        "Expected error: 7.0% for web on the 2 machines that are not refused.",
        "Benchmarks of the suite",
        "Checked on the 3 machines that measured it, each predicted from the others: off by 9.1%",
        "n = 2 machines with the application, of 6 with 20 benchmarks. Method: a method.",
        "Warning: 2 values of 120 are missing.",
        "Warning: the sky is falling.",
    ):
        assert part in text, part
    assert "far " not in text.partition("Not predictable")[0]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (0.06, "web can be predicted from this suite: a prediction is typically off by 6.0%."),
        (0.2, "web can be predicted roughly from this suite: a prediction is typically off by 20%."),
        (0.5, "web can hardly be predicted from this suite: a prediction is typically off by 50%."),
        (float("nan"), "cannot be estimated"),
    ],
)
def test_the_verdict_follows_the_expected_error(error: float, words: str) -> None:
    assert words in phrase_verdict(make_prediction(replace(FAST, expected_error=error)))


def test_the_verdict_is_about_the_machines_that_are_not_refused_and_not_about_the_suite() -> None:
    hard = replace(FAR, expected_error=0.9)
    assert make_prediction(FAST, hard).expected_error == 0.06
    told = phrase_verdict(make_prediction(FAST, hard))
    assert told == (
        "web can be predicted from this suite on only 1 of 2 machines: a prediction there is "
        "typically off by 6.0%."
    )


def test_a_check_that_contradicts_the_intervals_makes_predictions_unreliable() -> None:
    missed = (HeldOutMachine(FAST, 30.0), HeldOutMachine(SLOW, 44.0), HeldOutMachine(SLOW, 52.0))
    told = phrase_verdict(make_prediction(FAST, SLOW, check=missed))
    assert told == (
        "web is not predictable from this suite: of 3 measured machines that could be "
        "predicted from the others, 1 is off by more than 25%."
    )
    near = (HeldOutMachine(FAST, 24.0), *missed[1:])
    assert phrase_verdict(make_prediction(FAST, FAR, check=near)) == (
        "web cannot be predicted reliably from this suite: of 3 measured machines that could be "
        "predicted from the others, only 1 is inside the 90% interval; there is a prediction on "
        "only 1 of 2 machines, typically off by 6.0%."
    )
    # Of ten machines nine are inside intervals of 90%, and of three two are no wonder.
    assert "can be predicted from" in phrase_verdict(make_prediction(FAST, check=missed[1:]))


def test_every_verb_tells_the_same_verdict_and_the_same_number() -> None:
    verdict = phrase_verdict(PREDICTION)
    assert verdict in phrase_fit(PREDICTION)
    assert verdict in phrase_prediction(PREDICTION, NOTES)
    assert verdict in phrase_ranking(RANKING, NOTES)
    assert verdict in phrase_page(PREDICTION, NOTES).lead
    spelled = (
        spell_fit(PREDICTION, NOTES),
        spell_prediction(PREDICTION, NOTES),
        spell_ranking(RANKING, NOTES),
    )
    assert {(found["verdict"], found["expected_error"]) for found in spelled} == {(verdict, 0.07)}


def test_one_reason_is_no_common_one_where_another_machine_has_another() -> None:
    strange = replace(FAST, refusals=(STRANGE,))
    assert "for several reasons" in phrase_verdict(make_prediction(strange, FAR))


def test_a_fit_names_what_carries_it() -> None:
    assert phrase_fit(PREDICTION)[1:] == (
        "Checked on the 3 machines that measured it, each predicted from the others: off by 9.1% (median) "
        "and 9.1% at most, 1 of 1 inside the 90% interval, 2 are refused.",
        "2 machines are refused.",
    )
    assert phrase_fit(replace(PREDICTION, check=CHECK[1:]))[1].endswith("every prediction is refused.")
    text = render_text(state_fit(PREDICTION, NOTES))
    assert "fast" in text
    assert "+11.1%" not in text
    assert "−9.1%" in text
    assert "mcf     75%" in text
    assert "lbm" not in text


def test_a_single_price_makes_no_best_buy() -> None:
    lone = replace(
        RANKING, machines=(RANKING.machines[0], replace(RANKING.machines[1], price=math.nan, value=math.nan))
    )
    told = phrase_ranking(lone, NOTES)
    assert "Of these candidates fast alone has a price: nothing is compared with it." in told
    assert not any("most speed per price" in sentence for sentence in told)


def test_a_ranking_says_how_sure_it_is() -> None:
    told = phrase_ranking(RANKING, NOTES)
    assert told[0].startswith(
        "fast is the fastest of 3 candidates for web with probability 98.0%: 20.0 s (90%"
    )
    assert told[1:] == (
        "1 of 4 candidates is refused, and might be better.",
        phrase_verdict(PREDICTION),
        "fast has the most speed per price.",
        "The suite's mean orders 1 pair of candidates the other way round.",
    )
    text = render_text(state_ranking(RANKING, NOTES))
    assert "The whole order is right with probability 89%" in text
    assert "measured" in text
    assert "slow    mid          1.33          0.90          90%" in text


def test_a_choice_says_what_it_is_worth() -> None:
    text = render_text(state_choice(CHOICE))
    assert text.startswith("Measure on old, fast: predictions")
    assert "typically off by 7.0%" in text.replace("\n", " ")


def test_a_smaller_suite_says_its_loss() -> None:
    assert phrase_suite(SUITE, 0.05) == (
        "2 of 3 benchmarks are enough: they predict each of the others with a median error of 2.0% at most "
        "(stated loss 5%)."
    )
    text = render_text(state_suite(SUITE, 0.05))
    assert "not represented" in text
    assert phrase_suite(replace(SUITE, left_out=()), 0.05).startswith("No benchmark of 2 is redundant")


def test_json_keeps_what_would_have_been_said_of_refused_machines() -> None:
    found = spell_prediction(PREDICTION, NOTES)
    assert [item["machine"] for item in found["predictions"]] == ["slow", "fast", "far", "empty"]
    far = found["predictions"][2]
    assert list(far) == ["machine", "seconds", "low", "high", "refused", "reasons", "risk", "expected_error"]
    assert (far["seconds"], far["refused"]) == (5.0, True)
    assert far["reasons"] == ["the machine is unlike those that measured it: distance 9, theirs 2"]
    assert found["predictions"][1]["reasons"] == []


def test_json_of_scores_calls_them_so() -> None:
    found = spell_prediction(make_prediction(FAST, kind="score"), NOTES)
    assert list(found["predictions"][0]) == [
        "machine",
        "score",
        "low",
        "high",
        "refused",
        "reasons",
        "risk",
        "expected_error",
    ]


def test_json_of_the_others_has_their_records() -> None:
    assert spell_choice(CHOICE)["machines"] == ["old", "fast"]
    assert spell_suite(SUITE, 0.05)["kept"] == ["gcc", "mcf"]
    assert spell_ranking(RANKING, NOTES)["machines"][0]["best"] == 0.98
    assert [item["machine"] for item in spell_fit(PREDICTION, NOTES)["refused"]] == ["far", "empty"]
    assert [item["inside"] for item in spell_fit(PREDICTION, NOTES)["check"]] == [True, True, False]
    assert spell_choice(None) == {}


def read_rows(figure: Figure, part: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of a chart's data, which stand in it or under a name beside it."""
    data = part.get("data", figure.chart.get("data"))
    return data["values"] if "values" in data else figure.chart["datasets"][data["name"]]


def test_every_figure_draws_what_it_says() -> None:
    drawn = draw_prediction(PREDICTION, NOTES)
    assert "Nothing is predicted on 2" in drawn.caption
    values = [row for part in drawn.chart["layer"] for row in read_rows(drawn, part)]
    assert {row["machine"] for row in values} == {"fast", "slow", "old", "mid", "far", "empty"}
    assert not [row for row in values if row["machine"] == "far" and "value" in row]
    means = {"fast": 1.0, "slow": 3.0, "mid": 2.0}
    ranking = draw_ranking(RANKING, NOTES, means)
    ways = [row["way"] for row in read_rows(ranking, ranking.chart["layer"][1])]
    assert ways == ["with the suite's mean"] * 2 + ["against the suite's mean"] * 2
    carriers = draw_carriers(PREDICTION.benchmarks, "benchmarks")
    assert [row["name"] for row in read_rows(carriers, carriers.chart)] == ["mcf", "gcc"]
    check = draw_check(PREDICTION, NOTES)
    points = [
        row
        for part in check.chart["layer"]
        for row in read_rows(check, part)
        if row.get("kind") == "measured"
    ]
    assert points == [
        {"machine": "far (refused)", "kind": "measured", "value": 4.0},
        {"machine": "fast", "kind": "measured", "value": 22.0},
    ]
    choice = draw_choice(CHOICE)
    assert len(read_rows(choice, choice.chart)) == 3


def test_intervals_as_lines_share_one_scale() -> None:
    lines = draw_interval_lines([(1, 10, 100), (10, 31.6, 100)], 21)
    assert lines == ["──────────●──────────", "          ─────●─────"]
    assert draw_interval_lines([(1, 2, 3)], 21) == []
