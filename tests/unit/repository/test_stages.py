"""Which tests prove a change, and which are left to the whole check."""

from __future__ import annotations

from collections import Counter

import pytest
from stages import LATER, find_later, list_unused, tell_left


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


def test_a_name_that_no_test_has_is_found() -> None:
    beginnings = [beginning for stated in LATER.values() for beginning in stated]
    assert list_unused([f"{beginning}x" for beginning in beginnings]) == []
    assert list_unused([f"{beginning}x" for beginning in beginnings[1:]]) == beginnings[:1]


def test_what_a_stage_leaves_is_counted_by_reason() -> None:
    left = Counter({"guests": 2, "a browser": 1})
    assert tell_left(left, "change") == "3 tests are left to `make check`: a browser 1, guests 2."
