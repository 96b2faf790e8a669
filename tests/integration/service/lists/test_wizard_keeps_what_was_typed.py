"""The wizard begins from templates, and loses nothing: double clicks, sessions that end, odd sizes."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.http import QueryDict
from django.test import Client
from integration.service.api_users import TEXT, ApiUser, make_package, store
from integration.service.fleets import join

from datamill.experiment.file.parse import parse_experiment
from datamill.service.front_door.visitors import guesses
from datamill.service.models import Event, FleetExperiment, StoredFile
from datamill.service.pages.new_experiment.fleet_view import list_fleet
from datamill.service.pages.new_experiment.form import format_experiment, read_form
from datamill.service.pages.new_experiment.starting_points import TEMPLATES, offer_templates
from datamill.service.pages.new_experiment.stored_packages import ChosenPackage

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")

FILE = "/experiments/new/file"
P1 = ChosenPackage("p1", "0" * 64)


@pytest.fixture
def ada() -> Iterator[ApiUser]:
    guesses.PASSWORDS.clear()
    user = ApiUser("ada")
    for name in ("p1", "p2"):
        store(make_package(f"# {name}\n"), user.user, name)
    join("fast")
    join("slow")
    yield user
    guesses.PASSWORDS.clear()


def log_in(user: ApiUser) -> Client:
    client = Client()
    client.force_login(user.user)
    return client


def read_field(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, page
    return html.unescape(found[1])


def test_every_template_becomes_a_plan_on_this_fleet(ada: ApiUser) -> None:
    client = log_in(ada)
    page = client.get("/experiments/new/from").content.decode()
    offered = offer_templates(list_fleet(ada.user))
    assert {item.template.key for item in offered} == set(TEMPLATES)
    for item in offered:
        assert item.template.title in html.unescape(page)
        first = client.get(f"/experiments/new?{item.query}", follow=True).content.decode()
        assert item.template.packages in html.unescape(first)
        asked = parse_qs(item.query) | {"name": [item.template.key], "p": choose_packages()}
        seen = client.get("/experiments/new/space", asked).content.decode()
        assert "What would run" in seen
        assert re.search(r'data-trials="[1-9]', seen), (item.template.key, seen[-3000:])


def choose_packages() -> list[str]:
    return [f"{file.name}@{file.pk}" for file in StoredFile.objects.filter(kind="package").order_by("name")]


def test_a_template_fills_the_file_that_it_stands_for(ada: ApiUser) -> None:
    varied = 0
    for item in offer_templates(list_fleet(ada.user)):
        form = read_form(QueryDict(f"{item.query}&name={item.template.key}"))
        experiment = parse_experiment(
            format_experiment(replace(form, packages=(P1,)), ("arch", "machine")), name=""
        )
        assert experiment.question == item.template.question
        assert experiment.replicates == int(item.template.fields["replicates"])
        dimensions = {asked.dimension for asked in experiment.coverage}
        assert set(item.varied) == dimensions | {factor.name for factor in experiment.factors}
        varied += len(item.varied)
    assert varied > 2


def test_a_form_that_is_sent_twice_becomes_one_experiment(ada: ApiUser) -> None:
    client = log_in(ada)
    page = client.post(FILE, {"text": TEXT, "check": "yes"}).content.decode()
    sent = {"text": TEXT, "submit": "yes"} | {name: read_field(page, name) for name in ("form", "plan")}
    first, second = client.post(FILE, sent), client.post(FILE, sent)
    assert first["Location"] == second["Location"] == f"/experiments/{FleetExperiment.objects.get().pk}"
    assert "submitted before" in client.get(second["Location"]).content.decode()
    # The same text from another form, in another browser, is another experiment.
    other = log_in(ada)
    page = other.post(FILE, {"text": TEXT, "check": "yes"}).content.decode()
    assert other.post(FILE, sent | {"form": read_field(page, "form")}).status_code == 302
    assert FleetExperiment.objects.count() == 2


def test_the_way_back_finds_the_form_by_its_address(ada: ApiUser) -> None:
    client = log_in(ada)
    chosen = {"name": "back", "p": choose_packages(), "replicates": "3", "reboot": "never"}
    begun = client.get("/experiments/new", chosen)
    assert begun.status_code == 302
    # Each step has the name in its address, and hands it to the next.
    form = read_field(client.get(begun["Location"]).content.decode(), "form")
    assert f"form={form}" in begun["Location"]
    address = f"{FILE}?{urlencode(chosen | {'form': form}, doseq=True)}"
    pages = [client.get(address).content.decode() for _ in range(2)]
    sent = [
        {"text": html.unescape(re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)[1])}  # type: ignore[index]
        | {name: read_field(page, name) for name in ("form", "plan")}
        | {"submit": "yes"}
        for page in pages
    ]
    first, second = (client.post(address, fields) for fields in sent)
    assert first.status_code == 302, first.content.decode()
    assert first["Location"] == second["Location"]
    assert "submitted before" in client.get(second["Location"]).content.decode()
    assert FleetExperiment.objects.count() == 1
    # A user who begins anew has another form.
    assert client.get("/experiments/new")["Location"] != client.get("/experiments/new")["Location"]


@pytest.mark.parametrize("path", ["/experiments/new/upload", "/experiments/1/cancel", "/workers/fast/drain"])
def test_a_form_that_is_not_kept_leads_back_to_its_page_after_the_login(ada: ApiUser, path: str) -> None:
    page = "/experiments/new?name=kept&question=Why%3F"
    refused = Client().post(path, {"name": "kept"}, headers={"Referer": f"http://testserver{page}"})
    assert refused.status_code == 302, path
    assert parse_qs(urlsplit(refused["Location"]).query)["next"] == [page]
    for foreign in ("", "http://elsewhere/experiments", "http://testserver//elsewhere/", "http://[x"):
        refused = Client().post(path, headers={"Referer": foreign})
        assert parse_qs(urlsplit(refused["Location"]).query)["next"] == ["/experiments"], foreign
    assert ada


@pytest.mark.parametrize("changed", ["text", "file"])
def test_a_form_that_was_changed_since_it_was_sent_is_shown_and_then_becomes_another(
    ada: ApiUser, changed: str
) -> None:
    client = log_in(ada)
    page = client.post(FILE, {"text": TEXT, "check": "yes"}).content.decode()
    sent = {"text": TEXT, "submit": "yes"} | {name: read_field(page, name) for name in ("form", "plan")}
    assert client.post(FILE, sent).status_code == 302
    made = FleetExperiment.objects.get()
    other = store(make_package("# another p1\n"), ada.user, "p1")
    more = {"text": TEXT + "# more\n"} if changed == "text" else {"package-p1": other}
    shown = client.post(FILE, sent | more)
    page = shown.content.decode()
    assert shown.status_code == 200
    assert f'This form has already become <a href="/experiments/{made.pk}">' in page
    assert FleetExperiment.objects.count() == 1
    again = sent | more | {name: read_field(page, name) for name in ("form", "plan")}
    assert client.post(FILE, again).status_code == 302
    assert FleetExperiment.objects.count() == 2


def test_what_was_typed_before_the_session_ended_is_there_after_the_login(ada: ApiUser) -> None:
    client = Client()
    text = TEXT + "# typed with care: </textarea><script>alert(1)</script>\n"
    refused = client.post(FILE, {"text": text, "submit": "yes", "hold": "yes"})
    assert refused.status_code == 403
    page = refused.content.decode()
    assert "What you typed is kept" in page
    assert "<script>alert" not in page
    fields = {
        html.unescape(name): html.unescape(value)
        for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    }
    assert fields["typed-text"] == text
    # A wrong password loses nothing either.
    page = client.post("/login", fields | {"username": "ada", "password": "wrong"}).content.decode()
    assert html.escape(text.strip()) in page
    ada.user.set_password("a password of no use")
    ada.user.save()
    resumed = client.post("/login", fields | {"username": "ada", "password": "a password of no use"})
    page = resumed.content.decode()
    assert resumed.status_code == 200
    assert f'action="{FILE}"' in page
    assert html.escape(text.strip()) in page
    assert FleetExperiment.objects.count() == 0
    checked = client.post(FILE, {"text": text, "check": "yes", "hold": "yes"}).content.decode()
    assert 'name="hold" value="yes" checked' in checked
    # A part of the page tells it, and leaves the page alone.
    part = Client().post(FILE, {"text": text}, headers={"HX-Request": "true"})
    assert (part.status_code, part.get("HX-Redirect")) == (200, None)
    assert "Your session has ended" in part.content.decode()


def test_steps_come_back_after_the_login_with_what_was_chosen(ada: ApiUser) -> None:
    address = "/experiments/new/space?name=kept&question=Why%3F&in=aslr&share-aslr=100"
    asked = urlsplit(Client().get(address)["Location"])
    assert (asked.path, parse_qs(asked.query)["next"]) == ("/login", [address])
    assert ada


def test_a_million_levels_are_refused_with_a_sentence(ada: ApiUser) -> None:
    client = log_in(ada)
    levels = ", ".join(str(number) for number in range(150_000))
    many = TEXT + f"\n[factors]\nenv_padding = [{levels}]\n"
    page = client.post(FILE, {"text": many, "check": "yes"})
    assert page.status_code == 200
    assert "message bad" in page.content.decode()
    million = TEXT + "\n[factors]\nenv_padding = [" + ", ".join("1" for _ in range(1_000_000)) + "]\n"
    page = client.post(FILE, {"text": million * 2, "check": "yes"})
    assert page.status_code < 500
    assert FleetExperiment.objects.count() == 0
    wide = client.get("/experiments/new/machines", {"min_memory": "9" * 100_000, "cpu_model": ["x"] * 1000})
    assert wide.status_code in (200, 400)


def test_two_browsers_that_cancel_one_experiment_cancel_it_once(ada: ApiUser) -> None:
    first, second = log_in(ada), log_in(ada)
    page = first.post(FILE, {"text": TEXT, "check": "yes"}).content.decode()
    sent = {"text": TEXT, "submit": "yes"} | {name: read_field(page, name) for name in ("form", "plan")}
    address = first.post(FILE, sent)["Location"]
    assert "Cancel the experiment" in second.get(address).content.decode()
    assert first.post(f"{address}/cancel").status_code == 302
    late = second.post(f"{address}/cancel")
    assert late.status_code == 400
    assert "cancelled" in late.content.decode()
    assert Event.objects.filter(kind="experiment cancelled").count() == 1
