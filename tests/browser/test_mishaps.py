"""What goes wrong between a person and their browser: nothing is done twice, and nothing typed is lost."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe import find_violations
from browser.conftest import PASSWORD
from django.template import Context, Engine

import datamill.service

FILE = """
[experiment]
name = "{name}"
replicates = 1
[[package]]
name = "xz"
path = "xz"
[fleet]
reboot = "never"
"""
#: The cookie of a session, which ends; others stay.
SESSION = "sessionid"
CUT_OFF_BYTES = 16 << 20
TEMPLATES = Path(datamill.service.__file__).parent / "templates" / "datamill"


def count_experiments(visit: Any, name: str) -> int:
    visit.open(f"/experiments?q={name}")
    return int(visit.page.get_by_role("link", name=name, exact=True).count())


def write_file(page: Any, name: str) -> None:
    page.get_by_label("Experiment file").fill(FILE.format(name=name))
    page.locator("[data-trials]").wait_for()


@pytest.fixture
def second(visit: Any) -> Iterator[Any]:
    """A page of another browser in which the same user is logged in."""
    visit.log_in("alice")
    context = visit.page.context.browser.new_context(viewport={"width": 1200, "height": 900})
    context.add_cookies(visit.page.context.cookies())
    page = context.new_page()
    page.set_default_timeout(20_000)
    yield page
    context.close()


def test_the_back_button_after_submission_makes_no_second_experiment(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    visit.open("/experiments/new/file")
    write_file(page, "back-and-again")
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("heading", name="back-and-again").wait_for()
    made = page.url
    page.go_back()
    assert "back-and-again" in page.get_by_label("Experiment file").input_value()
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("heading", name="back-and-again").wait_for()
    assert page.url == made
    page.get_by_text("This form was submitted before").wait_for()
    # What is changed on the way back is another experiment, once that has been said.
    page.go_back()
    page.get_by_label("Experiment file").fill(FILE.format(name="back-and-changed"))
    page.get_by_role("button", name="Submit").click()
    page.get_by_text("This form has already become").wait_for()
    assert "back-and-changed" in page.get_by_label("Experiment file").input_value()
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("heading", name="back-and-changed").wait_for()
    assert page.url != made
    assert [count_experiments(visit, name) for name in ("back-and-again", "back-and-changed")] == [1, 1]


def test_two_clicks_make_one_experiment(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    visit.open("/experiments/new/file")
    write_file(page, "clicked-twice")
    page.get_by_role("button", name="Submit").dblclick(no_wait_after=True)
    page.get_by_role("heading", name="clicked-twice").wait_for()
    assert count_experiments(visit, "clicked-twice") == 1


def test_two_tabs_of_the_steps_do_not_mix(visit: Any) -> None:
    visit.log_in("alice")
    tabs = {"left-tab": visit.page, "right-tab": visit.page.context.new_page()}
    for name, page in tabs.items():
        page.goto(f"{visit.url}/experiments/new")
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_role("checkbox", name="xz", exact=False).check()
    for page in tabs.values():
        page.get_by_role("button", name="Next: machines").click()
    for page in tabs.values():
        page.get_by_role("button", name="Next: space").click()
        page.locator("[data-trials]").wait_for()
    for name, page in tabs.items():
        page.get_by_role("button", name="Next: check and submit").click()
        assert f'name = "{name}"' in page.get_by_label("Experiment file").input_value()


def test_what_another_browser_has_ended_already_is_said(visit: Any, second: Any) -> None:
    page = visit.page
    visit.open("/experiments/new/file")
    write_file(page, "ended-elsewhere")
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("heading", name="ended-elsewhere").wait_for()
    # The other browser's page would follow by itself: this one is as it was.
    second.route("**/stream**", lambda route: route.abort())
    second.goto(page.url)
    for one in (second, page):
        one.get_by_text("Cancel …").click()
    page.get_by_role("button", name=re.compile("^Cancel")).last.click()
    page.get_by_text("cancelled").first.wait_for()
    second.get_by_role("button", name=re.compile("^Cancel")).last.click()
    second.get_by_text("has ended: it is cancelled").wait_for()


def test_an_upload_that_is_cut_off_is_done_again_and_nothing_typed_is_lost(visit: Any) -> None:
    visit.log_in("bob")
    page = visit.page
    visit.open("/experiments/new")
    page.get_by_label("Name", exact=True).fill("cut-off")
    page.get_by_label("Question").fill("Does it hold?")
    content = os.urandom(CUT_OFF_BYTES)
    page.get_by_label("Files").set_input_files(
        [{"name": "large.tar.gz", "mimeType": "application/gzip", "buffer": content}]
    )
    page.route("**/experiments/new/upload", lambda route: route.abort("connectionreset"))
    with page.expect_event("requestfailed"):
        page.get_by_role("button", name="Upload").click(no_wait_after=True)
    page.wait_for_url("chrome-error://**")
    page.unroute("**/experiments/new/upload")
    visit.complaints.clear()
    page.go_back()
    assert page.get_by_label("Name", exact=True).input_value() == "cut-off"
    assert page.get_by_label("Question").input_value() == "Does it hold?"
    page.get_by_role("button", name="Upload").click()
    page.locator(".message.bad").wait_for()
    assert page.get_by_label("Name", exact=True).input_value() == "cut-off"


def test_a_session_that_ends_in_the_steps_loses_nothing(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    visit.open("/experiments/new")
    page.get_by_label("Name", exact=True).fill("ended-session")
    page.get_by_label("Question").fill("Is it all there?")
    page.get_by_role("checkbox", name="xz", exact=False).first.check()
    page.get_by_role("button", name="Next: machines").click()
    page.get_by_label("Memory", exact=True).fill("1 GiB")
    page.context.clear_cookies(name=SESSION)
    page.get_by_role("button", name="Next: space").click()
    log_in_again(page)
    page.locator("[data-trials]").wait_for()
    page.get_by_role("button", name="Next: check and submit").click()
    text = page.get_by_label("Experiment file").input_value()
    for typed in ("ended-session", "Is it all there?", "1 GiB"):
        assert f'"{typed}"' in text
    # What is typed in the last step is said to be kept, and is.
    page.context.clear_cookies(name=SESSION)
    typed = text + "# typed without a session\n"
    page.get_by_label("Experiment file").fill(typed)
    page.get_by_text("Your session has ended.").wait_for()
    assert find_violations(page) == []
    page.get_by_role("button", name="Submit").click()
    page.get_by_text("What you typed is kept").wait_for()
    # A page that nobody may see is no error of the page.
    visit.complaints.clear()
    assert find_violations(page) == []
    log_in_again(page)
    page.get_by_role("heading", name="Logged in again").wait_for()
    assert find_violations(page) == []
    page.get_by_role("button", name="Go on with it").click()
    assert page.get_by_label("Experiment file").input_value() == typed
    assert count_experiments(visit, "ended-session") == 0


def log_in_again(page: Any) -> None:
    page.get_by_label("User name").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def test_packages_that_are_sent_after_the_session_ended_are_asked_for_again(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    visit.open("/experiments/new")
    page.get_by_label("Name", exact=True).fill("ended-upload")
    page.get_by_role("checkbox", name="xz", exact=False).first.check()
    package = {"name": "a.tar.gz", "mimeType": "application/gzip", "buffer": os.urandom(200_000)}
    page.get_by_label("Files").set_input_files([package])
    page.context.clear_cookies(name=SESSION)
    page.get_by_role("button", name="Upload").click()
    log_in_again(page)
    page.get_by_label("Name", exact=True).wait_for()
    assert page.get_by_label("Name", exact=True).input_value() == "ended-upload"
    assert page.get_by_role("checkbox", name="xz", exact=False).first.is_checked()


def test_a_million_levels_are_refused_and_stay_in_their_field(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    visit.open("/experiments/new/file")
    for count in (100_000, 1_000_000):
        levels = ", ".join(str(number % 10) for number in range(count))
        text = FILE.format(name="so-many") + f"[factors]\nenv_padding = [{levels}]\n"
        page.get_by_label("Experiment file").fill(text)
        page.locator("#draft .message.bad").first.wait_for()
        assert page.get_by_label("Experiment file").input_value() == text
    told = page.locator("#draft [role=alert]").inner_text()
    assert told.startswith("Not looked at: "), told
    assert page.locator("#draft [role=alert]").count() == 1
    # The browser says of what is refused that it is.
    assert all("413" in said or "htmx:responseError" in said for said in visit.complaints), visit.complaints
    visit.complaints.clear()


def test_a_part_whose_storage_is_away_says_so_and_comes_when_it_is_back(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    template = TEMPLATES / "parts" / "asked_again.html"
    told = {"name": "answer", "path": "/experiments/3/answer", "wait_s": "1"}
    told["sentence"] = "The storage of files cannot be used just now."
    part = Engine().from_string(template.read_text()).render(Context(told))
    refused: list[str] = []

    def refuse_twice(route: Any) -> None:
        if len(refused) == 2:
            route.continue_()
            return
        refused.append(route.request.url)
        route.fulfill(status=503, headers={"Retry-After": "1", "Content-Type": "text/html"}, body=part)

    page.route("**/experiments/3/answer", refuse_twice)
    visit.open("/experiments/3")
    page.get_by_text("The storage of files cannot be used just now.").wait_for()
    assert find_violations(page) == []
    page.locator("#answer .headline").wait_for()
    assert len(refused) == 2
    assert page.get_by_text("cannot be used just now").count() == 0
    # The browser says of each that it was refused; the page's script takes neither for a mistake.
    assert all("503" in said for said in visit.complaints), visit.complaints
    visit.complaints.clear()


def test_what_was_typed_while_the_storage_was_away_is_looked_at_when_it_is_back(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    part = '<div id="draft"><div class="message bad"><p>The storage of files is away.</p></div></div>'
    refused: list[str] = []

    def refuse_once(route: Any) -> None:
        if refused or route.request.method != "POST":
            route.continue_()
            return
        refused.append(route.request.url)
        route.fulfill(status=503, headers={"Retry-After": "1", "Content-Type": "text/html"}, body=part)

    visit.open("/experiments/new/file")
    page.route("**/experiments/new/file", refuse_once)
    page.get_by_label("Experiment file").fill(FILE.format(name="typed-meanwhile"))
    page.get_by_text("The storage of files is away.").wait_for()
    page.locator("[data-trials]").wait_for()
    assert len(refused) == 1
    assert all("503" in said for said in visit.complaints), visit.complaints
    visit.complaints.clear()
