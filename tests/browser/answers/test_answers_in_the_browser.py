"""Answers on the experiment's page, as readers ask for them, with figures to take home."""

from __future__ import annotations

from typing import Any

from axe import find_violations


def test_the_answer_comes_first_with_its_picture_and_other_questions_are_a_click_away(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    page.get_by_role("link", name="compression").click()
    headline = page.locator("#answer .headline")
    headline.wait_for()
    assert "xz is better" in headline.inner_text()
    assert page.locator("#answer figure.chart svg").count() == 1
    box, progress = (page.locator(part).bounding_box() for part in ("#answer", "#progress"))
    assert box["y"] + box["height"] <= progress["y"]
    assert page.locator("#answer li").first.inner_text().startswith("What else mattered")
    # On a phone the picture is all there, and in the list an answer has the whole line.
    wide = page.viewport_size
    page.set_viewport_size({"width": 360, "height": 800})
    frame, picture = (page.locator(f"#answer figure {part}").bounding_box() for part in (".scroll", "svg"))
    assert picture["x"] + picture["width"] <= frame["x"] + frame["width"]
    page.go_back()
    assert page.locator("td.outcome", has_text="xz is better").bounding_box()["width"] > 300
    page.go_forward()
    page.set_viewport_size(wide)
    headline.wait_for()
    # Trials, events and files stand below, folded.
    assert not page.locator("#trials").is_visible()
    page.get_by_role("link", name="Ask something else of these trials").click()
    page.get_by_label("What do you want to know?").select_option("summary")
    page.get_by_label("optimization", exact=True).check()
    page.get_by_role("button", name="Analyse").click()
    page.locator("#result figure.chart svg").first.wait_for()
    assert "factor=optimization" in page.url
    with page.expect_download() as download:
        page.locator("#result").get_by_role("link", name="PNG").first.click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    # The same address shows the same result, to others as well.
    said = page.locator("#result .headline").inner_text()
    page.reload()
    assert page.locator("#result .headline").inner_text() == said


def test_figures_come_alive_in_place_once_they_are_asked_for(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    sizes: list[int] = []
    page.on("response", lambda answer: sizes.append(len(answer.body())))
    visit.open("/experiments/3")
    page.locator("#answer figure.chart").wait_for()
    # A reader who does not ask loads nothing of it.
    assert page.locator("iframe").count() == 0
    assert sum(sizes) < 300_000
    page.get_by_text("Figures that answer to the mouse").click()
    report = page.frame_locator("#answer iframe")
    report.locator("#evidence ~ figure.chart .live svg").first.wait_for()
    # It is in a world of its own, also here.
    frame = page.frames[1]
    assert frame.evaluate("self.origin") == "null"
    assert page.locator("#answer iframe").get_attribute("sandbox") == "allow-scripts allow-downloads"
    for scheme, width in (("dark", 360), ("light", 1200)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        assert find_violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Axe asks the frame, which is shut off.
    usual = "Failed to execute 'postMessage'"
    assert all(usual in said for said in visit.complaints), visit.complaints
    visit.complaints.clear()


def test_the_report_is_alive_and_cannot_touch_the_site(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    visit.open("/experiments/3/report")
    figures = page.locator("figure.chart").count()
    page.wait_for_function(f"document.querySelectorAll('figure.chart .live svg').length === {figures}")
    assert visit.complaints == []
    assert page.evaluate("self.origin") == "null"
    reached = page.evaluate("fetch('/experiments').then(() => 'reached', () => 'refused')")
    assert reached == "refused"
    # The attempt is what it complains of, and nothing else.
    assert all("/experiments" in said and "Security Policy" in said for said in visit.complaints), (
        visit.complaints
    )
    visit.complaints.clear()
