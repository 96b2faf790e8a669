"""Experiments side by side: their results compared, with the figure, on wide and on narrow screens."""

from __future__ import annotations

from typing import Any

import pytest
from axe import find_violations

#: Text that is wider than the window makes all of the page move.
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def run_again(pages: Any, visit: Any) -> str:
    """Run the third experiment again, measure it, and return its number."""
    visit.open("/experiments/3/rerun")
    visit.page.get_by_role("button", name="Run it again").click()
    visit.page.locator("#rerun-title").wait_for()
    number = str(visit.page.url.rpartition("/")[2])
    pages.obey(f"measure {number}")
    return number


@pytest.fixture(scope="module")
def compared() -> dict[str, list[str]]:
    """What the first test measured, for the others."""
    return {"numbers": []}


@pytest.mark.parametrize("width", [1200, 360])
def test_results_are_compared_with_their_history(
    pages: Any, visit: Any, compared: dict[str, list[str]], width: int
) -> None:
    visit.log_in("admin")
    page = visit.page
    if not compared["numbers"]:
        compared["numbers"] = ["3", run_again(pages, visit), run_again(pages, visit)]
    numbers = compared["numbers"]
    page.set_viewport_size({"width": width, "height": 900})
    visit.open("/compare")
    page.get_by_label("Numbers of experiments").fill(" ".join(numbers))
    page.get_by_role("button", name="Compare", exact=True).click()
    page.locator("#comparison .headline").wait_for()
    picture = page.locator("#comparison figure.chart svg").first
    frame, drawn = page.locator("#comparison figure .scroll").first.bounding_box(), picture.bounding_box()
    assert drawn["width"] > 250
    assert drawn["x"] + drawn["width"] <= frame["x"] + frame["width"]
    assert page.evaluate(OVERFLOW) == 0
    for number in numbers:
        assert page.locator("#comparison td").get_by_role("link", name=f"#{number}", exact=True).count() == 1
    assert find_violations(page) == []
    page.get_by_label("Package", exact=True).select_option("bzip2")
    page.get_by_label("A change is too small").fill("90%")
    page.get_by_role("button", name="Compare the results").click()
    page.get_by_text("of package bzip2 at").wait_for()
    assert "where=package%3Dbzip2" in page.url
    with page.expect_download() as download:
        page.locator("#comparison").get_by_role("link", name="PNG").first.click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    page.locator("#comparison td").get_by_role("link", name="#3", exact=True).click()
    page.get_by_role("heading", name="compression", exact=True).wait_for()
