"""From an answer to a publication, to another user's re-run and its verdict, to a withdrawal."""

from __future__ import annotations

import re
from typing import Any

from axe import find_violations

#: Text that is wider than the window makes all of the page move.
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_a_result_is_published_run_again_by_another_and_withdrawn(pages: Any, visit: Any) -> None:
    page = visit.page
    visit.log_in("alice")
    visit.open("/experiments/3")
    page.get_by_role("link", name="Publish", exact=True).click()
    page.get_by_label("Title").fill("<script>alert(1)</script> xz or bzip2?")
    page.get_by_label("Authors, one a line").fill("Doe, Alice\nThe Lab")
    page.get_by_label("Everybody who reaches").check()
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("heading", name="Cite it").wait_for()
    address = page.url.removeprefix(visit.url)
    headline = page.locator(".answer .headline").inner_text()
    # A stranger reads the same, on a small screen as well.
    page.context.clear_cookies()
    page.set_viewport_size({"width": 360, "height": 800})
    visit.open(address)
    assert page.locator(".answer .headline").inner_text() == headline
    assert page.locator(".answer figure.chart svg").count() == 1
    assert page.evaluate(OVERFLOW) == 0
    assert find_violations(page) == []
    assert "Doe A. and The Lab" in page.locator("#citation").inner_text()
    assert page.locator("img[alt^=Badge]").evaluate("image => image.naturalWidth") > 0
    badge = page.request.get(f"{visit.url}{address}/badge.svg").text()
    assert re.search(
        r"datamill: xz 1\.\d+ times as fast as bzip2 \(1\.\d+ to 1\.\d+\), average of 2 machines<", badge
    )
    with page.expect_download() as download:
        page.get_by_role("link", name="Download,").click()
    assert download.value.path().read_bytes().startswith(b"PK")
    page.set_viewport_size({"width": 1200, "height": 900})
    visit.log_in("bob")
    visit.open(address)
    page.get_by_role("link", name="Run it again here").click()
    page.get_by_label("A ratio may differ").select_option("0.1")
    page.get_by_role("button", name="Run it again").click()
    page.locator("#rerun-title").wait_for()
    number = page.url.rpartition("/")[2]
    pages.obey(f"measure {number}")
    page.reload()
    page.locator("#reruns .headline").wait_for()
    assert page.locator("#reruns .headline").inner_text() == "The result was reproduced, within ±10%."
    assert page.locator("#reruns figure.chart svg").count() == 1
    assert find_violations(page) == []
    page.get_by_role("link", name="Both side by side").click()
    page.get_by_text("The experiment file is the same.").wait_for()
    page.context.clear_cookies()
    visit.open(address)
    assert page.locator("#again-title ~ table .state").inner_text() == "reproduced"
    visit.log_in("alice")
    visit.open(address)
    page.get_by_text("Withdraw it").click()
    page.get_by_label("Why, for those who cite it").fill("The clock was wrong.")
    page.get_by_role("button", name="Withdraw the publication").click()
    page.locator("#reason").wait_for()
    assert headline not in page.content()
    assert find_violations(page) == []
    # The browser says of a page that is gone that it is gone.
    assert all("410" in said for said in visit.complaints), visit.complaints
    visit.complaints.clear()
