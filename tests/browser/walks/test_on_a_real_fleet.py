"""The whole walk on `datamill serve` with a worker of this machine, as two people and a stranger see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from acceptance.conftest import COLLECT, Command
from acceptance.fleet.fleets import LocalFleet
from axe import find_violations
from browser.conftest import Visit, visiting
from browser.made_fleet.submissions import pack_package

#: What run.sh of each package sleeps, in seconds: other things move it by a few milliseconds.
SLEEPS = {"brisk": 0.05, "slow": 0.15}
#: An experiment of these on a busy machine takes so long at most.
MOST_MS = 240_000
#: The beginnings of all verdicts on a re-run.
VERDICTS = ("The result was reproduced", "The result was not reproduced", "The data cannot tell")


# As long as the browser, whose thread has an event loop then, and before it.
@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFleet]:
    """A coordinator with a worker."""
    started = LocalFleet(Command(tmp_path_factory.mktemp("walk")))
    try:
        started.join("here")
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="module")
def passwords(fleet: LocalFleet) -> dict[str, str]:
    """Accounts of two people."""
    return {name: make_user(fleet, name) for name in ("ada", "ben")}


@pytest.fixture
def walk(fleet: LocalFleet, passwords: dict[str, str], browser: Any) -> Iterator[Visit]:
    assert passwords
    with visiting(browser, fleet.url, {}) as visit:
        yield visit


def make_user(fleet: LocalFleet, name: str) -> str:
    """Make an account; return its password."""
    made = fleet.command("users", "add", name)
    assert made.returncode == 0, made.stderr
    return made.stdout.rpartition(" ")[2].strip()


def pack(name: str) -> dict[str, Any]:
    content = pack_package(run=f"#!/bin/sh\nsleep {SLEEPS[name]}\n", collect=COLLECT)
    return {"name": f"{name}.tar.gz", "mimeType": "application/gzip", "buffer": content}


def look_at(page: Any) -> None:
    """Nothing on the page is a bar to anybody: wide and light, narrow and dark."""
    for scheme, width in (("dark", 360), ("light", 1200)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        assert find_violations(page) == [], (page.url, scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url


def make_experiment(walk: Visit, password: str) -> None:
    """Upload two packages and go through the steps, to the page of the experiment."""
    page = walk.page
    walk.open("/experiments/new")
    page.get_by_label("Name", exact=True).fill("brisk-or-slow")
    page.get_by_label("Question").fill("Which sleeps less?")
    page.get_by_label("Files").set_input_files([pack(name) for name in SLEEPS])
    # The session ends while one types: all that is to be done again is to choose the files.
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Upload").click()
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="New experiment").wait_for()
    assert page.get_by_label("Name", exact=True).input_value() == "brisk-or-slow"
    assert page.get_by_label("Question").input_value() == "Which sleeps less?"
    page.get_by_label("Files").set_input_files([pack(name) for name in SLEEPS])
    page.get_by_role("button", name="Upload").click()
    page.get_by_text('Stored the package "slow"').wait_for()
    page.get_by_role("button", name="Next: machines").click()
    page.get_by_text("1 of 1").wait_for()
    page.get_by_role("button", name="Next: space").click()
    page.get_by_role("radio", name="never: the fastest").check()
    page.get_by_label("Replicates").last.fill("4")
    page.locator("[data-trials='8']").wait_for()
    page.get_by_role("button", name="Next: check and submit").click()
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("heading", name="brisk-or-slow").wait_for()


def watch_to_the_end(page: Any) -> None:
    """Look at the page of an experiment, which nobody touches, until all trials have counted."""
    page.evaluate("window.stays = true")
    page.get_by_text("live", exact=True).wait_for()
    page.locator("#progress .state", has_text="completed").first.wait_for(timeout=MOST_MS)
    assert page.locator("#progress").get_by_text("8 of 8").count() == 1
    # Before its end it said that there is no answer yet.
    page.locator("#answer figure.chart svg").wait_for()
    assert page.evaluate("window.stays") is True, "the page was loaded again"


def test_two_people_go_from_a_package_to_a_verdict(passwords: dict[str, str], walk: Visit) -> None:
    page = walk.page
    walk.log_in("ada", passwords["ada"])
    make_experiment(walk, passwords["ada"])
    number = int(page.url.rpartition("/")[2])
    watch_to_the_end(page)
    headline = page.locator("#answer .headline").inner_text()
    assert headline.startswith("brisk is better: by wall_time"), headline
    look_at(page)
    page.get_by_role("link", name="Publish", exact=True).click()
    page.get_by_label("Everybody who reaches").check()
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("heading", name="Cite it").wait_for()
    address = page.url.removeprefix(walk.url)
    page.get_by_role("button", name="Log out").click()
    # A stranger reads it.
    walk.open(address)
    assert page.locator(".answer .headline").inner_text() == headline
    assert page.locator(".answer figure.chart svg").count() == 1
    assert page.request.get(f"{walk.url}/experiments/{number}", max_redirects=0).status == 302
    badge = page.request.get(f"{page.url}/badge.svg").text()
    assert "<title>datamill: brisk " in badge
    assert "times as fast as " in badge
    look_at(page)
    # Ben makes it his own, and then runs it again as it is.
    walk.log_in("ben", passwords["ben"])
    walk.open(address)
    page.get_by_role("link", name="Fork").click()
    page.locator("[data-trials='8']").wait_for()
    page.get_by_role("button", name="Submit").click()
    page.get_by_text("Submitted.").wait_for()
    watch_to_the_end(page)
    walk.open(address)
    page.get_by_role("link", name="Run it again here").click()
    page.get_by_label("A ratio may differ").select_option("0.2")
    page.get_by_role("button", name="Run it again").click()
    page.get_by_text("The verdict comes when both have ended.").wait_for()
    watch_to_the_end(page)
    verdict = page.locator("#reruns .headline")
    verdict.wait_for()
    assert verdict.inner_text().startswith(VERDICTS), verdict.inner_text()
    assert page.locator("#reruns figure.chart svg").count() == 1
    look_at(page)
    walk.open(address)
    assert page.locator("#again-title ~ table .state").count() == 1
