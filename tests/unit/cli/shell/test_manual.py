"""Pages of the manual: one for each command, in what man(1) reads."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from datamill.cli.shell.manual import write_pages

#: The macros of man(7) that the pages use.
MACROS = {"TH", "SH", "PP", "TP", "nf", "fi", "br", "nh", "hy", "ad"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {path.name: path.read_text() for path in write_pages(tmp_path_factory.mktemp("man1"))}


def test_each_verb_has_its_page(pages: dict[str, str]) -> None:
    assert {"datamill.1", "datamill-run.1", "datamill-analyze-anova.1", "datamill-import.1"} <= set(pages)
    assert "datamill\\-run" in pages["datamill.1"]


def test_a_page_has_what_the_help_says(pages: dict[str, str]) -> None:
    page = pages["datamill-run.1"].replace("\\-", "-")
    for words in (".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS", "--resume", "datamill(1)"):
        assert words in page.replace("\\fB", "").replace("\\fR", "")
    assert not [name for name, text in pages.items() if "\b" in text]


def test_lines_that_the_help_keeps_are_kept(pages: dict[str, str]) -> None:
    kept = r"^\.nf\n +datamill time .*\n +datamill new compare.*\n +datamill check"
    assert re.search(kept, pages["datamill.1"], re.MULTILINE)


def test_no_line_is_taken_for_a_request_that_is_none(pages: dict[str, str]) -> None:
    for name, page in pages.items():
        assert set(re.findall(r"^[.'](\w*)", page, re.MULTILINE)) <= MACROS, name


def test_groff_has_nothing_to_object_to(pages: dict[str, str], tmp_path: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("there is no groff here to read the pages")
    for name, page in pages.items():
        (tmp_path / name).write_text(page)
    # All at once: it names the page that it objects to.
    ran = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-K", "utf8", "-z", *(tmp_path / name for name in pages)],
        capture_output=True,
        check=False,
    )
    assert not ran.stderr, ran.stderr
