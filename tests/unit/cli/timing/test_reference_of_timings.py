"""Where the reference of timed commands goes, and what it is called."""

from __future__ import annotations

import pytest

from datamill.cli.timing.time_options import put_reference
from datamill.experiment.errors import InputError


def test_a_reference_comes_first_and_shifts_the_names() -> None:
    assert put_reference(("a", "b"), (), "r", None) == (("r", "a", "b"), ())
    assert put_reference(("a", "b"), ("A", "B"), "r", None) == (("r", "a", "b"), ("r", "A", "B"))
    assert put_reference(("a", "b"), (), "r", "R") == (("r", "a", "b"), ("R", "a", "b"))
    assert put_reference(("a",), ("A",), None, None) == (("a",), ("A",))


def test_a_name_without_a_reference_is_refused() -> None:
    with pytest.raises(InputError, match="there is no reference to name"):
        put_reference(("a",), (), None, "R")
