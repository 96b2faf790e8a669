"""Workers, quarantine, audit log and account in the browser, and what every page owes its readers."""

from pathlib import Path
from typing import Any

import pytest
from axe import find_violations
from running.nightly import choose_count

ADMIN_PAGES = ("/audit", "/users", "/administration", "/experiments?whose=all")
PAGES = (
    "/experiments", "/experiments?whose=public", "/experiments/1", "/experiments/4", "/experiments/1/events",
    "/experiments/3", "/experiments/3/answer", "/experiments/3/analysis?verb=anova&factor=package",
    "/experiments/1/elsewhere",
    "/experiments/new", "/experiments/new/from", "/experiments/new/machines", "/experiments/new/space",
    "/experiments/new/file",
    "/packages", "/packages?whose=all&search=unheard-of", "/workers", "/workers/atom",
    "/workers?search=unheard-of", "/queue", "/factors", "/factors?search=unheard-of",
    "/quarantine", "/account", "/notices", "/words",
)  # fmt: skip
#: What else is to be read: results of others, experiments side by side, forms behind a link.
MORE_PAGES = (
    "/publications", "/publications?search=unheard-of", "/compare", "/compare?id=1&id=3",
    "/experiments/3/rerun", "/experiments/3/reruns", "/experiments/3/publish", "/factors/optimization",
    "/workers/lab-1",
)  # fmt: skip

#: Faults of a page, and its text that is too pale for WCAG AA.
FAULTS, PALE = (Path(__file__).with_name(name).read_text() for name in ("faults.js", "pale.js"))


def test_a_package_is_asked_for_on_machines_that_did_not_run_it(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    page.get_by_role("link", name="xz-vs-bzip2").click()
    page.get_by_role("link", name="On machines that did not run it").click()
    page.get_by_role("heading", name="xz-vs-bzip2 on machines that did not run it").wait_for()
    visit.open("/experiments/4/elsewhere")
    page.get_by_text("No trial of its design has ended, so there is nothing to predict from.").wait_for()
    page.get_by_role("link", name="#4").click()
    page.get_by_role("heading", name="debug-it").wait_for()


def test_a_package_says_what_is_in_it_and_who_used_it(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    page.get_by_role("link", name="Packages", exact=True).click()
    page.get_by_label("Search").fill("xz")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="xz", exact=True).click()
    page.get_by_text("exec xz -k corpus").wait_for()
    assert (page.evaluate(FAULTS), page.evaluate(PALE)) == ([], [])
    page.get_by_role("link", name="compression").click()
    page.get_by_role("heading", name="compression", exact=True).wait_for()


def test_machines_are_found_by_their_processor(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    visit.open("/workers")
    page.get_by_label("Search").fill("neoverse")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="altra").wait_for()
    assert page.get_by_role("link", name="ryzen").count() == 0


def test_a_token_is_shown_once_with_the_command_to_type(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    visit.open("/workers")
    page.get_by_role("button", name="Make a token").click()
    command = page.locator("[data-token]").inner_text()
    assert command.startswith(f"datamill worker join {visit.url} --token ")
    assert page.evaluate("document.body.innerText").count("--token") == 1
    page.get_by_role("link", name="Workers", exact=True).click()
    assert page.locator("[data-token]").count() == 0
    assert page.get_by_text("of your tokens").count() == 1


def test_a_machine_is_drained_and_resumed_by_its_owner_alone(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    visit.open("/workers/ryzen")
    assert page.get_by_role("button", name="Drain").count() == 0
    visit.open("/workers/lab-1")
    page.get_by_role("button", name="Drain").click()
    page.get_by_text("lab-1 gets no further trials").wait_for()
    page.get_by_role("button", name="Resume").click()
    page.get_by_text("lab-1 gets trials again").wait_for()


def test_a_machine_says_what_it_offers_and_what_it_lacks(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    visit.open("/workers/pi-4")
    page.get_by_text("factors and their levels").click()
    page.get_by_text("mimalloc: libmimalloc is not installed").wait_for()
    page.get_by_text("the machine has no such setting").wait_for()
    page.get_by_text("1 d ahead of ours").wait_for()


def test_quarantine_is_lifted_by_an_administrator(visit: Any) -> None:
    visit.log_in("admin")
    page = visit.page
    visit.open("/quarantine")
    page.get_by_text("3 workers went down under it").wait_for()
    page.get_by_role("button", name="Lift").click()
    page.get_by_text("No package is in quarantine.").wait_for()
    visit.open("/audit?kind=quarantine+lifted")
    assert page.locator("tbody tr").count() == 1


def test_the_audit_log_is_for_administrators(visit: Any) -> None:
    visit.log_in("bob")
    assert visit.page.request.get(f"{visit.url}/audit").status == 403
    assert visit.page.request.get(f"{visit.url}/experiments?whose=all").text().count("debug-it") == 0


def test_an_administrator_makes_accounts_and_closes_them(visit: Any) -> None:
    visit.log_in("admin")
    page = visit.page
    visit.open("/users")
    page.get_by_label("User name").fill("carol")
    page.get_by_role("button", name="Make the account").click()
    password = page.locator("[data-password]").inner_text()
    page.get_by_role("link", name="Users").click()
    assert page.get_by_text(password).count() == 0
    fresh = page.context.browser.new_context()
    other = fresh.new_page()
    other.goto(f"{visit.url}/login")
    other.get_by_label("User name").fill("carol")
    other.get_by_label("Password").fill(password)
    other.get_by_role("button", name="Log in").click()
    other.get_by_text("You have not submitted an experiment yet.").wait_for()
    assert other.request.get(f"{visit.url}/users").status == 403
    page.get_by_role("button", name="Close the account of carol").click()
    page.get_by_text("The account of carol is closed.").wait_for()
    other.reload()
    other.get_by_role("heading", name="Log in to datamill").wait_for()
    fresh.close()


def test_a_key_is_shown_once_and_can_be_revoked(visit: Any) -> None:
    visit.log_in("bob")
    page = visit.page
    visit.open("/account")
    page.get_by_label("Where it is used").fill("<b>laptop</b>")
    page.get_by_role("button", name="Make a key").click()
    key = page.locator("[data-key]").inner_text().rpartition("=")[2]
    headers = {"Authorization": f"Bearer {key}"}
    page.context.clear_cookies()
    assert page.request.get(f"{visit.url}/api/me", headers=headers).json()["user"] == "bob"
    visit.log_in("bob")
    visit.open("/account")
    assert page.get_by_text(key).count() == 0
    page.get_by_role("button", name="Revoke the key <b>laptop</b>").click()
    page.get_by_text('The key "<b>laptop</b>" is void.').wait_for()
    page.context.clear_cookies()
    assert page.request.get(f"{visit.url}/api/me", headers=headers).status == 401


def test_a_wrong_password_is_refused_and_pages_ask_for_one(visit: Any) -> None:
    page = visit.page
    visit.open("/workers/lab-1")
    assert page.url.endswith("/login?next=/workers/lab-1")
    page.get_by_label("User name").fill("alice")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    page.get_by_text("Name and password do not fit together").wait_for()
    page.get_by_label("Password").fill("correct-horse-battery")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="lab-1").wait_for()
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("heading", name="Log in to datamill").wait_for()


#: Schemes differ in colours, widths in places: a change asks for each once, the night for both in both.
LOOKS = (("light", 1200), ("dark", 360), ("light", 360), ("dark", 1200))[: choose_count(2, 4)]


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_axe_finds_nothing_on_any_page(visit: Any, scheme: str, width: int) -> None:
    visit.log_in("admin")
    page = visit.page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    for path in (*PAGES, *ADMIN_PAGES, *MORE_PAGES):
        visit.open(path)
        # But for frames, which are pages by themselves.
        page.evaluate(
            "document.querySelectorAll('details:not([data-frame])').forEach(item => { item.open = true; })"
        )
        assert find_violations(page) == [], path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_has_names_contrast_and_room_on_a_phone(visit: Any, scheme: str) -> None:
    visit.log_in("admin")
    page = visit.page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 360, "height": 800})
    for path in (*PAGES, *ADMIN_PAGES, *MORE_PAGES):
        assert visit.open(path).status == 200, path
        assert page.evaluate(FAULTS) == [], path
        assert page.evaluate(PALE) == [], path
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, f"{path} is {width} pixels wide"


def test_the_keyboard_reaches_the_content_and_shows_where_it_is(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    visit.open("/workers")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
