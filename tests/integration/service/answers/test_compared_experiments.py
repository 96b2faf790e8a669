"""Results of several experiments side by side are what `datamill compare` says of their bundles."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from integration.service.answers.measured_versions import MeasuredVersions, open_as
from integration.service.api_users import TEXT, ApiUser, describe_file, make_package, store

import datamill
from datamill.service.answers.compared import comparing
from datamill.service.answers.compared.offers import find_common_ground
from datamill.service.bounded_work.turns import BusyError
from datamill.service.models import FleetExperiment, Trial

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")
AT = {"package": "p1", "machine": "fast"}


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """Numbers of experiments begin anew in each test."""
    comparing._kept.clear()


def read(answer: Any) -> str:
    return html.unescape(answer.content.decode())


def test_the_api_says_what_the_command_says_of_the_bundles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = MeasuredVersions(1.0, 1.0, 1.2)
    names = fleet.take_home(tmp_path)
    monkeypatch.chdir(tmp_path)
    expected = datamill.compare(*names, where=AT, series=True)
    status, told = fleet.ada.get("/compare", experiment=fleet.numbers, series="true")
    assert status == 200, told
    own = {key: told.pop(key) for key in ("experiments", "where", "choices", "worse", "text")}
    assert told == json.loads(expected.json())
    assert own["where"] == AT
    assert own["choices"] == {"package": ["p1", "p2"], "machine": ["fast", "slow"]}
    assert own["text"] == expected.show()
    assert own["experiments"] == [
        {"experiment": number, "bundle": name, "versions": [name]}
        for number, name in zip(fleet.numbers, names, strict=True)
    ]
    assert [item["version"] for item in told["history"]["changes"]] == [names[2]]


def test_options_of_the_command_are_heeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = MeasuredVersions(1.0, 1.1)
    names = fleet.take_home(tmp_path)
    monkeypatch.chdir(tmp_path)
    at = {"package": "p2", "machine": "slow"}
    given: dict[str, Any] = {"baseline": names[1], "threshold": 0.02, "confidence": 0.9, "direction": "lower"}
    expected = datamill.compare(*names, where=at, response="user_time_s", **given)
    where = [f"{name}={level}" for name, level in at.items()]
    asked = {"experiment": fleet.numbers, "where": where, "response": "user_time_s", "form": "csv", **given}
    status, told = fleet.ada.get("/compare", **asked)
    assert status == 200, told
    assert told["text"] == expected.tables("csv")
    assert told["changes"] == json.loads(expected.json())["changes"]
    assert told["worse"] == list(expected.worse)


def test_the_page_has_the_words_the_figures_and_a_row_for_each_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = MeasuredVersions(1.0, 1.0, 1.2)
    names = fleet.take_home(tmp_path)
    monkeypatch.chdir(tmp_path)
    expected = datamill.compare(*names, where=AT, series=True)
    page = read(open_as(fleet.ada, "/compare", id=fleet.numbers))
    # Without a script the link leads to the same on a page of its own.
    address = html.unescape(page.partition('hx-get="/compare/results?')[2].partition('"')[0])
    assert address
    answer = open_as(fleet.ada, f"/compare/results?{address}", part=True)
    part = read(answer)
    for sentence in (*expected.lead, *expected.warnings):
        assert sentence in part
    assert part.count('<figure class="chart">') == len(expected.figures()) == 2
    for number, change in zip(fleet.numbers, (None, *expected.comparison.changes), strict=True):
        row = part.partition(f"two-loops-{number}</th>")[2].partition("</tr>")[0]
        assert f'href="/experiments/{number}"' in row
        assert ("changed" in row or "cannot tell" in row) is (change is not None)
    assert "style=" not in answer.content.decode()
    assert "datamill compare --experiment" in part
    whole = read(open_as(fleet.ada, f"/compare/results?{address}"))
    assert expected.lead[0] in whole
    assert "The experiment file is the same." in whole
    for number, figure in enumerate(expected.figures()):
        drawn = json.loads(open_as(fleet.ada, f"/compare/figures/{number}.json?{address}").content)
        assert drawn["title"]["text"] == figure.title
        assert ("hconcat" in drawn) is ("hconcat" in figure.chart) is (number == 1)
    assert open_as(fleet.ada, f"/compare/figures/9.svg?{address}").status_code == 404
    drawn_for_programs = fleet.ada.load(f"/compare/figures/0.svg?{_spell(fleet.numbers)}&series=true")
    assert drawn_for_programs.startswith(b"<svg")


def _spell(numbers: list[int]) -> str:
    return "&".join(f"experiment={number}" for number in numbers)


def test_the_form_chooses_package_level_and_what_each_is_compared_with() -> None:
    fleet = MeasuredVersions(1.0, 1.1)
    page = read(open_as(fleet.ada, "/compare", id=fleet.numbers))
    for field in ('value="package=p1"', 'value="package=p2"', 'value="machine=slow"', "<option>wall_time"):
        assert field in page
    chosen = {"id": fleet.numbers, "where": ["package=p2", "machine=slow"], "threshold": "50%"}
    part = read(open_as(fleet.ada, "/compare/results", part=True, **chosen))
    assert "wall_time of package p2 at machine slow" in part
    assert "unchanged within ±50%" in part
    kept = read(open_as(fleet.ada, "/compare", **chosen))
    assert 'value="package=p2" selected' in kept
    assert 'value="50%"' in kept
    for wrong in ({"threshold": "much"}, {"where": ["machine"]}, {"where": ["machine=slow", "machine=fast"]}):
        told = read(open_as(fleet.ada, "/compare/results", part=True, id=fleet.numbers, **wrong))
        assert 'class="headline"' in told
        assert "<figure" not in told
        assert "<form" in read(open_as(fleet.ada, "/compare", id=fleet.numbers, **wrong))


def test_what_was_worked_out_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = MeasuredVersions(1.0, 1.1)
    first = fleet.ada.get("/compare", experiment=fleet.numbers)

    def fail(*_: object) -> None:
        raise AssertionError("it was worked out again")

    monkeypatch.setattr(comparing, "compare_folders", fail)
    # The same levels, chosen in another order, are the same question.
    where = ["machine=fast", "package=p1"]
    assert fleet.ada.get("/compare", experiment=fleet.numbers, where=where) == first
    with pytest.raises(AssertionError, match="again"):
        fleet.ada.get("/compare", experiment=fleet.numbers[::-1])


def test_a_refusal_is_kept_but_not_that_others_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = MeasuredVersions(1.0, 1.1)
    asked = {"experiment": fleet.numbers, "baseline": "none-of-them"}

    def be_busy(*_: object) -> None:
        raise BusyError("answers for others are worked out")

    def fail(*_: object) -> None:
        raise AssertionError("it was worked out again")

    with monkeypatch.context() as patch:
        patch.setattr(comparing, "compare_folders", be_busy)
        assert fleet.ada.get("/compare", **asked)[0] == 429
    refused = fleet.ada.get("/compare", **asked)
    assert refused[0] == 400
    assert "none-of-them" in refused[1]["message"]
    monkeypatch.setattr(comparing, "compare_folders", fail)
    assert fleet.ada.get("/compare", **asked) == refused


def test_before_the_end_of_one_there_is_no_interval_that_looking_would_spoil() -> None:
    fleet = MeasuredVersions(1.0)
    going = fleet.ada.post("/experiments", fleet.body)[1]["id"]
    first, *_ = fleet.lease().items()
    fleet.end(*first)
    both = [*fleet.numbers, going]
    told = (
        f"experiment {going} is still running and cannot be compared before it ends: "
        "1 of 8 trials have counted"
    )
    assert fleet.ada.get("/compare", experiment=both)[0] == 409
    assert fleet.ada.get("/compare", experiment=both)[1]["message"] == told
    assert fleet.ada.get(f"/compare/figures/0.svg?{_spell(both)}")[0] == 409
    part = read(open_as(fleet.ada, "/compare/results", part=True, id=both))
    assert told[1:] in part
    assert "The number of trials was fixed before the first one." in part
    assert "% interval" not in part
    assert "[until]" not in part


def test_before_the_end_of_one_that_stops_by_what_it_sees_nothing_is_said_of_a_fixed_number() -> None:
    fleet = MeasuredVersions(1.0)
    grows = '[replication]\nexecutions = 4\nuntil = { detect = "10%" }\nmax_trials = 96\n\n[coverage]'
    text = TEXT.replace("replicates = 2\n", "").replace("[coverage]", grows)
    status, told = fleet.ada.post("/experiments", {**fleet.body, "text": text})
    assert status == 200, told
    both = [*fleet.numbers, told["id"]]
    reason = (
        "It stops by what it sees: only its own report has intervals that hold at each look. "
        "Ask again when it has ended."
    )
    status, told = fleet.ada.get("/compare", experiment=both)
    assert (status, told["remedy"]) == (409, reason)
    status, told = fleet.ada.get(f"/experiments/{both[1]}/analysis", verb="summary")
    assert (status, told["remedy"]) == (409, reason)


def test_an_experiment_without_a_trial_that_counted_is_told_plainly() -> None:
    fleet = MeasuredVersions(1.0)
    empty = fleet.ada.post("/experiments", fleet.body)[1]["id"]
    fleet.ada.post(f"/experiments/{empty}/cancel")
    told = f"no trial of experiment {empty} counted, so that it has nothing to compare"
    assert fleet.ada.get("/compare", experiment=[fleet.numbers[0], empty])[1]["message"] == told
    page = open_as(fleet.ada, "/compare", id=[fleet.numbers[0], empty])
    assert page.status_code == 200
    assert told[1:] in read(open_as(fleet.ada, "/compare/results", part=True, id=[fleet.numbers[0], empty]))


def submit_package(fleet: MeasuredVersions, name: str, response: str = "", factor: float = 1.1) -> int:
    """Measure an experiment of one package of this name."""
    content = make_package(f"# {name}\n")
    head, _, rest = TEXT.partition("[[package]]")
    tail = rest[rest.index("[coverage]") :]
    text = f'{head}[[package]]\nname = "{name}"\npath = "{name}"\n{response}{tail}'
    files = [describe_file(name, store(content, fleet.ada.user, name), len(content))]
    body = {"text": text, "file_name": "experiment.toml", "packages": files, "options": {}}
    return fleet.measure(factor, body)


def test_experiments_of_one_package_each_are_compared_by_these() -> None:
    fleet = MeasuredVersions(1.0)
    numbers = [submit_package(fleet, name) for name in ("old", "new")]
    status, told = fleet.ada.get("/compare", experiment=numbers)
    assert status == 200, told
    assert [item["version"] for item in told["versions"]] == ["old", "new"]
    assert told["where"] == {"machine": "fast"}
    part = read(open_as(fleet.ada, "/compare/results", part=True, id=numbers))
    assert "wall_time of each experiment's package at machine fast" in part
    status, told = fleet.ada.get("/compare", experiment=[*fleet.numbers[:1], numbers[0]])
    assert status == 400
    assert told["message"].endswith("have no package of the same name, so that they cannot be compared")
    assert told["remedy"] == f"Experiment {fleet.numbers[0]} has p1 and p2. Experiment {numbers[0]} has old."


def test_a_package_of_which_no_trial_counted_is_not_chosen() -> None:
    fleet = MeasuredVersions(1.0)
    going = fleet.ada.post("/experiments", fleet.body)[1]["id"]
    first, *_ = fleet.lease().items()
    fleet.end(*first)
    digest = Trial.objects.get(experiment=going, state="counted").package_sha256
    experiments = FleetExperiment.objects.order_by("pk")
    assert find_common_ground(experiments[:1]).packages == ("p1", "p2")
    counted = tuple(item["name"] for item in fleet.body["packages"] if item["sha256"] == digest)
    assert len(counted) == 1
    assert find_common_ground(experiments).packages == counted


def test_experiments_without_a_response_in_common_say_so() -> None:
    fleet = MeasuredVersions(1.0)
    response = '\n[responses.user]\nunit = "s"\nformula = "user_time_s"\ndirection = "lower"\n\n'
    other = submit_package(fleet, "p1", response)
    status, told = fleet.ada.get("/compare", experiment=[fleet.numbers[0], other])
    assert status == 400
    assert "have no response in common, so that they cannot be compared" in told["message"]
    assert "Experiment" in told["remedy"]
    part = read(open_as(fleet.ada, "/compare/results", part=True, id=[fleet.numbers[0], other]))
    assert told["message"][1:] in part


def test_a_formula_that_differs_is_refused_by_the_coordinator_and_warned_of_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = MeasuredVersions(1.0)
    numbers = []
    for factor, formula in ((1.0, "wall_time_s"), (1.1, "wall_time_s * 2")):
        response = f'\n[responses.score]\nunit = "s"\nformula = "{formula}"\ndirection = "lower"\n\n'
        numbers.append(submit_package(fleet, "p1", response, factor))
    fleet.numbers = numbers
    told = f"wall_time_s in experiment {numbers[0]} and wall_time_s * 2 in experiment {numbers[1]}"
    status, answer = fleet.ada.get("/compare", experiment=numbers)
    assert status == 400
    assert answer["message"] == f"score has different formulas: {told}, so that these cannot be compared"
    names = fleet.take_home(tmp_path)
    monkeypatch.chdir(tmp_path)
    told = f"wall_time_s in {names[0]} and wall_time_s * 2 in {names[1]}"
    warnings = datamill.compare(*names, where={"machine": "fast"}).warnings
    assert f"score has different formulas: {told}: a change may come of that" in warnings


def test_who_may_not_see_one_of_them_sees_none_and_learns_nothing() -> None:
    fleet = MeasuredVersions(1.0, 1.1)
    bob = ApiUser("bob")
    FleetExperiment.objects.filter(pk=fleet.numbers[0]).update(public=True)
    assert fleet.ada.get("/compare", experiment=fleet.numbers)[0] == 200
    status, told = bob.get("/compare", experiment=fleet.numbers)
    assert (status, told["message"]) == (404, f"there is no experiment {fleet.numbers[1]} that you may see")
    for path in ("/compare", "/compare/results", "/compare/figures/0.svg"):
        answer = open_as(bob, path, id=fleet.numbers)
        assert answer.status_code in (400, 404)
        assert "two-loops" not in read(answer)
    assert Client().get("/compare/results", {"id": fleet.numbers}).status_code == 302


@pytest.mark.parametrize("asked", ["1", "1 2 3 4 5 6 7 8 9", "x 1", "999999 1", "9" * 30])
def test_numbers_that_name_no_comparison_are_refused(asked: str) -> None:
    fleet = MeasuredVersions(1.0)
    for path in ("/compare", "/compare/results"):
        assert open_as(fleet.ada, path, id=asked).status_code == 400
    assert "<figure" not in read(open_as(fleet.ada, "/compare/results", part=True, id=asked))
    if asked.replace(" ", "").isdecimal() and len(asked) < 19:
        assert fleet.ada.get("/compare", experiment=asked.split())[0] in (400, 404)


def test_the_api_takes_what_the_command_and_pages_take() -> None:
    fleet = MeasuredVersions(1.0, 1.1)
    long = f"package={'x' * 4000}"
    status, told = fleet.ada.get("/compare", experiment=fleet.numbers, where=long)
    assert status == 400
    assert told["remedy"].startswith("Choose one of these: p")
    for wrong in (f"{long}{'x' * 100}", "package=\0"):
        assert fleet.ada.get("/compare", experiment=fleet.numbers, where=wrong)[0] == 422
    status, told = fleet.ada.get("/compare", experiment=fleet.numbers, alpha=0.5)
    assert (status, told["confidence"]) == (200, 0.5)
    assert fleet.ada.get("/compare", experiment=fleet.numbers, alpha=0.51)[0] == 422


def test_nothing_is_named_before_numbers_are() -> None:
    ada = ApiUser("ada")
    for path in ("/compare", "/compare/results"):
        answer = open_as(ada, path)
        assert answer.status_code == 200
        assert "Numbers of experiments" in read(answer)
    assert ada.get("/compare")[0] == 422


def test_the_versions_of_a_package_lead_to_their_experiments() -> None:
    fleet = MeasuredVersions(1.0)
    name, versions = "p1", [fleet.body["packages"][0]["sha256"]]
    page = read(open_as(fleet.ada, f"/packages/{versions[0]}"))
    assert "/compare?" not in page
    content = make_package("# another p1\n")
    changed = json.loads(json.dumps(fleet.body))
    changed["packages"][0] = describe_file(name, store(content, fleet.ada.user, name), len(content))
    fleet.measure(1.3, changed)
    page = read(open_as(fleet.ada, f"/packages/{versions[0]}"))
    address = page.partition('href="/compare?')[2].partition('"')[0]
    assert address == "where=package%3Dp1&id=1&id=2"
    part = read(open_as(fleet.ada, f"/compare/results?{address}", part=True))
    assert "two-loops-2 has changed" in part
    # Bob may see neither.
    FleetExperiment.objects.filter(pk=fleet.numbers[1]).update(public=True)
    digest = changed["packages"][0]["sha256"]
    assert "/compare?" not in read(open_as(ApiUser("bob"), f"/packages/{digest}"))


def test_a_level_is_chosen_where_it_is_the_only_one_of_its_experiment() -> None:
    fleet = MeasuredVersions(1.0)
    text = TEXT.replace('machine = "100%"', "machine = 1")
    single = fleet.measure(1.5, {**fleet.body, "text": text})
    status, told = fleet.ada.get("/compare", experiment=[fleet.numbers[0], single])
    assert status == 200, told
    assert told["where"]["machine"] in ("fast", "slow")
    assert told["changes"][0]["ratio"]["estimate"] == pytest.approx(1.5, rel=0.01)
