"""What an experiment says as JSON: stable keys, and the figures of the page."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
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
from datamill.analysis.distribution.order_statistics import count_needed
from datamill.design.points.plackett_burman import build_folded_plackett_burman
from datamill.experiment.experiment import DesignChoice
from datamill.report.anova.scale import name_square
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
    *(
        "comparisons",
        "best",
        "changes",
        "terms",
        "anova",
        "checks",
        "most_influential",
        "trust",
        "advice",
        "machines",
    ),
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
#: What stands on the page outside of tables.
PROSE = ("p", "li", "figcaption", "h1", "h2", "h3")
#: Sentences of the JSON that state figures: these are to be numbers of the JSON as well.
SENTENCES = {"answer", "mattered", "warnings"}
#: Texts of the JSON that the page has word for word, with the figures in them.
QUOTED = {"method", "words", "advice"}
#: What every report says alike, with numbers that are of no experiment.
CONSTANTS = (
    "within 150% of the box's length",
    "at most 400 steps",
    "at 0.99 of 50 against 150 log-normal observations intervals at 95% hold in 92% by counts, in 42 to 69%",
    "(Kalibera and Tuma 2006, equations 14 to 16)",
    # Rules by which trials are doubtful.
    "more than 3 times the involuntary switches that are usual for like trials (and 20 more)",
    "by 16 MB a second (and 16 MB)",
    "more than 5% of the wall time (and 30 ms)",
    "by 2% of the wall time (and 30 ms)",
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


@dataclass(frozen=True, slots=True)
class Told:
    """A piece of the page with figures: where it stands, its text, and the units that may belong to them."""

    place: str
    text: str
    units: str


def list_told(study: Study) -> list[Told]:
    """Each cell of the page's tables that is no header, each paragraph, point of a list and caption."""
    markup, told = read_markup(study), []
    for table in re.findall(r"<table.*?</table>", markup, flags=re.DOTALL):
        heads = [strip_tags(head) for head in re.findall(r"<th[ >].*?</th>", table, flags=re.DOTALL)]
        told += [
            Told(heads[0] if heads else "", strip_tags(cell), " ".join(heads))
            for cell in re.findall(r"<td.*?</td>", table, flags=re.DOTALL)
        ]
    prose = re.sub(r"<table.*?</table>|<svg.*?</svg>", "", markup, flags=re.DOTALL)
    for name in PROSE:
        for piece in re.findall(rf"<{name}[ >].*?</{name}>", prose, flags=re.DOTALL):
            told.append(Told(name, strip_tags(piece), ""))
    return told


def strip_tags(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", markup)).split(" "))


def list_values(value: Any, key: str = "") -> tuple[set[float], set[str]]:
    """The numbers and the texts of a JSON value, keys among them, but for its sentences."""
    if key in SENTENCES:
        return set(), set()
    if isinstance(value, dict):
        parts = [list_values(item, name) for name, item in value.items()]
        return set().union(*(part[0] for part in parts)), {*value}.union(*(part[1] for part in parts))
    if isinstance(value, list):
        parts = [list_values(item) for item in value]
        return set().union(*(part[0] for part in parts)), set().union(*(part[1] for part in parts))
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return {abs(float(value))} if is_number else set(), {value} if isinstance(value, str) else set()


def list_quoted(value: Any, key: str = "") -> set[str]:
    """Texts of a JSON value that stand on the page as they are."""
    if isinstance(value, dict):
        return set().union(*(list_quoted(item, name) for name, item in value.items()))
    if isinstance(value, list):
        return set().union(*(list_quoted(item, key) for item in value))
    return {value} if isinstance(value, str) and value and key in QUOTED else set()


def derive_numbers(content: dict[str, Any]) -> set[float]:
    """What the page counts or divides from numbers of the JSON."""
    trials, responses = content["trials"], content["responses"]
    machines = max((len(item["machines"]) for item in responses), default=0)
    shared = {1 - (1 - content["confidence"]) / machines} if machines else set()
    screened = len((content["screening"] or {"effects": ()})["effects"])
    interactions = {screened * (screened - 1) / 2}
    # A picture shows a screening's trials at both levels of a factor.
    halves = {item["n"] / 2 for item in responses if screened}
    needed = {
        float(count_needed(fit["quantile"], content["confidence"]))
        for fit in (content["quantiles"] or {"quantiles": ()})["quantiles"]
    }
    return {*shared, *interactions, *halves, *needed, float(trials["planned"] - trials["not_run"])}


def list_scales(study: Study) -> dict[str, float]:
    """What figures of the page are multiplied by, for each unit that they may have."""
    found = analyze(study)
    answers = [answer for answer in (found.answering, *found.others) if answer is not None]
    units = {answer.given.unit for answer in answers} | {answer.analysis.unit for answer in answers}
    scales = [choose_scale(unit, 10.0**power) for unit in units for power in range(-12, 13, 3)]
    scales += [scale_response(answer.analysis) for answer in answers]
    return {"GiB": 2.0**-30, **{scale.unit: scale.factor for scale in scales if scale.unit}}


def choose_scales(told: Told, scales: dict[str, float]) -> set[float]:
    """One, and the scale of each unit in the text or in the table's head, squares among them."""
    factors = {1.0}
    for unit, factor in scales.items():
        if re.search(rf"(?<!\w){re.escape(unit)}(?![\w²])", f"{told.units} {told.text}"):
            factors.add(factor)
        if name_square(unit) in told.units:
            factors.add(factor**2)
    return factors


def find_strange_figures(study: Study) -> list[tuple[str, str, str]]:
    """Figures of the page that round from no number of the JSON and stand in none of its names."""
    content = read_json(study)
    numbers, texts = list_values(content)
    numbers |= derive_numbers(content)
    quoted = sorted(list_quoted(content), key=len, reverse=True)
    plain, scales = np.array(list(numbers)), list_scales(study)
    named = {number for text in texts for number in re.findall(r"\d+(?:\.\d+)?", text)}
    shares = np.abs(np.concatenate([100 * plain, 100 * (plain - 1), plain]))
    strange = []
    for told in list_told(study):
        text = told.text
        # A text that begins a sentence has another first letter there.
        for known in (*CONSTANTS, *(text[1:] for text in quoted)):
            text = text.replace(known, "")
        scaled = np.outer(plain, list(choose_scales(told, scales))).ravel()
        if " times" in text:
            scaled = np.concatenate([scaled, 1 / plain[plain > 1e-9]])
        if "change" in text:
            # Coefficients of a factor with two levels are half the change between these.
            scaled = np.concatenate([scaled, 2 * scaled])
        for found in NUMBER.finditer(text):
            bound, digits, raised, power = found.groups()
            decimals = len(digits.partition(".")[2])
            unit = 10.0 ** int((raised or "").translate(RAISED) or power or 0)
            shown = float(digits.replace("\u202f", "")) * unit
            after = text[found.end() :]
            # "% of its machine's mean" is a unit: no share of anything in the JSON.
            is_share = after.startswith("%") and not any(after.startswith(unit) for unit in scales)
            candidates = shares if is_share else scaled
            if "%" in text and candidates is scaled:
                # Of an interval in percent the last end alone has the sign.
                candidates = np.concatenate([scaled, shares])
            # A bound is rounded up, so that it still holds.
            reach = 1.0001 if "at most" in text else 0.5001
            near = np.abs(candidates - shown) <= reach * 10.0**-decimals * unit
            known = bool(np.any(candidates < shown)) if bound else bool(np.any(near))
            if not known and digits not in named:
                strange.append((told.place, digits, told.text))
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
def test_every_number_of_the_page_rounds_from_a_number_of_the_json(name: str) -> None:
    assert find_strange_figures(STUDIES[name]()) == []


def test_a_number_that_the_json_lacks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    spelled = response_json._spell_packages

    def spell_without_quartiles(analysis: ResponseAnalysis) -> list[dict[str, Any]]:
        return [{name: item[name] for name in ("package", "n", "mean")} for item in spelled(analysis)]

    monkeypatch.setattr(response_json, "_spell_packages", spell_without_quartiles)
    assert "package" in {place for place, *_ in find_strange_figures(make_study())}


def test_a_number_of_a_sentence_that_the_json_lacks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    spelled = response_json.spell_analysis

    def spell_without_means(analysis: ResponseAnalysis) -> dict[str, Any]:
        return {**spelled(analysis), "most_influential": None, "comparisons": [], "best": []}

    monkeypatch.setattr(response_json, "spell_analysis", spell_without_means)
    found = find_strange_figures(make_study(ratio=4.0))
    assert any("Cook's distance" in text for _, _, text in found)
    assert "li" in {place for place, *_ in found}


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
