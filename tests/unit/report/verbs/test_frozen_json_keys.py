"""Keys of JSON that scripts read: none goes and none changes its name unless `schema` says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from faces.json_keys import list_keys
from made.nested_study import make_nested_study
from made.page_study import Study, make_study
from made.planted_study import Point, plan_study

import datamill
from datamill.analysis.answer.experiment_analysis import analyze_experiment
from datamill.analysis.reproduction.reproduce import ExecutedExperiment, judge_reproduction
from datamill.report.experiment.experiment_answer import phrase_experiment
from datamill.report.experiment.json import format_experiment_json
from datamill.verbs.reproduction.reproduce import Reproduce

#: For each verb every key, with the keys that it lies in. A new key is added here; that one goes, or has
#: another name, takes another number in `schema`.
FROZEN = json.loads(Path(__file__).with_name("frozen_json_keys.json").read_text())


def make_table() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    rows = [
        (flag, tool, 5 + 0.4 * at + 0.2 * (tool == "y") + rng.exponential(0.2))
        for at, flag in enumerate(("-O0", "-O2", "-O3"))
        for tool in ("x", "y")
        for _ in range(12)
    ]
    return pl.DataFrame(rows, schema=["flag", "tool", "time"], orient="row")


def make_versions() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    rows = []
    for version in ("old", "new"):
        for build in range(6):
            at_build = 10 + rng.normal() + (version == "new")
            for execution in range(3 + build % 2):
                at_execution = at_build + 0.2 * rng.normal()
                rows += [
                    (version, f"b{build}", execution, measurement, at_execution + 0.1 * rng.normal())
                    for measurement in range(4)
                ]
    return pl.DataFrame(rows, schema=["version", "build", "execution", "measurement", "value"], orient="row")


def make_executions() -> list[ExecutedExperiment]:
    def draw(rng: np.random.Generator, point: Point) -> float:
        return float((0.9 if point["package"] == "b" else 1.0) * (1 + 0.02 * rng.standard_normal()))

    studies = [plan_study({"package": ("a", "b")}, draw, replicates=6, seed=seed) for seed in (1, 2)]
    return [ExecutedExperiment(experiment, design, table) for experiment, design, table, _ in studies]


def make_events() -> pl.DataFrame:
    rng = np.random.default_rng(6)
    events = rng.poisson(0.3, 200)
    return pl.DataFrame({"value": 5 + 0.1 * rng.normal(size=200) + events, "events": events})


def make_calls() -> pl.DataFrame:
    binned = np.arange(400) % 19 == 0
    latency = np.exp(np.random.default_rng(1).normal(3, 0.2, 400)) * np.where(binned, 5, 1)
    return pl.DataFrame({"index": np.arange(400), "latency_ns": latency, "binned": binned})


def write_report_json(study: Study) -> str:
    experiment, design, table, trials = study
    found = analyze_experiment(experiment, design, table)
    return format_experiment_json(found, phrase_experiment(found, trials), trials)


#: Studies that have between them all that a report can say but a screening.
STUDIES: dict[str, Callable[[], Study]] = {
    "two packages": make_study,
    "a heavy tail": lambda: make_study(heavy=True, replicates=40),
    "doubtful trials": lambda: make_study(disturbed=1.5, replicates=6),
    "nested": lambda: make_nested_study(shape=(6, 3, 4), change=5.0),
}
RESULTS: dict[str, Callable[[], Any]] = {
    name: (lambda name=name: getattr(datamill, name)(make_table(), response="time", factors=["flag", "tool"]))
    for name in ("anova", "quantiles", "summary", "variability")
} | {
    "tests": lambda: datamill.tests(make_table(), response="time", factors=["flag"]),
    "variance": lambda: datamill.variance(make_versions()),
    "compare": lambda: datamill.compare(make_versions()),
    "plan": lambda: datamill.plan(make_versions(), half_width="1%", only="old", costs="b=10,w=5,q=1"),
    "variability_windows": lambda: datamill.variability(
        make_events(), response="value", window=20, against="events"
    ),
    "predict": lambda: datamill.predict(make_table(), at={"flag": "-O2"}, response="time", factors=["flag"]),
    "predict_between": lambda: datamill.predict(
        make_table().with_columns(size=pl.int_range(pl.len()) % 3),
        at={"size": "0.5"},
        response="time",
        factors=["tool", "size"],
    ),
    "hardware": lambda: datamill.hardware(
        make_table().with_columns(host=pl.col("flag") + (pl.int_range(pl.len()) % 2).cast(pl.String)),
        response="time",
        factors=["tool"],
        dimension="flag",
        machine="host",
    ),
    "by": lambda: datamill.summary(make_table(), response="time", factors=["flag"], by="tool"),
    "reproduce": lambda: Reproduce(judge_reproduction(*make_executions())),
    "false_alarms": lambda: datamill.false_alarms(make_versions(), only="old"),
    "analyze_allocations": lambda: datamill.analyze_allocations(make_calls(), quantiles=[0.25, 0.5, 0.75]),
}

#: A suite on nine machines, the last of which is strange, and an application on five of them.
_RANDOM = np.random.default_rng(7)
_LEVELS = np.exp(_RANDOM.normal(size=(9, 1)) / 5 + _RANDOM.normal(size=(9, 12)) / 12 + 2)
_LEVELS[8] *= np.exp(_RANDOM.normal(size=12))
SCORES = pl.DataFrame(
    [(f"m{row}", f"b{column}", _LEVELS[row, column]) for row in range(9) for column in range(12)],
    schema=["machine", "benchmark", "seconds"],
    orient="row",
)
TIMES = {"machine": ["m0", "m1", "m2", "m3", "m4"], "seconds": (3 * _LEVELS[:5, 0] ** 0.9).tolist()}
RESULTS |= {
    "predict_platforms": lambda: datamill.predict_platforms(SCORES, TIMES),
    "fit_platforms": lambda: datamill.fit_platforms(SCORES, TIMES, limit=0.2),
    "evaluate_platforms": lambda: datamill.evaluate_platforms(
        SCORES, strategy=["geometric-mean", "clusters"], sizes=[4], limits=[2], draws=3
    ),
    "choose_machines": lambda: datamill.choose_machines(SCORES, 3, shrink=True, loss=0.3),
    "rank_machines": lambda: datamill.rank_machines(SCORES, TIMES, prices={"m0": 3, "m5": 9}),
}


def test_every_entry_is_of_a_result_that_is_made_here() -> None:
    assert set(FROZEN) == {*RESULTS, "report"}


@pytest.mark.parametrize("verb", RESULTS)
def test_keys_of_json_are_those_that_scripts_know(verb: str) -> None:
    content = json.loads(RESULTS[verb]().json())
    assert content["schema"] == FROZEN[verb]["schema"]
    assert sorted(list_keys(content)) == FROZEN[verb]["keys"]


def test_keys_of_a_report_are_those_that_scripts_know() -> None:
    contents = [json.loads(write_report_json(make())) for make in STUDIES.values()]
    assert {content["schema"] for content in contents} == {FROZEN["report"]["schema"]}
    assert sorted(set().union(*(list_keys(content) for content in contents))) == FROZEN["report"]["keys"]
