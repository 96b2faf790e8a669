"""The whole walk without a mouse: from the login to a publication, a fork, a re-run and its verdict."""

from __future__ import annotations

from typing import Any

from browser.conftest import PASSWORD
from browser.walks.keyboard import Hands

#: Whose every place is gone through.
AROUND = (
    "/experiments", "/experiments/3", "/experiments/3/analysis?verb=summary&factor=package",
    "/experiments/new", "/experiments/new/machines", "/experiments/new/space", "/experiments/new/file",
    "/experiments/3/publish",
)  # fmt: skip

#: Counts how often the page changed, and how often nothing had the focus then.
_WATCH_THE_FOCUS = """() => {
  window.changes = 0; window.lost = 0;
  new MutationObserver(() => {
    window.changes += 1;
    if (document.activeElement === document.body) window.lost += 1;
  }).observe(document.getElementById("content"), {childList: true, subtree: true});
}"""


def log_in(hands: Hands, user: str) -> None:
    hands.page.get_by_role("heading", name="Log in to datamill").wait_for()
    assert hands.place["name"] == "User name"
    hands.type(user)
    hands.go_to("Password")
    hands.type(PASSWORD)
    hands.follow()
    hands.page.get_by_role("heading", name="Log in to datamill").wait_for(state="detached")


def make_experiment(hands: Hands, name: str) -> int:
    """Go through the wizard; return the number of what it made."""
    page = hands.page
    hands.go_to("New experiment")
    hands.follow()
    page.get_by_label("Name", exact=True).wait_for()
    hands.go_to("Name")
    hands.type(name)
    hands.go_to("Question")
    hands.type("Which is faster?")
    for package in ("xz", "bzip2"):
        hands.go_to(package)
        hands.press("Space")
        assert page.evaluate("document.activeElement.checked")
    # Enter in a field goes on, as the button below does.
    hands.go_to("Question", key="Shift+Tab")
    hands.follow()
    page.get_by_text("machines may take part", exact=True).wait_for()
    hands.go_to("Memory")
    # The count beside the form changes, and the focus stays.
    with page.expect_response(lambda answer: "/machines/preview" in answer.url):
        hands.type("1 GiB")
    assert hands.place["name"] == "Memory"
    hands.follow()
    page.locator("[data-trials]").wait_for()
    assert "min_memory=1+GiB" in page.url
    hands.go_to("Architecture")
    hands.press("Space")
    hands.go_to("Coverage of Architecture in percent")
    hands.press("ArrowLeft")
    assert page.evaluate("document.activeElement.value") == "95"
    hands.choose("before each trial where", "never: the fastest")
    hands.choose("first, then the rest", "none")
    hands.go_to("Next: check and submit")
    hands.follow()
    # The field of the file takes Tab for what it is elsewhere.
    hands.go_to("Experiment file")
    hands.go_to("Submit")
    hands.follow()
    page.get_by_role("heading", name=name).wait_for()
    return int(page.url.rpartition("/")[2])


def test_the_whole_walk_needs_no_mouse(pages: Any, visit: Any) -> None:
    page, hands = visit.page, Hands(visit.page)
    visit.open("/login")
    log_in(hands, "alice")
    number = make_experiment(hands, "by-keyboard")
    pages.obey(f"measure {number}")
    page.locator("#answer figure.chart").wait_for()
    hands.go_to("Ask something else of these trials")
    hands.follow()
    hands.go_to("What do you want to know?")
    hands.select("summary")
    hands.go_to("Analyse")
    hands.press("Enter")
    page.locator("#result figure.chart").first.wait_for()
    assert hands.place["name"] == "Analyse"
    hands.go_to(f"#{number}", key="Shift+Tab")
    hands.follow()
    page.locator("#answer figure.chart").wait_for()
    hands.go_to("Publish")
    hands.follow()
    hands.go_to("Title")
    hands.type("Measured by keyboard")
    hands.go_to("Everybody who reaches this coordinator")
    hands.press("Space")
    hands.go_to("Publish")
    hands.follow()
    page.get_by_role("heading", name="Cite it").wait_for()
    address = page.url
    hands.go_to("Log out")
    hands.follow()
    log_in(hands, "bob")
    page.goto(address)
    hands.go_to("Fork")
    hands.follow()
    page.locator("[data-trials]").wait_for()
    hands.go_to("Submit")
    hands.follow()
    page.get_by_text("Submitted.").wait_for()
    assert int(page.url.rpartition("/")[2]) == number + 1
    page.goto(address)
    hands.go_to("Run it again here")
    hands.follow()
    page.locator("[data-trials]").wait_for()
    hands.go_to("A ratio may differ by so much and still be the same result")
    hands.select("0.1")
    hands.go_to("Run it again")
    hands.follow()
    page.locator("#rerun-title").wait_for()
    pages.obey(f"measure {number + 2}")
    page.locator("#reruns .headline").wait_for()
    assert page.locator("#reruns .headline").inner_text() == "The result was reproduced, within ±10%."


def test_tab_goes_through_every_page_and_shows_where_it_is(visit: Any) -> None:
    visit.log_in("alice")
    for path in AROUND:
        visit.open(path)
        visit.page.locator("#content h1").wait_for()
        names = Hands(visit.page).go_around()
        assert names[0] == "Skip to the content"
        assert len(names) > 10, (path, names)


def test_the_focus_stays_where_it_was_when_a_part_of_the_page_is_replaced(visit: Any) -> None:
    visit.log_in("alice")
    page, hands = visit.page, Hands(visit.page)
    visit.open("/experiments/2")
    hands.go_to("Trials, each with what its machine recorded")
    hands.press("Enter")
    hands.go_to("Counted")
    page.evaluate(_WATCH_THE_FOCUS)
    hands.press("Enter")
    page.locator("#trials .tabs [aria-current]", has_text="Counted").wait_for()
    assert page.evaluate("[window.changes > 0, window.lost]") == [True, 0]
    assert hands.place["name"] == "Counted"
    # The list of experiments is asked for again by itself.
    visit.open("/experiments?search=compression")
    said = page.locator("a.verdict").first.inner_text()
    hands.go_to(said)
    again = "document.activeElement.textContent.trim()"
    page.evaluate("document.activeElement.dataset.before = 'yes'")
    page.evaluate("htmx.ajax('GET', location.href, {target: '#rows', swap: 'outerHTML'})")
    page.locator("a.verdict:not([data-before])").first.wait_for()
    page.wait_for_function(f"said => {again} === said", arg=said)
    # What is no longer there leaves the focus in the part that took its place.
    page.evaluate("htmx.ajax('GET', '/experiments?search=unheard-of', {target: '#rows', swap: 'outerHTML'})")
    page.wait_for_function("() => document.activeElement.id === 'rows'")
    hands.press("Tab")
    assert not hands.place["lost"]


def test_a_phone_shows_what_has_the_focus_beside_the_preview(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    page.set_viewport_size({"width": 360, "height": 800})
    visit.open("/experiments/new/space?name=narrow")
    # Each place on the way must show; going around fails where one does not.
    assert len(Hands(page).go_around()) > 10
