"""The whole walk in a browser that runs no scripts: nothing is done twice, and no place stays empty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browser.conftest import Pages, Visit, visiting
from browser.made_fleet.submissions import pack_package

#: Parts of a page that show nothing at all.
_EMPTY = """() => [...document.querySelectorAll("main :is(section, aside, figure, .panel)")]
  .filter((part) => part.checkVisibility() && !part.textContent.trim())
  .filter((part) => !part.querySelector("svg, input, img"))
  .map((part) => part.outerHTML.slice(0, 120))"""
SCRIPTS = {"run": "#!/bin/sh\nsleep 0.01\n", "collect": "#!/bin/sh\necho r.tgz\n"}


@pytest.fixture
def still(pages: Pages, browser: Any) -> Iterator[Visit]:
    """A browser that runs no scripts, in which nobody is logged in."""
    with visiting(browser, pages.url, {}, java_script_enabled=False) as visit:
        yield visit


def find_empty(page: Any) -> list[str]:
    found: list[str] = page.evaluate(_EMPTY)
    return found


def pack(name: str) -> dict[str, Any]:
    content = pack_package(**SCRIPTS | {"run": f"#!/bin/sh\n# {name}\nsleep 0.01\n"})
    return {"name": f"{name}.tar.gz", "mimeType": "application/gzip", "buffer": content}


def make_experiment(page: Any, url: str, name: str, *, checked: bool = False) -> str:
    """Upload two packages on the way through the steps; return the address of what was made."""
    page.goto(f"{url}/experiments/new")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Question").fill("Which of the two?")
    page.get_by_label("Files").set_input_files([pack("still-a"), pack("still-b")])
    page.get_by_role("button", name="Upload").click()
    page.get_by_text('Stored the package "still-b"').wait_for()
    # What was typed above went along.
    assert page.get_by_label("Name", exact=True).input_value() == name
    assert page.get_by_label("Question").input_value() == "Which of the two?"
    page.get_by_role("button", name="Next: machines").click()
    page.get_by_label("Memory", exact=True).fill("1 GiB")
    page.get_by_role("button", name="Update the count").click()
    assert page.get_by_text("machines may take part", exact=True).is_visible()
    page.get_by_role("button", name="Next: space").click()
    page.check("input[name=reboot][value=never]")
    page.check("input[name=debug][value=never]")
    page.fill("#replicates", "6")
    page.get_by_role("button", name="Update the preview").click()
    assert page.locator("[data-trials]").count() == 1
    assert find_empty(page) == []
    page.get_by_role("button", name="Next: check and submit").click()
    if checked:
        page.get_by_role("button", name="Check again").click()
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("heading", name=name).wait_for()
    return str(page.url)


def test_the_whole_walk_needs_no_scripts(pages: Pages, still: Visit) -> None:
    page = still.page
    still.log_in("alice")
    made = make_experiment(page, pages.url, "still", checked=True)
    assert page.get_by_text("this page stands still: reload it").is_visible()
    assert find_empty(page) == []
    number = int(made.rpartition("/")[2])
    pages.obey(f"measure {number}")
    page.reload()
    assert page.locator("#progress .state").first.inner_text() == "completed"
    assert page.get_by_text("this page stands still").count() == 0
    page.locator("#answer").get_by_role("link", name="Show it").click()
    said = page.locator("#answer .headline").inner_text()
    assert page.locator("#answer figure.chart svg").count() == 1
    assert page.get_by_text("Figures that answer to the mouse").is_hidden()
    # From now on the page of the experiment says it at once.
    page.goto(made)
    assert page.locator("#answer .headline").inner_text() == said
    page.get_by_role("link", name="Publish", exact=True).click()
    page.get_by_label("Title").fill("Nothing moves")
    page.get_by_label("Everybody who reaches").check()
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("heading", name="Cite it").wait_for()
    address = page.url
    assert find_empty(page) == []
    page.context.clear_cookies()
    page.goto(address)
    assert page.locator(".answer .headline").inner_text() == said
    assert page.locator(".answer figure.chart svg").count() == 1
    still.log_in("bob")
    page.goto(address)
    page.get_by_role("link", name="Fork").click()
    page.get_by_role("button", name="Submit").click()
    page.get_by_text("Submitted.").wait_for()
    page.goto(address)
    page.get_by_role("link", name="Run it again here").click()
    page.get_by_label("A ratio may differ").select_option("0.1")
    page.get_by_role("button", name="Run it again").click()
    pages.obey(f"measure {page.url.rpartition('/')[2]}")
    page.reload()
    page.get_by_role("link", name="whether the result was reproduced").click()
    assert page.locator("#reruns .headline").inner_text() == "The result was reproduced, within ±10%."
    assert find_empty(page) == []


def test_the_way_back_makes_nothing_a_second_time(pages: Pages, still: Visit) -> None:
    page = still.page
    still.log_in("alice")
    made = make_experiment(page, pages.url, "still-back")
    page.go_back()
    page.get_by_role("button", name="Submit").click()
    page.get_by_text("This form was submitted before").wait_for()
    assert page.url == made
    # From the step before as well.
    page.go_back()
    page.go_back()
    page.get_by_role("button", name="Next: check and submit").click()
    page.get_by_role("button", name="Submit").click()
    page.get_by_text("This form was submitted before").wait_for()
    assert page.url == made
    pages.obey(f"measure {made.rpartition('/')[2]}")
    for link, button in (("Run again", "Run it again"), ("Publish", "Publish")):
        page.goto(made)
        page.get_by_role("link", name=link, exact=True).click()
        became = []
        for _ in range(2):
            if link == "Publish":
                page.get_by_label("Everybody who reaches").check()
            page.get_by_role("button", name=button).click()
            became.append(page.url)
            told = page.get_by_text("This form was sent before").count()
            page.go_back()
        assert became[0] == became[1], link
        assert told == 1, link
