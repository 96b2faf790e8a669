"""Pages of what went wrong or has not come yet: they say so, without a number, and are no bar to anybody."""

from __future__ import annotations

from typing import Any

import pytest
from axe import find_violations

FILE = """[experiment]
name = "no-trial-completed"
replicates = 1
[[package]]
name = "xz"
path = "xz"
[fleet]
reboot = "never"
"""
LOOKS = (("dark", 360), ("light", 1200))


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_an_experiment_without_a_completed_trial_says_what_there_is(
    visit: Any, scheme: str, width: int
) -> None:
    visit.log_in("alice")
    page = visit.page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    visit.open("/experiments/new/file")
    page.get_by_label("Experiment file").fill(FILE)
    page.locator("[data-trials]").wait_for()
    page.get_by_role("button", name="Submit").click()
    page.get_by_text("It comes when trials have been counted.").wait_for()
    assert find_violations(page) == []
    page.get_by_text("Cancel …").click()
    page.get_by_role("button", name="Cancel the experiment").click()
    page.locator("#answer").get_by_text("There is no answer yet: no trial gave a valid").wait_for()
    assert page.locator("#answer figure").count() == 0
    assert page.get_by_role("link", name="Publish", exact=True).count() == 0
    assert find_violations(page) == []
    number = page.url.rpartition("/")[2]
    for path in ("analysis?verb=summary", "elsewhere", "reruns", "answer"):
        assert visit.open(f"/experiments/{number}/{path}").status == 200
        assert page.locator("figure").count() == 0
        assert find_violations(page) == [], path
    visit.open(f"/experiments/{number}/publish")
    page.get_by_label("Everybody who reaches").check()
    page.get_by_role("button", name="Publish").click()
    page.locator(".message.bad").wait_for()
    assert find_violations(page) == []
    # The browser says of what is refused that it is.
    assert all("400" in said for said in visit.complaints), visit.complaints
    visit.complaints.clear()


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_a_publication_whose_archive_was_damaged_shows_no_number(
    pages: Any, visit: Any, scheme: str, width: int
) -> None:
    visit.log_in("alice")
    page = visit.page
    visit.open("/experiments/3/publish")
    page.get_by_label("Everybody who reaches").check()
    page.get_by_role("button", name="Publish").click()
    headline = page.locator(".answer .headline").inner_text()
    key = page.url.rpartition("/")[2]
    pages.obey(f"damage {key}")
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    for path in (f"/publications/{key}", f"/publications/{key}/embed"):
        visit.open(path)
        page.get_by_text("is damaged").first.wait_for()
        assert headline not in page.content()
        assert page.locator("figure").count() == 0
        assert find_violations(page) == [], path
    assert "damaged" in page.request.get(f"{visit.url}/publications/{key}/badge.svg").text()
