"""The verb `evaluate_platforms`: what it takes, goes on from, and says."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from made.suites import make_suite

import datamill
from datamill import InputError
from datamill.platforms.evaluation.evaluation_plan import EvaluationPart
from datamill.verbs.platforms.evaluate import EvaluatedPlatforms


def make_table(machines: int = 8, benchmarks: int = 7) -> pl.DataFrame:
    matrix = make_suite(machines, benchmarks)
    return pl.DataFrame(
        {
            "machine": np.repeat(matrix.machines, benchmarks),
            "benchmark": list(matrix.benchmarks) * machines,
            "seconds": matrix.seconds.ravel(),
        }
    )


SCORES = make_table()


def evaluate(scores: Any = SCORES, **asked: Any) -> EvaluatedPlatforms:
    return datamill.evaluate_platforms(
        scores, **{"strategy": ["geometric-mean", "clusters"], "sizes": [4, 6], **asked}
    )


def find_errors(found: EvaluatedPlatforms) -> list[list[float]]:
    return [errors.nrmse.ravel().tolist() for errors in found.parts]


def test_every_strategy_and_size_has_all_models_of_all_applications() -> None:
    found = evaluate()
    counted = [(item.variant.strategy, item.size, item.models) for item in found.evaluation.errors]
    assert counted == [
        ("geometric-mean", 4, 490),
        ("geometric-mean", 6, 196),
        ("clusters", 4, 490),
        ("clusters", 6, 196),
    ]


def test_the_usual_question_is_that_of_the_thesis() -> None:
    found = datamill.evaluate_platforms(make_table(machines=5), draws=3)
    plan = found.evaluation.plan
    assert [variant.strategy for variant in plan.variants] == [
        "geometric-mean",
        "clusters",
        "mallows-cp",
        "adjusted-r2",
    ]
    assert (plan.sizes, found.evaluation.at) == ((3, 4), 4)


def test_limits_make_variants_of_strategies_that_choose_predictors() -> None:
    found = evaluate(limits=[1, 2])
    labels = [variant.label for variant in found.evaluation.plan.variants]
    assert labels == ["geometric-mean", "clusters", "clusters ≤ 1", "clusters ≤ 2"]


def test_only_machines_of_the_pool_take_part() -> None:
    pool = ["m6", "m1", "m3", "m0", "m7"]
    found = evaluate(pool=pool, sizes=[4])
    assert found.evaluation.plan.machines == tuple(pool)
    assert {name for worst in found.evaluation.worst for name, _ in worst.machines} <= set(pool)


def test_scores_say_what_seconds_say() -> None:
    scores = SCORES.select("machine", "benchmark", score=pl.lit(1000.0) / pl.col("seconds"))
    for before, after in zip(find_errors(evaluate()), find_errors(evaluate(scores)), strict=True):
        assert after == pytest.approx(before, rel=1e-6)


def test_a_benchmark_with_gaps_is_left_out_and_named() -> None:
    found = evaluate(SCORES.filter((pl.col("machine") != "m2") | (pl.col("benchmark") != "b4")))
    assert "b4" not in found.evaluation.plan.benchmarks
    assert any("b4" in warning for warning in found.warnings)


def test_several_processes_find_what_one_finds() -> None:
    asked: dict[str, Any] = {"strategy": ["clock", "mallows-cp", "adjusted-r2"], "sizes": [5]}
    clocks = pl.DataFrame({"machine": make_suite().machines, "clock_mhz": make_suite().facts["clock_mhz"]})
    one, two = (evaluate(machines=clocks, processes=count, **asked) for count in (1, 2))
    assert find_errors(one) == find_errors(two)


def test_what_a_process_refuses_is_refused_here() -> None:
    # Processes take a second to start.
    with pytest.raises(InputError, match="no clock of any machine"):
        evaluate(strategy=["clock"], processes=2)


class Heard:
    """A listener that keeps what it hears."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int, EvaluationPart]] = []

    def __call__(self, done: int, planned: int, part: EvaluationPart) -> None:
        self.calls.append((done, planned, part))


def test_a_second_start_goes_on_from_finished_parts(tmp_path: Path) -> None:
    first, second = Heard(), Heard()
    whole = evaluate(out=tmp_path / "kept", listener=first)
    assert [done for done, _, _ in first.calls] == [1, 2, 3, 4]
    kept = sorted((tmp_path / "kept").rglob("*.npz"))
    assert len(kept) == 4
    kept[0].unlink()
    # A file that was cut off counts as not there.
    kept[1].write_bytes(kept[1].read_bytes()[:100])
    again = evaluate(out=tmp_path / "kept", listener=second)
    assert [done for done, _, _ in second.calls] == [2, 3, 4]
    assert find_errors(again) == find_errors(whole)
    assert again.json() == whole.json()


def test_a_folder_takes_further_strategies_and_sizes(tmp_path: Path) -> None:
    evaluate(out=tmp_path / "kept", strategy=["clusters"], sizes=[4])
    heard = Heard()
    evaluate(out=tmp_path / "kept", listener=heard)
    assert heard.calls[0][:2] == (1, 4)


@pytest.mark.parametrize(
    "change", [{"seed": 2}, {"draws": 5}, {"pool": ["m0", "m1", "m2", "m3", "m4", "m5", "m6"]}]
)
def test_a_folder_of_another_evaluation_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    evaluate(out=tmp_path / "kept", sizes=[4])
    with pytest.raises(InputError, match="has other") as caught:
        evaluate(out=tmp_path / "kept", sizes=[4], **change)
    assert caught.value.where.endswith("evaluation.json")


def test_a_folder_with_something_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="something else"):
        evaluate(out=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"strategy": ["geometric"]}, 'no strategy "geometric"'),
        ({"strategy": []}, "no strategy is named"),
        ({"sizes": [3, 8]}, "8 of 8 machines"),
        ({"sizes": [1]}, "sizes is 1"),
        ({"at": 5}, "not among the sizes"),
        ({"draws": 0}, "draws is 0"),
        ({"pool": ["m1", "m2", "m3", "m99"]}, 'pool= names "m99"'),
        ({"pool": "m1"}, "1 machine is too few"),
        ({"pool": ["m1", "m2", "m3"], "sizes": []}, "3 machines are too few"),
        ({"strategy": ["geometric-mean"], "limits": [2]}, "no number of predictors"),
        ({"confidence": 95}, "confidence is 95"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_computed(
    asked: dict[str, Any], message: str
) -> None:
    heard = Heard()
    with pytest.raises(InputError) as caught:
        evaluate(listener=heard, **asked)
    assert message in caught.value.message
    assert caught.value.remedy
    assert not heard.calls


def test_scores_without_three_benchmarks_in_common_are_refused() -> None:
    with pytest.raises(InputError, match="2 of 7 benchmarks"):
        evaluate(SCORES.filter((pl.col("machine") != "m2") | pl.col("benchmark").is_in(["b0", "b1"])))


def test_the_text_has_the_answer_its_interval_and_what_the_error_is_relative_to() -> None:
    text = " ".join(str(evaluate()).split())
    assert text.startswith("From 6 of 8 machines, ")
    assert "95% interval" in text
    assert "mean time of the application on all 8 machines" in text
    assert "all sets of machines of each size" in text
    assert "7 applications are few" in text


def test_drawn_sets_are_said_to_be_drawn() -> None:
    text = " ".join(str(evaluate(draws=20)).split())
    assert "20 sets of machines where there are more (4, 6 machines), drawn with seed 1" in text


def test_json_has_every_error_with_its_interval_and_no_bare_infinity() -> None:
    found = json.loads(evaluate().json())
    assert found["schema"] == 1
    assert found["sizes"][0] == {"size": 4, "sets": 70, "all": True}
    first = found["errors"][0]
    nrmse = first["nrmse"]
    assert set(nrmse) == {"median", "p75", "p95", "worst", "mean", "lower_quartile", "whiskers"}
    assert nrmse["median"]["low"] <= nrmse["median"]["estimate"] <= nrmse["median"]["high"]
    by_model = nrmse["mean"]["by_model"]
    assert nrmse["mean"]["low"] < by_model["low"] < by_model["high"] < nrmse["mean"]["high"]
    assert found["worst_decile"][0]["models"] == 20
    assert found["thresholds"][0]["thresholds"][0]["share"]["estimate"] == 1.0


def test_every_figure_is_drawn_from_finite_numbers() -> None:
    found = evaluate(limits=[1, 2])
    figures = found.figures()
    assert [figure.name for figure in figures] == [
        "errors-by-size",
        "mean-error-by-size",
        "thresholds",
        "errors-by-limit",
        "benchmark-tree",
        "benchmarks-by-suite-mean",
        "models-of-one-predictor",
    ]
    for figure in figures:
        assert "NaN" not in json.dumps(figure.chart)
        assert all(math.isfinite(value) for value in _list_numbers(figure.chart))


def _list_numbers(chart: Any) -> list[float]:
    if isinstance(chart, dict):
        return [value for item in chart.values() for value in _list_numbers(item)]
    if isinstance(chart, list):
        return [value for item in chart for value in _list_numbers(item)]
    return [chart] if isinstance(chart, float) else []


def test_the_tree_has_a_name_for_each_benchmark_and_a_line_for_each_join() -> None:
    found = evaluate()
    chart = found.figure("tree").chart
    lines, leaves = (chart["datasets"][layer["data"]["name"]] for layer in chart["layer"])
    assert sorted(leaf["name"] for leaf in leaves) == [f"b{place}" for place in range(7)]
    assert len(lines) == 3 * 6
    assert max(line["x2"] for line in lines) == pytest.approx(found.evaluation.tree.heights[-1])


def test_a_strategy_has_one_colour_in_all_figures() -> None:
    found = evaluate(limits=[1, 2])
    colors = []
    for picture in ("errors", "means", "limits"):
        text = json.dumps(found.figure(picture).chart)
        scale = re.search(r'"scale": \{"domain": (\[[^]]*"clusters"[^]]*\]), "range": (\[[^]]*\])', text)
        assert scale is not None
        colors.append(dict(zip(json.loads(scale[1]), json.loads(scale[2]), strict=True))["clusters"])
    assert colors == [colors[0]] * 3


def test_models_of_one_predictor_are_written_as_lines_are() -> None:
    text = json.dumps(evaluate().figure("models").chart, ensure_ascii=False)
    assert re.search(r"s = −?[\d.]+ [+−] [\d.]+ x", text)
    assert not re.search(r" [+−][\d.]+ x", text)


def test_limits_are_not_drawn_where_there_are_none() -> None:
    with pytest.raises(InputError, match="no limits"):
        evaluate().figure("limits")
