"""Analyses that readers of an experiment ask for on its pages, and what they take home."""

from __future__ import annotations

import html
import io
import json
from pathlib import Path
from urllib.parse import urlencode

import polars as pl
import pytest
from django.http import HttpResponse
from django.test import Client
from integration.service.api_users import ApiUser
from integration.service.small_fleet import Fleet

import datamill
from datamill.service.answers import analyses, answering

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """Numbers of experiments begin anew in each test."""
    for kept in (answering._kept, analyses._kept, analyses._pages):
        kept.clear()


def open_page(fleet: Fleet, path: str, **asked: str) -> HttpResponse:
    client = Client()
    client.force_login(fleet.ada.user)
    return client.get(f"/experiments/{fleet.number}{path}", asked)  # type: ignore[return-value]


def test_the_page_has_what_the_verb_says_of_the_bundle_with_its_figures(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.finish()
    fleet.fetch(tmp_path / "bundle")
    asked = {"verb": "summary", "factor": "machine", "where": "package=p1\n"}
    expected = datamill.summary(tmp_path / "bundle", factors=["machine"], where={"package": ["p1"]})
    answer = open_page(fleet, "/analysis", **asked)
    page = html.unescape(answer.content.decode())
    assert answer.status_code == 200
    for sentence in (*expected.lead, *expected.warnings):
        assert sentence in page
    assert page.count('<figure class="chart">') == len(expected.figures()) > 0
    # The policy of the pages lets no style in that stands in a page.
    assert "style=" not in answer.content.decode()
    drawn = open_page(fleet, "/figures/0.json", **asked)
    assert drawn["Content-Type"].startswith("application/json")
    figure = expected.figures()[0]
    assert json.loads(drawn.content)["title"]["text"] == figure.title
    assert open_page(fleet, "/figures/0.png", **asked).content.startswith(b"\x89PNG")
    assert open_page(fleet, "/figures/0.svg", **asked).content.startswith(b"<svg")
    assert open_page(fleet, "/figures/99.svg", **asked).status_code == 404


def test_the_report_comes_whole_and_shut_off_from_the_site(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.finish()
    fleet.fetch(tmp_path / "bundle")
    answer = open_page(fleet, "/report")
    assert datamill.answer(tmp_path / "bundle").answer.headline in html.unescape(answer.content.decode())
    assert "vegaEmbed" in answer.content.decode()
    policy = answer["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts ")
    assert "allow-same-origin" not in policy
    assert "default-src 'none'" in policy


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_table_is_that_of_the_bundle(kind: str, tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.finish()
    bundle, records, _ = fleet.fetch(tmp_path / "bundle")
    answer = open_page(fleet, f"/table.{kind}")
    content = io.BytesIO(b"".join(answer.streaming_content))  # type: ignore[attr-defined]
    expected = bundle.build_table(records)
    if kind == "parquet":
        assert pl.read_parquet(content).equals(expected)
    else:
        assert content.getvalue() == expected.write_csv().encode()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"verb": "divine"}, "There is no analysis"),
        ({"verb": "quantiles", "quantiles": "half"}, '"half" is not a list of quantiles'),
        ({"verb": "anova", "where": "machine"}, '"machine" is not a condition'),
        ({"verb": "anova", "where": "machine=moon"}, "moon"),
        ({"verb": "anova", "factor": "colour"}, "colour"),
        ({"verb": "anova", "response": "weight"}, "weight"),
    ],
    ids=["analysis", "quantiles", "condition", "level", "factor", "response"],
)
def test_a_question_that_makes_no_sense_is_told_beside_the_form(asked: dict[str, str], told: str) -> None:
    fleet = Fleet()
    fleet.finish()
    answer = open_page(fleet, "/analysis", **asked)
    page = html.unescape(answer.content.decode())
    assert answer.status_code == 200
    assert "<form" in page
    assert told in page
    assert '<figure class="chart">' not in page


def test_while_trials_come_in_there_is_no_interval_that_looking_would_spoil() -> None:
    fleet = Fleet()
    first, second = fleet.lease().items()
    fleet.end(*first)
    page = html.unescape(open_page(fleet, "/answer").content.decode())
    assert "Not before the end: 1 of 8 trials have counted." in page
    assert "The number of trials was fixed before the first one." in page
    assert "% interval" not in page
    for path, asked in (
        ("/analysis", {"verb": "summary"}),
        ("/report", {}),
        ("/report", {"verb": "summary"}),
        ("/figures/0.svg", {}),
        ("/figures/0.svg", {"verb": "summary"}),
    ):
        page = html.unescape(open_page(fleet, path, **asked).content.decode())
        assert "Not before the end: 1 of 8 trials have counted" in page, path
        assert "<svg" not in page.partition("<main")[2], path
        assert "% interval" not in page, path
    for path in ("answer", "analysis?verb=summary", "report", "figures/0.svg", "figures/0.svg?verb=summary"):
        status, told = fleet.ada.get(f"/experiments/{fleet.number}/{path}")
        assert status == 409
        assert told["message"] == "not before the end: 1 of 8 trials have counted"
    fleet.end(*second)
    fleet.finish()
    page = html.unescape(open_page(fleet, "/answer").content.decode())
    assert "Not before the end" not in page
    assert '<figure class="chart">' in page


def test_programs_get_the_figures_and_the_report_that_pages_show() -> None:
    fleet = Fleet()
    fleet.finish()
    here = f"/experiments/{fleet.number}"
    asked = {"verb": "summary", "factor": "machine"}
    for question in ({}, asked):
        shown = open_page(fleet, "/figures/0.json", **question)
        assert fleet.ada.load(f"{here}/figures/0.json?{urlencode(question)}") == shown.content
    assert fleet.ada.load(f"{here}/figures/0.svg").startswith(b"<svg")
    assert fleet.ada.load(f"{here}/figures/0.png").startswith(b"\x89PNG")
    assert fleet.ada.get(f"{here}/figures/99.svg")[0] == 404
    assert fleet.ada.get(f"{here}/figures/0.gif")[0] == 422
    assert fleet.ada.load(f"{here}/report") == open_page(fleet, "/report").content
    page = fleet.ada.load(f"{here}/report?{urlencode(asked)}")
    assert page == open_page(fleet, "/report", **asked).content
    assert ApiUser("bob").get(f"{here}/report")[0] == 404


def test_the_api_says_what_the_command_prints(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.finish()
    fleet.fetch(tmp_path / "bundle")
    status, told = fleet.ada.get(
        f"/experiments/{fleet.number}/analysis?verb=summary&factor=package&factor=machine&by=package"
    )
    assert status == 200, told
    expected = datamill.summary(tmp_path / "bundle", factors=["package", "machine"], by="package")
    assert told == json.loads(expected.json())
    # All of its times are equal.
    status, told = fleet.ada.get(f"/experiments/{fleet.number}/analysis", verb="anova")
    assert (status, told["where"]) == (400, f"experiment {fleet.number}")
    status, told = fleet.ada.get(f"/experiments/{fleet.number}/analysis", verb="divine")
    assert (status, told["where"]) == (422, "verb")
    assert fleet.ada.read(f"/experiments/{fleet.number}/table.csv").startswith(b"experiment,")
