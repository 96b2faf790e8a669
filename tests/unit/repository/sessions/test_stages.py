"""Which tests prove a change, and which are left to the whole check."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from stages import AT_NIGHT, LATER, find_at_night, find_later, list_unused, tell_left

CRATES = Path(__file__).parents[4] / "crates"


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("tests/unit/results/test_log.py::test_a", ""),
        ("tests/browser/test_other_pages.py::test_a[light]", "a browser"),
        ("tests/integration/service/test_database.py::test_a[sqlite]", ""),
        ("tests/integration/service/test_database.py::test_a[postgresql]", "PostgreSQL"),
        ("tests/integration/service/test_database.py::test_a[2-postgresql]", "PostgreSQL"),
        ("tests/integration/service/test_database.py::test_postgresql_is_named[sqlite]", ""),
    ],
)
def test_a_test_has_its_stage_by_its_name_and_by_its_parameters(test: str, reason: str) -> None:
    assert find_later(test) == reason


def test_what_is_left_to_the_night_belongs_to_the_check_too() -> None:
    beginnings = [beginning for stated in AT_NIGHT.values() for beginning in stated]
    assert all(find_at_night(f"{beginning}x") and find_later(f"{beginning}x") for beginning in beginnings)
    assert not find_at_night("tests/unit/results/test_log.py::test_a")


def test_a_name_that_no_test_has_is_found() -> None:
    beginnings = [*chain(*LATER.values(), *AT_NIGHT.values())]
    assert list_unused([f"{beginning}x" for beginning in beginnings]) == []
    assert list_unused([f"{beginning}x" for beginning in beginnings[1:]]) == beginnings[:1]


def test_what_a_stage_leaves_is_counted_by_reason() -> None:
    left = Counter({"guests": 2, "a browser": 1})
    assert tell_left(left, "change") == "3 tests are left to `make check`: a browser 1, guests 2."
    left["more guests"] = 1
    assert tell_left(left, "change") == (
        "3 tests are left to `make check`: a browser 1, guests 2. "
        "1 test is left to `make nightly`: more guests 1."
    )


def list_examples(text: str) -> list[str]:
    """The marks that begin code in a crate's documents which `cargo test --doc` would run."""
    marks = re.findall(r"^\s*//[/!] ?(```.*)$", text, re.MULTILINE)
    # They come in pairs: every other one begins a block.
    return [mark for mark in marks[::2] if mark[3:].strip() not in ("text", "ignore", "console")]


def test_no_crate_shows_an_example_that_make_test_leaves_out() -> None:
    found = {
        str(path.relative_to(CRATES)): examples
        for path in CRATES.rglob("*.rs")
        if (examples := list_examples(path.read_text()))
    }
    assert not found, f"add --doc to `make test`: {found}"


def test_an_example_in_a_crates_documents_is_seen() -> None:
    shown = "//! ```text\n//! a b\n//! ```\nuse std::fs;\n"
    assert list_examples(shown) == []
    assert list_examples(shown + "/// ```\n/// assert!(true);\n/// ```\nfn a() {}\n") == ["```"]
