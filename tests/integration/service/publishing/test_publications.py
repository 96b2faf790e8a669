"""Results that are published: read by everybody, changed by nobody, withdrawn with a reason."""

from __future__ import annotations

import hashlib
import html
import json
import re
import time
import zipfile
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from django.db import IntegrityError, connection, transaction
from django.http import HttpResponse
from django.test import Client
from integration.service.api_users import ApiUser
from integration.service.small_fleet import Fleet

import datamill
from datamill.results.bundles.opening import open_bundle
from datamill.results.crates.description import describe
from datamill.results.crates.reading import unpack_crate
from datamill.service.answers import answering
from datamill.service.files.disk import name_stored_file
from datamill.service.files.store import find_file
from datamill.service.models import Event, FleetExperiment, Publication
from datamill.service.pages.publications import embeds
from datamill.service.publishing import archives
from datamill.service.publishing.publishing import read_statement
from datamill.service.publishing.statements import PublishedStatement

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")
FORM = {
    "title": "<script>alert(1)</script> & which is faster?",
    "authors": "Doe, Jane\nThe <b>Lab</b>",
    "licence": "CC-BY-4.0",
    "summary": 'Two loops, "compared".',
    "everybody": "yes",
}


HEADLINE = "p1 is better, by 3%."


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """Numbers of experiments begin anew in each test."""
    answering._kept.clear()
    archives._checked.clear()


def log_in(user: ApiUser) -> Client:
    client = Client()
    client.force_login(user.user)
    return client


def publish(fleet: Fleet, **changed: str) -> tuple[HttpResponse, Publication | None]:
    answer = log_in(fleet.ada).post(f"/experiments/{fleet.number}/publish", FORM | changed)
    return answer, Publication.objects.order_by("-published_unix_s").first()  # type: ignore[return-value]


def read_page(path: str, client: Client | None = None) -> tuple[int, str]:
    answer = (client or Client()).get(path, follow=True)
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return answer.status_code, content.decode()


def enter_publication(short: str = "") -> tuple[Fleet, Publication]:
    """A publication as it is in the database, with an archive of some bytes."""
    fleet, content = Fleet(public=True), b"an archive of some length"
    statement = PublishedStatement(
        "two-loops", "Which?", HEADLINE, (), (), (), 8, "means", 8, ("fast",), "0.1.0", (), (),
        picture="<svg></svg>", picture_svg="<svg></svg>", short=short,
    )  # fmt: skip
    digest = hashlib.sha256(content).hexdigest()
    name_stored_file(digest).parent.mkdir(parents=True)
    name_stored_file(digest).write_bytes(content)
    said = describe("Which is faster?", "Doe, Jane", "MIT", now_s=1.8e9)
    published = Publication.objects.create(
        key="0123456789ab",
        experiment_id=fleet.number,
        publisher=fleet.ada.user,
        published_unix_s=1.8e9,
        sha256=digest,
        size_bytes=len(content),
        description=msgspec.json.encode(said),
        words="Which is faster?",
        statement=msgspec.json.encode(statement),
    )
    return fleet, published


def test_a_publication_has_the_answer_a_citation_and_the_archive_for_everybody(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.finish()
    form = re.findall(r'name="form" value="(.+?)"', read_page("/experiments/1/publish", log_in(fleet.ada))[1])
    answer, published = publish(fleet, form=form[0])
    assert answer.status_code == 302, answer.content.decode()
    assert published is not None
    # What it found stands on its badge, with the interval.
    assert f"<title>datamill: {read_statement(published).short or 'published'}</title>" in html.unescape(
        read_page(f"/publications/{published.key}/badge.svg")[1]
    )
    # A second click on the same form publishes nothing more.
    assert publish(fleet, form=form[0])[0]["Location"] == answer["Location"]
    assert Publication.objects.count() == 1
    fleet.fetch(tmp_path / "bundle")
    said = datamill.answer(tmp_path / "bundle").answer
    status, page = read_page(f"/publications/{published.key}")
    assert status == 200
    assert said.headline in html.unescape(page)
    assert "<script>alert" not in page
    assert "<b>Lab" not in page
    assert published.sha256 in page
    assert '<figure class="chart">' in page
    archive = Client().get(f"/publications/{published.key}/archive.zip")
    content = b"".join(archive)
    assert hashlib.sha256(content).hexdigest() == published.sha256
    assert len(content) == published.size_bytes == int(archive["Content-Length"])
    (tmp_path / "taken.zip").write_bytes(content)
    unpack_crate(tmp_path / "taken.zip", tmp_path / "taken")
    taken, made = open_bundle(tmp_path / "taken"), open_bundle(tmp_path / "bundle")
    assert taken.read_records() == made.read_records()
    assert datamill.answer(tmp_path / "taken").answer == said
    with zipfile.ZipFile(tmp_path / "taken.zip") as crate:
        assert {"table.csv", "table.parquet", "report.html", "CITATION.cff"} <= set(crate.namelist())
        # What happened on the coordinator names people who have no part in the result.
        assert not {"events.jsonl", "debug.jsonl"} & set(crate.namelist())
        root = json.loads(crate.read("ro-crate-metadata.json"))["@graph"][1]
    assert root["identifier"] == f"http://testserver/publications/{published.key}"
    for kind, word in (("bib", "@misc{"), ("cff", "cff-version: 1.2.0"), ("txt", "Doe J.")):
        status, citation = read_page(f"/publications/{published.key}/citation.{kind}")
        assert (status, word in citation, published.sha256 in citation) == (200, True, True)
    status, listed = read_page("/publications")
    assert status == 200
    assert said.headline in html.unescape(listed)
    assert published.key in read_page("/publications?search=doe+loops")[1]
    assert published.key in read_page("/publications?search=p1+wall_time")[1]
    assert published.key not in read_page("/publications?search=nothing+like+it")[1]
    assert Event.objects.filter(kind="result published", user="ada").count() == 1


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"everybody": ""}, ""),
        ({"title": " "}, "no title"),
        ({"authors": ","}, "no author"),
        ({"licence": "mine"}, "not one of those"),
    ],
)
def test_what_is_wrong_in_the_form_is_said_and_nothing_is_typed_again(
    changed: dict[str, str], words: str
) -> None:
    fleet = Fleet()
    FleetExperiment.objects.update(state="cancelled", ended_unix_s=1.0)
    form = {name: value for name, value in (FORM | changed).items() if name != "everybody" or value}
    answer = log_in(fleet.ada).post(f"/experiments/{fleet.number}/publish", form)
    assert answer.status_code == 400
    page = html.unescape(answer.content.decode())
    assert words in page.lower()
    assert "Two loops" in page
    assert not Publication.objects.exists()
    assert not FleetExperiment.objects.get().public


def test_what_was_typed_before_another_login_fills_the_form_and_publishes_nothing() -> None:
    fleet = Fleet()
    FleetExperiment.objects.update(state="cancelled", ended_unix_s=1.0)
    path = f"/experiments/{fleet.number}/publish"
    # The proof in the form is that of the session before.
    client = Client(enforce_csrf_checks=True)
    client.force_login(fleet.ada.user)
    for answer in (Client().post(path, FORM), client.post(path, FORM)):
        page = answer.content.decode()
        assert answer.status_code == 403
        assert html.escape(FORM["title"]) in page
        assert "<script>alert" not in page
    filled = log_in(fleet.ada).post(path, FORM | {"check": "yes"})
    page = filled.content.decode()
    assert (filled.status_code, "checked" in page) == (200, False)
    assert html.escape(FORM["title"]) in page
    assert html.escape("Doe, Jane\nThe <b>Lab</b>") in page
    assert not Publication.objects.exists()
    # Any other form without a proof is refused, and does nothing.
    refused = client.post(f"/experiments/{fleet.number}/cancel")
    assert (refused.status_code, "without the proof" in refused.content.decode()) == (403, True)


def test_only_its_owner_publishes_and_only_what_has_ended() -> None:
    fleet = Fleet(public=True)
    path = f"/experiments/{fleet.number}/publish"
    assert log_in(ApiUser("bob")).post(path, FORM).status_code == 403
    assert Client().post(path, FORM).status_code == 403
    answer, published = publish(fleet)
    assert (answer.status_code, published) == (400, None)
    assert "has not ended" in answer.content.decode()


def test_the_database_lets_nobody_change_or_remove_a_publication() -> None:
    _, published = enter_publication()
    for change in ("sha256 = 'x'", "statement = 'x'", "published_unix_s = 1", "words = 'x'", "key = 'x'"):
        with (
            pytest.raises(IntegrityError, match="cannot be changed"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(f"UPDATE datamill_publication SET {change}")
    with pytest.raises(IntegrityError, match="cannot be removed"), transaction.atomic():
        published.delete()


def test_a_withdrawn_publication_leaves_its_address_with_the_reason_and_no_number() -> None:
    fleet, published = enter_publication()
    path = f"/publications/{published.key}"
    assert log_in(ApiUser("bob")).post(f"{path}/withdraw", {"reason": "envy"}).status_code == 403
    owner = log_in(fleet.ada)
    assert owner.post(f"{path}/withdraw", {"reason": " "}).status_code == 400
    assert owner.post(f"{path}/withdraw", {"reason": "The clock was <i>wrong</i>."}).status_code == 302
    status, page = read_page(path)
    assert status == 410
    assert "The clock was &lt;i&gt;wrong" in page
    assert HEADLINE not in html.unescape(page)
    for rest in ("archive.zip", "citation.bib", "figure.svg"):
        assert read_page(f"{path}/{rest}")[0] == 410
    assert "withdrawn" in read_page(f"{path}/badge.svg")[1]
    assert HEADLINE not in html.unescape(read_page(f"{path}/embed")[1])
    assert HEADLINE not in html.unescape(read_page("/publications")[1])
    assert not name_stored_file(published.sha256).exists()
    assert not FleetExperiment.objects.get().public
    for word in ("p1", "wall_time"):
        assert published.key not in read_page(f"/publications?search={word}")[1]
    assert owner.post(f"{path}/withdraw", {"reason": "again"}).status_code == 400


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_publication_whose_archive_was_damaged_says_so_instead_of_numbers() -> None:
    _, published = enter_publication()
    path = f"/publications/{published.key}"
    file = name_stored_file(published.sha256)
    whole = file.read_bytes()
    for damage in (cut, flip, Path.unlink):
        file.write_bytes(whole)
        assert HEADLINE in html.unescape(read_page(path)[1])
        damage(file)
        status, page = read_page(path)
        assert status == 200
        assert "is damaged on this coordinator" in page
        assert HEADLINE not in html.unescape(page)
        assert "<svg" not in page
        assert read_page(f"{path}/archive.zip")[0] == read_page(f"{path}/figure.svg")[0] == 503
        assert "damaged" in read_page(f"{path}/badge.svg")[1]
        assert HEADLINE not in html.unescape(read_page(f"{path}/embed")[1])


def test_bits_that_change_while_no_clock_shows_it_are_found_within_the_hour() -> None:
    _, published = enter_publication()
    now = time.monotonic()
    assert archives.is_intact(published, now)
    file = name_stored_file(published.sha256)
    flip(file)
    kept = find_file(published.sha256)
    assert kept is not None
    archives._checked[published.sha256, kept.version] = now
    assert archives.is_intact(published, now + 10)
    assert not archives.is_intact(published, now + 3601)


def test_badges_and_figures_are_kept_by_others_until_they_change() -> None:
    _, published = enter_publication()
    client = Client()
    for part in ("badge.svg", "figure.svg", "embed"):
        answer = client.get(f"/publications/{published.key}/{part}")
        assert answer.status_code == 200
        assert answer["Cache-Control"] == "public, max-age=300"
        assert answer["Cross-Origin-Resource-Policy"] == "cross-origin"
        assert "script-src" not in answer["Content-Security-Policy"]
        again = client.get(answer.request["PATH_INFO"], headers={"If-None-Match": f"W/{answer['ETag']}"})
        assert (again.status_code, again.content) == (304, b"")
    framed = client.get(f"/publications/{published.key}/embed")
    assert "frame-ancestors *" in framed["Content-Security-Policy"]
    assert "X-Frame-Options" not in framed
    assert client.get(f"/publications/{published.key}")["X-Frame-Options"] == "DENY"
    url = f"http://testserver/publications/{published.key}"
    told = client.get("/oembed", {"url": url, "maxwidth": "300"}).json()
    assert (told["version"], told["type"], told["width"]) == ("1.0", "rich", 300)
    assert f'src="{url}/embed"' in told["html"]
    assert "<script" not in told["html"]
    assert client.get("/oembed", {"url": "http://elsewhere/x"}).status_code == 404
    assert client.get("/oembed", {"url": url, "format": "xml"}).status_code == 501
    assert client.get("/oembed", {"url": url, "maxwidth": "-1"}).status_code == 400


@pytest.mark.parametrize(
    ("short", "verdicts", "told"),
    [
        ("p1 1.19 times as fast (1.17 to 1.22)", [], "p1 1.19 times as fast (1.17 to 1.22)"),
        ("p1 better", ["reproduced", "undecided"], "p1 better, reproduced in 1 of 2 re-runs"),
        ("", ["not reproduced"], "reproduced in 0 of 1 re-run"),
        ("", [], "published"),
        # A number is shown with its interval, or not at all.
        (f"{'p' * 64} 1.19 times as fast (1.17 to 1.22)", [], "published"),
        # A finding is shown with its re-runs, or not at all.
        (f"{'p' * 40} 1.19 times as fast (1.17 to 1.22)", ["not reproduced"], "reproduced in 0 of 1 re-run"),
    ],
    ids=["found", "found and reproduced", "not reproduced", "of before", "long", "long and not reproduced"],
)
def test_the_badge_says_what_was_found(
    short: str, verdicts: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, published = enter_publication(short)
    tally = Counter(verdicts)
    monkeypatch.setattr(embeds, "tally_verdicts", lambda _: tally)
    badge = read_page(f"/publications/{published.key}/badge.svg")[1]
    assert f"<title>datamill: {told}</title>" in badge


@pytest.mark.parametrize("key", ["000000000000", "x", "%00", "..%2f..%2fetc", "a" * 300])
def test_an_address_at_which_nothing_is_published_says_so(key: str) -> None:
    assert read_page(f"/publications/{key}")[0] in (400, 404)
    assert read_page(f"/publications/{key}/archive.zip")[0] in (400, 404)
