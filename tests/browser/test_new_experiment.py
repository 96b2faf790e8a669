"""A new experiment in the browser: three steps with a live preview, then as a file."""

import io
import re
import tarfile
from typing import Any

HOSTILE = '<script>document.title="hacked"</script>'


def pack(**scripts: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in scripts.items():
            member = tarfile.TarInfo(f"{name}.sh")
            member.mode, member.size = 0o755, len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


def wait_for_trials(page: Any, count: int) -> None:
    page.locator(f"[data-trials='{count}']").wait_for()


def test_three_steps_with_a_live_preview_make_an_experiment(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    page.get_by_role("link", name="New experiment").click()
    page.get_by_label("Name", exact=True).fill("three-steps")
    page.get_by_label("Question").fill("Does -O3 help?")
    page.get_by_role("checkbox", name="xz", exact=False).check()
    page.get_by_role("button", name="Next: machines").click()

    # The drained machine is not counted; memory leaves out the small one while it is typed.
    page.get_by_text("5 of 5").wait_for()
    page.get_by_label("Memory", exact=True).fill("8 GiB")
    page.get_by_text("4 of 5").wait_for()
    page.get_by_text("Why 1 may not").click()
    page.get_by_text("4.0 GiB of memory, and min_memory wants 8.0 GiB").wait_for()
    page.get_by_role("button", name="Next: space").click()

    wait_for_trials(page, 5)
    page.get_by_role("radio", name="never: the fastest").check()
    page.get_by_role("checkbox", name="Architecture").check()
    wait_for_trials(page, 10)
    page.get_by_role("checkbox", name="optimization").check()
    wait_for_trials(page, 50)
    # Moving a slider changes number, words and preview.
    slider = page.get_by_role("slider", name="Coverage of optimization in percent")
    slider.fill("40")
    wait_for_trials(page, 20)
    assert page.get_by_role("spinbutton", name="Coverage of optimization in percent").input_value() == "40"
    row = page.locator(".dimension", has=page.locator("input[value=optimization]"))
    assert row.locator("output").inner_text() == "2 of 5, at random"
    slider.focus()
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    wait_for_trials(page, 10)
    assert row.locator("output").inner_text() == "one level at random"
    page.get_by_label("Replicates").last.fill("3")
    wait_for_trials(page, 6)
    page.get_by_role("button", name="Next: check and submit").click()

    text = page.get_by_label("Experiment file").input_value()
    assert 'arch = "100%"' in text
    assert 'optimization = "0%"' in text
    assert 'min_memory = "8 GiB"' in text
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the file").click()
    assert download.value.path().read_text() == text
    # What experts change in the text is previewed as well.
    page.get_by_label("Experiment file").fill(text.replace("replicates = 3", "replicates = 4"))
    wait_for_trials(page, 8)
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("heading", name="three-steps").wait_for()
    assert page.get_by_text("0 of 8").count() == 1
    assert page.get_by_role("heading", name="Debug trials").count() == 1

    # The same file again, as an experiment of its own.
    page.get_by_role("link", name="Fork").click()
    assert "replicates = 4" in page.get_by_label("Experiment file").input_value()
    wait_for_trials(page, 8)


def test_a_template_fills_the_steps(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    visit.open("/experiments/new")
    page.get_by_role("link", name="from a template or another experiment").click()
    page.get_by_role("link", name="Use the template Compiler flags").click()
    page.get_by_text("Choose a package whose setup.sh compiles it").wait_for()
    page.get_by_label("Name", exact=True).fill("flags")
    page.get_by_role("checkbox", name="xz", exact=False).check()
    page.get_by_role("button", name="Next: machines").click()
    page.get_by_role("button", name="Next: space").click()
    page.locator("[data-trials]").wait_for()
    page.get_by_role("button", name="Next: check and submit").click()
    text = page.get_by_label("Experiment file").input_value()
    assert 'optimization = "100%"' in text
    assert 'question = "What does optimisation gain?"' in text
    # The way back finds the steps as they were.
    page.go_back()
    assert page.get_by_label("Replicates").last.input_value() == "5"


def test_what_no_machine_can_give_is_explained_before_submission(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    visit.open("/experiments/new")
    page.get_by_label("Name", exact=True).fill("infeasible")
    page.get_by_role("checkbox", name="xz", exact=False).check()
    page.get_by_role("button", name="Next: machines").click()
    page.get_by_role("checkbox", name="x86_64").check()
    page.get_by_text("3 of 5").wait_for()
    page.get_by_role("button", name="Next: space").click()
    page.get_by_role("radio", name="never: the fastest").check()
    wait_for_trials(page, 5)
    page.get_by_role("checkbox", name="Processor model").check()
    page.locator("[data-trials='10']").wait_for()
    page.get_by_role("button", name="Next: check and submit").click()
    text = page.get_by_label("Experiment file").input_value()
    page.get_by_label("Experiment file").fill(text.replace('cpu_model = "100%"', "arch = 2"))
    problem = page.locator("#preview .message.bad")
    problem.wait_for()
    assert "aarch64" in problem.inner_text()
    # Submitting it all the same changes nothing.
    page.get_by_role("button", name="Submit").click()
    page.locator("#preview .message.bad").wait_for()
    assert page.get_by_label("Experiment file").input_value().count("arch = 2") == 1


def test_packages_are_checked_when_they_are_uploaded(visit: Any) -> None:
    visit.log_in("bob")
    page = visit.page
    visit.open("/experiments/new")
    page.get_by_label("Name", exact=True).fill("uploads")
    good, lame = pack(run="#!/bin/sh\n", collect="#!/bin/sh\n"), pack(collect="#!/bin/sh\n")
    files = {"good": good, "lame": lame, HOSTILE.replace("/", ""): b"no archive"}
    page.get_by_label("Files").set_input_files(
        [
            {"name": f"{name}.tar.gz", "mimeType": "application/gzip", "buffer": content}
            for name, content in files.items()
        ]
    )
    page.get_by_role("button", name="Upload").click()
    page.get_by_text('Stored the package "good"').wait_for()
    page.get_by_text("has no run.sh").wait_for()
    bad = page.locator(".message.bad")
    assert bad.count() == 2
    assert "/files/" not in bad.first.inner_text() + bad.last.inner_text()
    # What was typed and what was uploaded are in the form.
    assert page.get_by_label("Name", exact=True).input_value() == "uploads"
    assert page.get_by_role("checkbox", name="good").is_checked()
    assert page.title() == "New experiment: packages · datamill"


def test_text_that_is_no_experiment_is_refused_with_its_line(visit: Any) -> None:
    visit.log_in("alice")
    page = visit.page
    visit.open("/experiments/new/file")
    page.get_by_label("Experiment file").fill(
        '[experiment]\nname = "a"\nreplicates = 0\n[[package]]\nname = "xz"\npath = "xz"\n'
    )
    page.locator("#preview .message.bad").wait_for()
    assert re.search(r"experiment\.toml:\d", page.locator("#preview").inner_text())
