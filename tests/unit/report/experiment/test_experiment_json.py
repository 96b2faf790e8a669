"""What an experiment says as JSON: stable keys, and the figures of the page."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from answered_study import write_report
from nested_study import make_nested_study
from page_study import Study, make_study

from datamill.analysis.answer.experiment_analysis import analyze_experiment
from datamill.report.experiment.experiment_answer import phrase_experiment
from datamill.report.experiment.json import format_experiment_json

KEYS = [
    *("schema", "experiment", "question", "answer", "mattered", "n", "confidence", "method", "warnings"),
    *("trials", "responses", "missing", "drift", "uncertainty", "quantiles", "screening", "decisions"),
]
RESPONSE_KEYS = [
    *("response", "unit", "direction", "n", "units", "confidence", "alpha", "method", "packages"),
    *("comparisons", "best", "changes", "terms", "checks", "trust", "advice", "machines", "agreement"),
    *("machine_levels", "missing_packages", "warnings"),
]
PAIR_KEYS = [
    *("package", "baseline", "difference", "ratio", "p", "verdict", "df", "combinations", "higher", "lower"),
]


def read_json(study: Study) -> dict[str, Any]:
    experiment, design, table, trials = study
    found = analyze_experiment(experiment, design, table)
    content = json.loads(format_experiment_json(found, phrase_experiment(found, trials), trials))
    assert isinstance(content, dict)
    return content


def read_page(study: Study) -> str:
    page = re.sub(r"<script.*?</script>|<style.*?</style>", "", write_report(*study).html, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", page)).split())


STUDIES = {
    "two packages": make_study,
    "one package": lambda: make_study(packages=1),
    "a heavy tail": lambda: make_study(heavy=True, replicates=40),
    "doubtful trials": lambda: make_study(disturbed=1.5, replicates=6),
    "lost trials": lambda: make_study(keep=0.6),
    "nested": lambda: make_nested_study(shape=(6, 3, 4), change=5.0),
}


@pytest.mark.parametrize("name", STUDIES)
def test_keys_are_the_same_whatever_was_measured(name: str) -> None:
    content = read_json(STUDIES[name]())
    assert list(content) == KEYS
    for response in content["responses"]:
        assert list(response) == RESPONSE_KEYS
        for pair in (*response["comparisons"], *response["best"]):
            assert list(pair) == PAIR_KEYS


@pytest.mark.parametrize("name", STUDIES)
def test_what_is_said_is_what_the_page_says(name: str) -> None:
    study = STUDIES[name]()
    content, page = read_json(study), read_page(study)
    for sentence in (*content["answer"], *content["mattered"], *content["warnings"]):
        assert " ".join(sentence.split()) in page
    assert content["trials"]["planned"] == study[3].planned


def test_every_figure_of_the_headline_is_that_of_the_comparison() -> None:
    content = read_json(make_study(ratio=4.0))
    (pair,) = content["responses"][0]["comparisons"]
    numbers = [float(text) for text in re.findall(r"\d+\.\d+", content["answer"][0])]
    told = [pair["ratio"]["estimate"], pair["ratio"]["low"], pair["ratio"]["high"]]
    assert numbers == pytest.approx(told, rel=2e-3)
    means = {mean["package"]: mean["mean"] for mean in content["responses"][0]["packages"]}
    assert means["bzip2"]["estimate"] / means["xz"]["estimate"] == pytest.approx(told[0])
    assert pair["difference"]["estimate"] == pytest.approx(
        means["bzip2"]["estimate"] - means["xz"]["estimate"]
    )


def test_nothing_measured_is_no_answer_and_no_response() -> None:
    experiment, design, table, trials = make_study()
    content = read_json((experiment, design, table.head(0), trials))
    assert list(content) == KEYS
    assert content["answer"][0].startswith("There is no answer yet")
    assert content["responses"] == []
    assert content["missing"] == [response.name for response in experiment.responses]


def test_tails_doubts_and_levels_of_repetition_are_there_where_the_page_has_them() -> None:
    assert read_json(STUDIES["a heavy tail"]())["quantiles"]["quantiles"]
    assert read_json(STUDIES["doubtful trials"]())["trials"]["doubtful"] > 0
    versions = read_json(STUDIES["nested"]())["uncertainty"]
    assert [version["version"] for version in versions] == ["old", "new"]
    assert read_json(make_study())["uncertainty"] == []
