"""Pages of experiments: live, safe, and for those alone who may see them."""

from typing import Any

HOSTILE = '<script>document.title="hacked"</script>'


def test_progress_and_output_appear_while_the_page_is_open(visit: Any, pages: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    page.get_by_role("link", name="xz-vs-bzip2").click()
    page.get_by_text("live", exact=True).wait_for()
    before = int(page.locator(".counts li", has_text="counted").locator("b").first.inner_text())
    # A page that was reloaded would have lost this.
    page.evaluate("window.stays = true")
    pages.obey("count 3")
    page.locator(".counts li", has_text="counted").get_by_text(str(before + 3), exact=True).wait_for()
    assert page.evaluate("window.stays") is True

    visit.open("/experiments")
    page.get_by_role("link", name="debug-it").click()
    page.get_by_text("live", exact=True).wait_for()
    pages.obey(f"print compiling {HOSTILE}")
    output = page.locator("pre[data-trial]").first
    output.get_by_text(f"compiling {HOSTILE}").wait_for()
    # A piece of an earlier phase that comes late stands where it belongs.
    pages.obey("late setup is over")
    output.get_by_text("setup is over").wait_for()
    phases = output.locator("span").evaluate_all("all => all.map((item) => item.dataset.phase)")
    assert phases == ["setup", "setup", "run"]
    assert output.locator("[data-first]").count() == 2
    assert page.title() == "debug-it · datamill"


def test_hostile_text_is_shown_and_not_run(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    page.get_by_role("link", name="link-order").click()
    assert page.locator(".lead").inner_text() == HOSTILE
    assert page.title() == "link-order · datamill"
    visit.open("/experiments")
    page.get_by_role("link", name="xz-vs-bzip2").click()
    page.get_by_role("link", name="Under way").click()
    page.locator("#trials .tabs [aria-current]", has_text="Under way").wait_for()
    page.locator("#trials tbody a").last.click()
    page.get_by_text(f"The machine went down in it: {HOSTILE}").first.wait_for()
    # Neither text of others nor the page itself may bring scripts along.
    header = page.reload().headers["content-security-policy"]
    assert "script-src 'self'" in header
    assert "unsafe" not in header


def test_files_of_attempts_are_downloaded_and_never_shown(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    page.get_by_role("link", name="link-order").click()
    page.get_by_text("each with what its machine recorded").click()
    page.locator("#trials tbody a").first.click()
    with page.expect_download() as download:
        page.get_by_role("link", name="run.stdout").click()
    assert download.value.path().read_text() == "<script>alert(1)</script>\n"
    with page.expect_download() as download:
        page.get_by_role("link", name="record.json").click()
    assert '"outcome": "completed"' in download.value.path().read_text()


def test_experiments_of_others_are_not_there_unless_public(visit: Any) -> None:
    visit.log_in("bob")
    page = visit.page
    assert page.get_by_role("link", name="xz-vs-bzip2").count() == 0
    page.get_by_role("link", name="Public").click()
    page.get_by_role("link", name="xz-vs-bzip2").click()
    page.get_by_role("heading", name="xz-vs-bzip2").wait_for()
    # It may be looked at and forked, not cancelled.
    assert page.get_by_text("Cancel …").count() == 0
    number = int(page.url.rpartition("/")[2])
    for path in (
        "",
        "/progress",
        "/stream",
        "/trials",
        "/events",
        "/file",
        "/answer",
        "/bundle",
        "/trials/m1-t01",
    ):
        answer = page.request.get(f"{visit.url}/experiments/{number + 1}{path}")
        assert answer.status == 404, path
    token = page.context.cookies()
    forged = {"X-CSRFToken": next(item["value"] for item in token if item["name"] == "csrftoken")}
    assert page.request.post(f"{visit.url}/experiments/{number}/cancel").status == 403
    answer = page.request.post(f"{visit.url}/experiments/{number}/cancel", headers=forged)
    assert answer.status == 403
    assert "alice" in answer.text()


def test_an_experiment_that_waits_is_released_and_cancelled(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    page.get_by_role("link", name="held-back").click()
    page.get_by_text("A debug trial failed: run.sh of bzip2 ended with status 1.").first.wait_for()
    page.get_by_role("button", name="Release").click()
    page.get_by_text("Released: its trials are handed out from now on.").wait_for()
    assert page.locator("#progress .state").first.inner_text() == "running"
    page.get_by_text("Cancel …").click()
    page.get_by_role("button", name="Cancel the experiment").click()
    page.get_by_text("What was measured before is kept.").wait_for()
    assert page.locator("#progress .state").first.inner_text() == "cancelled"


def test_pages_can_be_read_without_scripts(browser: Any, pages: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{pages.url}/login")
    page.fill("#id_username", "alice")
    page.fill("#id_password", "correct-horse-battery")
    page.click("button.main")
    page.get_by_role("link", name="xz-vs-bzip2").click()
    # Beside the bar of progress, and below the table of trials.
    assert page.get_by_text("of 160").count() == 2
    page.get_by_role("link", name="Under way").click()
    assert page.locator("#trials tbody tr").count() >= 1
    page.goto(f"{pages.url}/experiments/new")
    page.fill("#name", "plain")
    page.check("input[name=p] >> nth=0")
    page.get_by_role("button", name="Next: machines").click()
    page.get_by_role("button", name="Next: space").click()
    page.check("input[name=in][value=arch]")
    page.check("input[name=reboot][value=never]")
    page.get_by_role("button", name="Update the preview").click()
    assert page.locator("[data-trials='10']").count() == 1
    context.close()
