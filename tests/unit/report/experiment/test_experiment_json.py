"""What an experiment says as JSON: stable keys, and the figures of the page."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

import numpy as np
import pytest
from made.fleet_study import make_fleet_study
from made.nested_study import make_nested_study
from made.page_study import Study, make_study
from made.planted_study import plan_study

from datamill.analysis.answer.experiment_analysis import ExperimentAnalysis, analyze_experiment
from datamill.analysis.answer.response import ResponseAnalysis
from datamill.design.points.plackett_burman import build_folded_plackett_burman
from datamill.experiment.experiment import DesignChoice
from datamill.report.experiment import response_json
from datamill.report.experiment.answer import scale_response
from datamill.report.experiment.experiment_answer import phrase_experiment
from datamill.report.experiment.experiment_page import render_report
from datamill.report.experiment.json import format_experiment_json
from datamill.report.words.scales import choose_scale

Answered = TypeVar("Answered")
KEYS = [
    *("schema", "experiment", "question", "answer", "mattered", "n", "confidence", "method", "warnings"),
    *("design", "trials", "exclusions", "put_aside", "doubts", "responses", "missing", "without_doubtful"),
    *("drift", "uncertainty", "quantiles", "screening", "hypothesis", "screened_first", "decisions"),
]
RESPONSE_KEYS = [
    *("response", "unit", "direction", "n", "units", "confidence", "alpha", "method", "packages"),
    *("comparisons", "best", "changes", "terms", "anova", "checks", "trust", "advice", "machines"),
    *("agreement", "factor_effects", "factor_agreement", "machine_levels", "missing_packages", "warnings"),
]
PAIR_KEYS = [
    *("package", "baseline", "difference", "ratio", "p", "verdict", "df", "combinations", "higher", "lower"),
]


#: A number of a page, whose thousands stand apart; what is below a bound is not printed.
NUMBER = re.compile(
    r"(?<![\w.])(<\s?)?(\d+(?:\u202f\d{3})*(?:\.\d+)?)"
    r"(?:\u202f?×\u202f?10([⁻⁰¹²³⁴-⁹]+)|e(-?\d+))?(?![\w.])"
)
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def once(ask: Callable[[Study], Answered]) -> Callable[[Study], Answered]:
    """Ask once for each study, which is kept with the answer: no other takes its identity."""
    answered: dict[int, tuple[Study, Answered]] = {}

    def answer(study: Study) -> Answered:
        if id(study) not in answered:
            answered[id(study)] = study, ask(study)
        return answered[id(study)][1]

    return answer


@once
def analyze(study: Study) -> ExperimentAnalysis:
    return analyze_experiment(*study[:3])


def read_json(study: Study) -> dict[str, Any]:
    found, trials = analyze(study), study[3]
    content = json.loads(format_experiment_json(found, phrase_experiment(found, trials), trials))
    assert isinstance(content, dict)
    return content


@once
def read_markup(study: Study) -> str:
    page = render_report(analyze(study), phrase_experiment(analyze(study), study[3]), study[3])
    return re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)


def read_page(study: Study) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", read_markup(study))).split())


def list_cells(study: Study) -> list[tuple[str, str]]:
    """Each cell of the page's tables that is no header, with the header of its table's first column."""
    cells = []
    for table in re.findall(r"<table.*?</table>", read_markup(study), flags=re.DOTALL):
        texts = [
            html.unescape(re.sub(r"<[^>]*>", "", cell))
            for cell in re.findall(r"<t[dh][ >].*?</t[dh]>|<t[dh]>.*?</t[dh]>", table, flags=re.DOTALL)
        ]
        of_body = re.findall(r"<td.*?</td>", table, flags=re.DOTALL)
        cells += [(texts[0], html.unescape(re.sub(r"<[^>]*>", "", cell))) for cell in of_body]
    return cells


def list_values(value: Any) -> tuple[set[float], set[str]]:
    """The numbers and the texts of a JSON value, keys among them."""
    if isinstance(value, dict):
        inner = [value_or_key for pair in value.items() for value_or_key in pair]
    elif isinstance(value, list):
        inner = value
    else:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return {abs(float(value))} if is_number else set(), {value} if isinstance(value, str) else set()
    parts = [list_values(item) for item in inner]
    return set().union(*(part[0] for part in parts)), set().union(*(part[1] for part in parts))


def list_scales(study: Study) -> set[float]:
    """What figures of the page are multiplied by: prefixes of units, their squares, and those of memory."""
    found = analyze(study)
    answers = [found.answering, *found.others]
    units = {answer.given.unit for answer in answers if answer} | {a.analysis.unit for a in answers if a}
    prefixes = {scale_response(answer.analysis).factor for answer in answers if answer is not None}
    prefixes |= {choose_scale(unit, size).factor for unit in units for size in (1e-3, 1.0, 1e3)}
    return {1.0, 2.0**-30, *prefixes, *(factor**2 for factor in prefixes)}


def find_strange_figures(study: Study) -> list[tuple[str, str]]:
    """Numbers in tables of the page that round from no number of the JSON and stand in none of its texts."""
    numbers, texts = list_values(read_json(study))
    plain = np.array(list(numbers))
    scaled = np.outer(plain, list(list_scales(study))).ravel()
    shares = np.concatenate([100 * plain, 100 * (plain - 1), scaled])
    strange = []
    for first, cell in list_cells(study):
        for bound, digits, raised, power in NUMBER.findall(cell):
            decimals = len(digits.partition(".")[2])
            unit = 10.0 ** int(raised.translate(RAISED) or power or 0)
            shown = float(digits.replace("\u202f", "")) * unit
            candidates = np.abs(shares if "%" in cell else scaled)
            near = np.abs(candidates - shown) <= 0.5001 * 10.0**-decimals * unit
            known = bool(np.any(candidates < shown)) if bound else bool(np.any(near))
            if not known and not any(digits in text for text in texts):
                strange.append((first, cell))
    return strange


def make_screened_study() -> Study:
    """Six factors in sixteen of their 64 combinations, of which the second one acts."""
    signs = build_folded_plackett_burman(6)
    points = {tuple("low" if sign < 0 else "high" for sign in row) for row in signs.tolist()}
    names = [f"f{at}" for at in range(6)]
    experiment, design, table, trials = plan_study(
        {**dict.fromkeys(names, ("low", "high")), "package": ("a",)},
        lambda rng, point: 10 + (point["f1"] == "high") + 0.1 * rng.standard_normal(),
        replicates=3,
        keep=lambda point, _replicate: tuple(point[name] for name in names) in points,
    )
    ran = set(table["trial_id"])
    kept = tuple(
        replace(trial, point=sorted(points).index(tuple(trial.levels[name] for name in names)))
        for trial in design.trials
        if trial.trial_id in ran
    )
    screening = replace(experiment, design=DesignChoice(kind="screening"))
    return screening, replace(design, kind="screening", construction="folded", trials=kept), table, trials


#: Each is made, analysed and put on a page once, for all tests that ask.
STUDIES: dict[str, Callable[[], Study]] = {
    "two packages": cache(make_study),
    "one package": cache(lambda: make_study(packages=1)),
    "a heavy tail": cache(lambda: make_study(heavy=True, replicates=40)),
    "doubtful trials": cache(lambda: make_study(disturbed=1.5, replicates=6)),
    "lost trials": cache(lambda: make_study(keep=0.6)),
    "nested": cache(lambda: make_nested_study(shape=(6, 3, 4), change=5.0)),
    "unlike machines": cache(lambda: make_fleet_study(1.05, seed=1, replicates=6, noise=0.01)),
    "a screening": cache(make_screened_study),
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


@pytest.mark.parametrize("name", STUDIES)
def test_every_number_in_a_table_of_the_page_rounds_from_a_number_of_the_json(name: str) -> None:
    assert find_strange_figures(STUDIES[name]()) == []


def test_a_number_that_the_json_lacks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    spelled = response_json._spell_packages

    def spell_without_quartiles(analysis: ResponseAnalysis) -> list[dict[str, Any]]:
        return [{name: item[name] for name in ("package", "n", "mean")} for item in spelled(analysis)]

    monkeypatch.setattr(response_json, "_spell_packages", spell_without_quartiles)
    assert "package" in {first for first, _ in find_strange_figures(make_study())}


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
